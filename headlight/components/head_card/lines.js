// One sentence as two rows of tokens, above those that are read, below those that ask, joined by a head's weights.
// Pointing at a token, by mouse, finger or keys, leaves its lines alone and writes its weights beside the other row.

import { element, opacity, svgElement, tintOf } from "../lib/canvas.js";
import { chipText, isSpecial, joined, spoken } from "../lib/tokens.js";
import { percent } from "../lib/words.js";
import { curve, lettersFor, linesOf } from "../token_lines/geometry.js";
import { SIDES, centresOf, listenToRow, markLines, pathLike, weightBetween } from "../token_lines/rows.js";

export const LETTERS = 14; // pixels, the largest
const NAMED = 3;

// A map [queries][keys] of what was kept of it.
export function denseOf({ keys, queries, cells, weights }) {
  const whole = queries.map(() => keys.map(() => 0));
  cells.forEach((cell, at) => {
    whole[Math.floor(cell / keys.length)][cell % keys.length] = weights[at];
  });
  return whole;
}

// What is read to one who points at a token.
export function wordsOf(example, map, { side, index }) {
  const isQuery = side === "output", others = isQuery ? example.keys : example.queries;
  const weights = isQuery ? map[index] : map.map((row) => row[index]);
  const largest = [...weights.entries()].sort((one, other) => other[1] - one[1] || one[0] - other[0]).slice(0, NAMED);
  const parts = largest.filter(([, weight]) => weight).map(([at, weight]) => `“${others[at]}” ${percent(weight)}`);
  const token = (isQuery ? example.queries : example.keys)[index];
  const end = parts.join(", ") || "under 1 % each";
  return isQuery ? `“${token}” looks at ${end}.` : `“${token}” is looked at by ${end}.`;
}

export class ExampleLines {
  // tell(words) hears what is said of what is pointed at, null of nothing.
  constructor(example, tell) {
    Object.assign(this, { example, tell, map: denseOf(example), hovered: null, focused: null });
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
      const made = element("button", isSpecial(token) ? "special" : "", element("span", "token", chipText(token)),
        element("span", "weight"));
      Object.assign(made, { type: "button", tabIndex: index ? -1 : 0 });
      made.setAttribute("aria-label", spoken(wordsOf(this.example, this.map, { side, index })));
      return made;
    });
    const row = element("div", `side ${name}`, ...joined(buttons, words));
    row.setAttribute("role", "group");
    row.setAttribute("aria-label", name === "keys" ? "Tokens that are looked at" : "Tokens that look");
    listenToRow(this, side, row);
    return { row, buttons };
  }

  show() {
    const pointed = this.mark();
    this.tell(pointed && wordsOf(this.example, this.map, pointed));
  }

  // Letters as large as there is room for, then the lines from middle to middle.
  place() {
    const { stage, scroller } = this;
    if (!scroller.clientWidth) return;
    stage.style.setProperty("--size", `${LETTERS}px`);
    const letters = lettersFor(stage.scrollWidth, scroller.clientWidth, LETTERS);
    if (letters < LETTERS) stage.style.setProperty("--size", `${letters}px`);
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
