// The views of what is shown: both sides as tokens, the map, the lines, and tables. They are linked: each reports what
// it is pointed at, {row, column} or one of them, and shows what any of them is pointed at.

import { Drawing, POINTED, blue, element, isShortcut, shortened, withMore } from "../lib/canvas.js";
import { Geometry, Heatmap, rowLabelsWidth, slantedHeight } from "../lib/heatmap.js";

// The colours of heads side by side, kept apart by any colour vision.
export const PALETTE = ["#0072b2", "#e69f00", "#cc79a7", "#56b4e9", "#8c6bb1", "#a6611a", "#1b9aaa", "#7f7f7f"];

const LARGEST_CELL = 46, SMALLEST_CELL = 5, CELL_APART = 12, KEYS_RIGHT = 44; // pixels
const LINE_ROW = 26, LINES_HIGH = 900, LINES_WIDE = 460, LEAST_LINES = 80, TOKENS_WIDE = 110, APART = 3; // pixels
const FAINTEST = 0.02; // of a line, as a share of full colour

// The chosen tokens as they are numbered on the side that is shown.
export function chosenIndexes(shown, choice) {
  return shown.side(choice.side).flatMap(({ positions }, index) => {
    return choice.holds(choice.side, positions) ? [index] : [];
  });
}

// The tokens of one side as buttons: Tab reaches one of them, the arrow keys go on to the others.
class TokenList {
  // point({row} or {column} or null) hears what is pointed at or focused, choose(side, index, more) what is clicked.
  constructor(place, side, { point, choose }) {
    Object.assign(this, { place, side, name: side === "queries" ? "row" : "column" });
    const index = (event) => [...place.children].indexOf(event.target.closest("button"));
    const look = (event) => index(event) >= 0 && point({ [this.name]: index(event) });
    place.onclick = (event) => {
      if (index(event) < 0) return;
      choose(side, index(event), withMore(event));
      point(null); // what is chosen now is shown, until something else is pointed at
    };
    place.onpointerover = look;
    place.onpointerleave = () => point(null);
    place.addEventListener("focusin", (event) => {
      this.reach(index(event));
      look(event);
    });
    place.addEventListener("focusout", () => point(null));
    place.onkeydown = (event) => this.key(event, index(event));
  }

  // groups as Shown has them; buttons that stay the same keep their focus.
  fill(groups, name = (text) => text) {
    const texts = JSON.stringify(groups.map(({ text, fed, predicts }) => [text, fed, predicts]));
    if (this.texts === texts) return;
    this.texts = texts;
    const buttons = groups.map(({ text, fed, predicts }) => {
      const button = element("button", "token", name(text));
      button.title = fed === undefined ? text : `fed “${fed}”, predicts “${predicts}”`;
      return button;
    });
    this.place.replaceChildren(...buttons);
    this.reach(0);
  }

  each(act) {
    [...this.place.children].forEach(act);
  }

  // Which tokens are chosen, and which one is pointed at, here or elsewhere.
  mark(groups, choice, pointed) {
    this.each((button, index) => {
      button.setAttribute("aria-pressed", choice.holds(this.side, groups[index].positions));
      button.classList.toggle("pointed", index === pointed?.[this.name]);
    });
  }

  reach(index) {
    this.each((button, at) => (button.tabIndex = at === index ? 0 : -1));
  }

  key(event, from) {
    const last = this.place.children.length - 1;
    const steps = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1, Home: -from, End: last - from };
    if (from < 0 || !(event.key in steps) || isShortcut(event)) return;
    this.place.children[Math.min(Math.max(0, from + steps[event.key]), last)].focus();
    event.preventDefault();
  }
}

function bothSides(place, queries, keys, linked) {
  const list = (selector, side) => new TokenList(place.querySelector(selector), side, linked);
  return [list(queries, "queries"), list(keys, "keys")];
}

// Both sides as text: a pointed-at or chosen token colours what it reads, or what reads it.
export class Sentence {
  constructor(place, linked) {
    this.place = place;
    this.lists = bothSides(place, ".query_tokens", ".key_tokens", linked);
  }

