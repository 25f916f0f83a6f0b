// One sentence as two rows of tokens, above those that are read, below those that ask, joined by a head's weights.
// Pointing at a token, by mouse, finger or keys, leaves its lines alone and writes its weights beside the other row.

import { element, opacity, setAttributes, svgElement, tintOf } from "../lib/canvas.js";
import { chipText, isSpecial, joined, spoken } from "../lib/tokens.js";
import { curve, linesOf } from "../token_lines/geometry.js";
import { SIDES, centresOf, fitLetters, listenToRow, markLines, pathLike, weightBetween } from "../token_lines/rows.js";
import { say } from "./texts.toml";

const LETTERS = 14; // pixels, the largest
const NAMED = 3;

// The map [queries][keys] of the cells that an example has.
export function denseOf({ keys, queries, cells, weights }) {
  const whole = queries.map(() => keys.map(() => 0));
  cells.forEach((cell, at) => {
    whole[Math.floor(cell / keys.length)][cell % keys.length] = weights[at];
  });
  return whole;
}

// A token in words: its largest weights.
export function wordsOf(example, map, { side, index }) {
  const isQuery = side === "output", others = isQuery ? example.keys : example.queries;
  const weights = isQuery ? map[index] : map.map((row) => row[index]);
  const largest = [...weights.entries()].sort((one, other) => other[1] - one[1] || one[0] - other[0]).slice(0, NAMED);
  const named = largest.filter(([, weight]) => weight);
  const parts = named.map(([at, weight]) => say("weight", { token: others[at], weight }));
  const token = (isQuery ? example.queries : example.keys)[index];
  return say(isQuery ? "looks" : "looked_at", { token, others: parts.join(", ") || say("little") });
}

export class ExampleLines {
  // describe(words): called with the words of the token that is pointed at, null for none.
  constructor(example, describe) {
    Object.assign(this, { example, describe, map: denseOf(example), hovered: null, focused: null });
    this.lines = linesOf(this.map);
    this.paths = this.lines.map(({ weight }) => pathLike(weight));
    const svg = svgElement("svg", { "aria-hidden": "true" }, ...this.paths);
    const above = this.row("source", example.keys, example.key_words, "keys");
    const below = this.row("output", example.queries, example.query_words, "queries");
    this.buttons = { source: above.buttons, output: below.buttons };
    this.stage = element("div", "lines", svg, above.row, below.row);
    this.scroller = element("div", "scroller", this.stage);
    this.element = element("div", "example", element("div", "what", example.label), this.scroller);
    this.mark();
  }

  row(side, tokens, words, name) {
    const buttons = tokens.map((token, index) => {
      const parts = [element("span", "token", chipText(token)), element("span", "weight")];
      const node = element("button", isSpecial(token) ? "special" : "", ...parts);
      const ariaLabel = spoken(wordsOf(this.example, this.map, { side, index }));
      return Object.assign(node, { type: "button", tabIndex: index ? -1 : 0, ariaLabel });
    });
    const row = element("div", `side ${name}`, ...joined(buttons, words));
    setAttributes(row, { role: "group", "aria-label": say(name === "keys" ? "keys" : "queries") });
    listenToRow(this, side, row);
    return { row, buttons };
  }

  show() {
    const pointed = this.mark();
    this.describe(pointed && wordsOf(this.example, this.map, pointed));
  }

  // Letters as large as there is room for, then the lines from middle to middle.
  place() {
    const { stage, scroller } = this;
    if (!scroller.clientWidth) return;
    fitLetters(stage, scroller.clientWidth, LETTERS);
    this.centres = centresOf(stage, this.buttons);
    this.lines.forEach(({ row, column }, at) => {
      this.paths[at].setAttribute("d", curve(this.centres.source[column], this.centres.output[row]));
    });
  }

  // Of what is pointed at, which it returns, the lines and weights alone, else all lines and of each query its greatest
  // weight.
  mark() {
    const pointed = this.hovered ?? this.focused;
    markLines(this.stage, this, pointed);
    for (const side of SIDES) this.buttons[side].forEach((button, index) => this.write(button, side, index, pointed));
    return pointed;
  }

  write(button, side, index, pointed) {
    const isPointed = pointed?.side === side && pointed.index === index;
    const weight = this.weightBeside(side, index, pointed);
    const tint = weight === null || (!pointed && side === "output") ? "transparent" : tintOf(opacity(weight));
    button.classList.toggle("pointed", isPointed);
    button.querySelector(".weight").textContent = weight === null || weight < 0.005 ? "" : Math.round(100 * weight);
    button.querySelector(".token").style.setProperty("--tint", tint);
    if (this.focused?.side === side) button.tabIndex = this.focused.index === index ? 0 : -1;
  }

  weightBeside(side, index, pointed) {
    if (!pointed) return side === "output" ? Math.max(...this.map[index]) : null;
    return pointed.side === side ? null : weightBetween(this.map, pointed, index);
  }
}
