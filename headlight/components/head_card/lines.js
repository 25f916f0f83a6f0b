// One sentence as two rows of tokens, above those that are read, below those that ask, joined by a head's weights.
// Pointing at a token, by mouse, finger or keys, leaves its lines alone and writes its weights beside the other row.

import { element, isShortcut, opacity, svgElement, tintOf } from "../lib/canvas.js";
import { shortWeight } from "../lib/format.js";
import { chipText, isSpecial, joined } from "../lib/tokens.js";
import { curve, lettersFor, linesOf, lookOf, moved } from "../token_lines/geometry.js";
import { weightText } from "../token_lines/words.js";

export const LETTERS = 14; // pixels, the largest
const SIDES = ["source", "output"]; // as geometry.js calls the rows above and below
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
  const parts = largest.filter(([, weight]) => weight).map(([at, weight]) => `${weightText(weight)} “${others[at]}”`);
  const token = (isQuery ? example.queries : example.keys)[index];
  const end = parts.join(", ") || "less than 0.01 each";
  return isQuery ? `“${token}” reads ${end}.` : `“${token}” is read by ${end}.`;
}

export class ExampleLines {
  // tell(words) hears what is said of what is pointed at, null of nothing.
  constructor(example, tell) {
    Object.assign(this, { example, tell, map: denseOf(example), hovered: null, focused: null });
    this.lines = linesOf(this.map);
    this.paths = this.lines.map(({ weight }) => {
      const { strokeWidth, strokeOpacity } = lookOf(weight);
      return svgElement("path", { "stroke-width": strokeWidth, "stroke-opacity": strokeOpacity });
    });
    const svg = svgElement("svg", { "aria-hidden": "true" }, ...this.paths);
    const above = this.row("source", example.keys, example.key_words, "keys");
    const below = this.row("output", example.queries, example.query_words, "queries");
    this.buttons = { source: above.buttons, output: below.buttons };
    this.stage = element("div", "lines", svg, above.row, below.row);
    this.scroller = element("div", "scroller", this.stage);
    this.element = element("div", "example", element("div", "what", example.label), this.scroller);
    this.show();
  }

  row(side, tokens, words, name) {
    const buttons = tokens.map((token, index) => {
      const made = element("button", isSpecial(token) ? "special" : "", element("span", "token", chipText(token)),
        element("span", "weight"));
      Object.assign(made, { type: "button", tabIndex: index ? -1 : 0 });
      made.setAttribute("aria-label", wordsOf(this.example, this.map, { side, index }));
      return made;
    });
    const row = element("div", `side ${name}`, ...joined(buttons, words));
    row.setAttribute("role", "group");
    row.setAttribute("aria-label", name === "keys" ? "Tokens that are read" : "Tokens that ask");
    const found = ({ target }) => {
      const index = buttons.indexOf(target.closest?.("button"));
      return index < 0 ? null : { side, index };
    };
    const point = (which, to) => {
      this[which] = to;
      this.show();
      this.tell(this.words());
    };
    row.onpointerover = (event) => event.pointerType === "mouse" && point("hovered", found(event));
    row.onpointerleave = () => point("hovered", null);
    row.addEventListener("focusin", (event) => point("focused", found(event)));
    row.addEventListener("focusout", () => point("focused", null));
    row.onclick = ({ target }) => target.closest("button")?.focus(); // which Safari does not do by itself
    row.onkeydown = (event) => this.key(event, found(event));
    return { row, buttons };
  }

  key(event, from) {
    if (!from || isShortcut(event)) return;
    if (event.key === "Escape") return event.target.blur();
    const to = moved(from, event.key, this.centres);
    if (!to) return;
    this.hovered = null;
    this.buttons[to.side][to.index].focus();
    event.preventDefault();
  }

  words() {
    const pointed = this.hovered ?? this.focused;
    return pointed && wordsOf(this.example, this.map, pointed);
  }

  // Letters as large as there is room for, then the lines from middle to middle.
  place() {
    const { stage, scroller } = this;
    if (!scroller.clientWidth) return;
    stage.style.setProperty("--size", `${LETTERS}px`);
    const letters = lettersFor(stage.scrollWidth, scroller.clientWidth, LETTERS);
    if (letters < LETTERS) stage.style.setProperty("--size", `${letters}px`);
    const from = (button, axis) => {
      let at = 0;
      for (let each = button; each && each !== stage; each = each.offsetParent) at += each[axis];
      return at;
    };
    const middle = (button) => from(button, "offsetLeft") + button.offsetWidth / 2;
    this.centres = {
      source: this.buttons.source.map((each) => ({ x: middle(each), y: from(each, "offsetTop") + each.offsetHeight })),
      output: this.buttons.output.map((each) => ({ x: middle(each), y: from(each, "offsetTop") })),
    };
    this.lines.forEach(({ row, column }, at) => {
      this.paths[at].setAttribute("d", curve(this.centres.source[column], this.centres.output[row]));
    });
  }

  // Of what is pointed at the lines and weights alone, else all lines and of each query its greatest weight.
  show() {
    const pointed = this.hovered ?? this.focused;
    this.stage.classList.toggle("pointed", pointed !== null);
    this.lines.forEach(({ row, column }, at) => {
      const isOn = pointed && (pointed.side === "output" ? row : column) === pointed.index;
      this.paths[at].classList.toggle("on", Boolean(isOn));
    });
    for (const side of SIDES) this.buttons[side].forEach((button, index) => this.write(button, side, index, pointed));
  }

  write(button, side, index, pointed) {
    const isPointed = pointed?.side === side && pointed.index === index;
    const weight = this.weightBeside(side, index, pointed);
    const tint = weight === null || (!pointed && side === "output") ? "transparent" : tintOf(opacity(weight));
    button.classList.toggle("pointed", isPointed);
    button.querySelector(".weight").textContent = weight === null || weight < 0.005 ? "" : shortWeight(weight);
    button.querySelector(".token").style.setProperty("--tint", tint);
    if (this.focused?.side === side) button.tabIndex = this.focused.index === index ? 0 : -1;
  }

  weightBeside(side, index, pointed) {
    if (!pointed) return side === "output" ? Math.max(...this.map[index]) : null;
    if (pointed.side === side) return null;
    return side === "output" ? this.map[index][pointed.index] : this.map[pointed.index][index];
  }
}