  draw(shown, choice) {
    Object.assign(this, { shown, choice });
    for (const list of this.lists) list.fill(shown.side(list.side));
    const reader = shown.name === "encoder" ? "source" : "target";
    const read = shown.name === "decoder" ? "target" : "source";
    this.place.querySelector(".reader_side").textContent = `${reader} reads`;
    this.place.querySelector(".read_side").textContent = `${read} is read`;
  }

  // By the weights of what is pointed at, else of what is chosen.
  show(pointed) {
    const { shown, choice } = this;
    const side = !pointed ? choice.side : pointed.row === undefined ? "keys" : "queries";
    const indexes = pointed ? [pointed.row ?? pointed.column] : chosenIndexes(shown, choice);
    const other = side === "queries" ? "keys" : "queries";
    const sums = shown.side(other).map((_, at) => shown.sumOf(side, indexes, at)), most = Math.max(shown.most, ...sums);
    const colour = (at) => (indexes.length ? blue(sums[at] / most) : "");
    for (const list of this.lists) {
      list.each((button, at) => (button.style.backgroundColor = list.side === other ? colour(at) : ""));
      list.mark(shown.side(list.side), choice, pointed);
    }
  }
}

// The chosen heads' matrix, large.
export class WeightsMap extends Heatmap {
  constructor(canvas, linked) {
    super(canvas, { point: linked.point, choose: (found, more) => this.take(linked, found, more) });
    this.drawing = new Drawing(canvas);
  }

  under({ offsetX, offsetY }) {
    return this.geometry?.cellOrLabelAt(offsetX, offsetY) ?? null;
  }

  take({ choose }, { row, column }, more) {
    choose(row === undefined ? "keys" : "queries", row ?? column, more);
    if (row === undefined || column === undefined) this.pointAt(null);
  }

  drawWeights(shown, choice, width) {
    Object.assign(this, { shown, choice });
    const rows = shown.rows.map(({ text }) => text), columns = shown.columns.map(({ text }) => text);
    const left = rowLabelsWidth(rows), top = slantedHeight(columns);
    const room = (width - left - KEYS_RIGHT) / columns.length;
    const wide = Math.max(SMALLEST_CELL, Math.min(LARGEST_CELL, room)), gap = wide < CELL_APART ? 0 : 1;
    const size = { rows: rows.length, columns: columns.length };
    const geometry = new Geometry({ ...size, left, top, wide, after: KEYS_RIGHT, below: 4 });
    const full = shown.full(choice.scale), pen = this.drawing.start(geometry.width, geometry.height);
    const share = (row, column) => (shown.isShown(row, column) ? shown.at(row, column) / full : NaN);
    const valueText = (row, column) => (shown.isShown(row, column) ? shortWeight(shown.at(row, column)) : "");
    const label =
      `${rows.length} rows that read, ${columns.length} columns that are read. ` +
      "Arrow keys move, Enter chooses the row; the table below has the numbers.";
    this.draw(pen, { geometry, rows, columns, share, valueText, gap }, label);
    this.drawing.keep();
  }

  // Row and column of what is pointed at, here or elsewhere, over those that are chosen.
  show(pointed) {
    const { shown, choice } = this, pen = this.drawing.again();
    this.pointed = pointed;
    pen.lineWidth = 2;
    pen.strokeStyle = pen.fillStyle;
    for (const index of chosenIndexes(shown, choice)) this.frameGroup(pen, choice.side, index);
    pen.strokeStyle = POINTED;
    if (pointed?.row !== undefined) this.frameGroup(pen, "queries", pointed.row);
    if (pointed?.column !== undefined) this.frameGroup(pen, "keys", pointed.column);
  }

  // A row is framed with its label.
  frameGroup(pen, side, index) {
    if (side === "queries") this.frameRow(pen, index, 2);
    else this.frameColumn(pen, index);
  }
}

// As short as a cell needs it: ".12", "1", and of a sum of heads "2.3".
export function shortWeight(weight) {
  return weight < 0.995 ? weight.toFixed(2).slice(1) : weight.toFixed(weight < 1.005 ? 0 : 1);
}

// Readers on the left, what they read on the right, joined by lines: opacity is the weight, colour is the head.
export class Lines {
  constructor(place, linked) {
    this.place = place;
    this.drawing = new Drawing(place.querySelector("canvas"));
    this.lists = bothSides(place, ".readers", ".read", linked);
  }

  // each: one Shown a colour; whole: what the tokens are taken from.
  draw(each, whole, choice, width) {
    Object.assign(this, { each, whole, choice });
    const longest = Math.max(whole.rows.length, whole.columns.length);
    this.high = Math.max(10, Math.min(LINE_ROW, LINES_HIGH / longest));
    this.wide = Math.max(LEAST_LINES, Math.min(LINES_WIDE, width - 2 * TOKENS_WIDE));
    this.place.style.setProperty("--row", `${this.high}px`);
    this.place.style.setProperty("--tokens", `${TOKENS_WIDE}px`);
    for (const list of this.lists) list.fill(whole.side(list.side), shortened);
    this.drawing.start(this.wide, longest * this.high);
    this.stroke((row, column) => this.isChosen(row, column));
    this.drawing.keep();
    const label = `Lines from ${whole.rows.length} tokens that read to ${whole.columns.length} that are read`;
    this.drawing.canvas.setAttribute("aria-label", label);
  }

  stroke(isWanted) {
    const { each, high, wide, choice } = this, { pen } = this.drawing;
    each.forEach((shown, number) => {
      const full = shown.full(choice.scale), columns = shown.columns.length;
      // Beside the other heads' line.
      const down = high / 2 + Math.min(APART, high / each.length) * (number - (each.length - 1) / 2);
      pen.strokeStyle = PALETTE[number];
      for (let cell = 0; cell < shown.values.length; cell++) {
        const weight = Math.min(1, shown.values[cell] / full);
        if (weight < FAINTEST) continue;
        const row = Math.floor(cell / columns), column = cell % columns;
        if (!shown.isShown(row, column) || !isWanted(row, column)) continue;
        pen.globalAlpha = weight;
        pen.lineWidth = 1 + 2 * weight;
        pen.beginPath();
        pen.moveTo(0, row * high + down);
        pen.lineTo(wide, column * high + down);
        pen.stroke();
      }
    });
    pen.globalAlpha = 1;
  }

  isChosen(row, column) {
    const { choice, whole } = this, index = choice.side === "queries" ? row : column;
    return !choice.tokens.length || choice.holds(choice.side, whole.side(choice.side)[index].positions);
  }

  // Only the lines of what is pointed at, here or elsewhere; with null those of what is chosen, or all.
  show(pointed) {
    const pen = this.drawing.again(), { canvas } = this.drawing;
    if (pointed) {
      pen.clearRect(0, 0, canvas.width, canvas.height);
      this.stroke((row, column) => (pointed.row ?? row) === row && (pointed.column ?? column) === column);
    }
    for (const list of this.lists) list.mark(this.whole.side(list.side), this.choice, pointed);
  }
}

// The table behind a picture: filled only while it is open.
export class Table {
  // rows(): the texts of the head, then those of each row; a text may be an element. label() is for screen readers.
  constructor(details, label, rows) {
    Object.assign(this, { details, label, rows });
    details.addEventListener("toggle", () => this.draw());
  }

  draw() {
    const place = this.details.querySelector(".places");
    if (!this.details.open) return place.replaceChildren();
    place.setAttribute("aria-label", this.label());
    const [head, ...rows] = this.rows(), body = element("tbody", "", ...rows.map((row) => this.row(row)));
    const focused = [...place.querySelectorAll("button")].indexOf(place.getRootNode().activeElement);
    place.replaceChildren(element("table", "", element("thead", "", this.row(head, "col")), body));
    place.querySelectorAll("button")[focused]?.focus({ preventScroll: true });
  }

  row(cells, scope) {
    return element("tr", "", ...cells.map((cell, at) => {
      if (at && !scope) return element("td", "", cell);
      return Object.assign(element("th", "", cell), { scope: scope ?? "row" });
    }));
  }
}
