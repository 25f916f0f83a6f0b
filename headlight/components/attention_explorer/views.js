// The views of what is shown: the map, and the lines. They are linked: each reports what it is pointed at,
// {row, column} or one of them, and shows what any of them is pointed at.

import { Drawing, placeOf } from "../lib/canvas.js";
import { HEADS } from "../lib/colours.js";
import { shortWeight } from "../lib/format.js";
import { Geometry, Heatmap, labelEvery, rowLabelsWidth, slantedHeight } from "../lib/heatmap.js";
import { BothSides, chosenIndexes } from "./sides.js";
import { say } from "./texts.toml";

const LARGEST_CELL = 96, SMALLEST_CELL = 5, CELL_APART = 12, CELLS_A_SIDE = 7; // pixels, but for the last
const KEYS_RIGHT = 52, LEAST_LEFT = 96, LEAST_TOP = 44, BELOW = 4; // pixels beside the map's cells
const LINE_ROW = 44, LEAST_LINE_ROW = 16, LINES_WIDE = 520, LEAST_LINES = 80, TOKENS_WIDE = 116; // pixels
const LINES_HEAD = 24, APART = 3; // pixels
const DASHES = [4, 3];
const FAINTEST = 0.02; // of a line, as a share of full colour

// The chosen heads' matrix, large.
export class WeightsMap extends Heatmap {
  constructor(place, linked) {
    const canvas = place.querySelector("canvas");
    super(canvas, { point: linked.point, choose: (cell, more) => this.take(linked, cell, more) });
    this.drawing = new Drawing(canvas);
    this.sides = new BothSides(place, ".query_tokens", ".key_tokens", linked);
  }

  under(event) {
    const { x, y } = placeOf(event);
    return this.geometry?.cellOrLabelAt(x, y) ?? null;
  }

  take({ choose }, { row, column }, more) {
    choose(row === undefined ? "keys" : "queries", row ?? column, more);
    if (row === undefined || column === undefined) this.pointAt(null);
  }

  // In a room of `wide` by `high` pixels, as far as cells of at least a few pixels allow.
  drawWeights(shown, state, { wide: width, high }) {
    Object.assign(this, { shown, state });
    const [rows, columns] = shown.labels;
    const left = Math.max(LEAST_LEFT, rowLabelsWidth(rows)), top = Math.max(LEAST_TOP, slantedHeight(columns));
    const across = (width - left - KEYS_RIGHT) / columns.length, down = (high - top - BELOW) / rows.length;
    const largest = Math.min(LARGEST_CELL, high / CELLS_A_SIDE);
    const wide = Math.max(SMALLEST_CELL, Math.min(largest, across, down)), gap = wide < CELL_APART ? 0 : 1;
    const size = { rows: rows.length, columns: columns.length };
    const geometry = new Geometry({ ...size, left, top, wide, after: KEYS_RIGHT, below: BELOW });
    const pen = this.drawing.start(geometry.width, geometry.height);
    this.draw(pen, { geometry, columns: [], ...cellsOf(shown, state), gap }, say("map", size));
    this.drawing.keep();
    // The labels are buttons above the canvas.
    for (const [name, value] of Object.entries({ left, top, cell: wide })) {
      this.sides.place.style.setProperty(`--${name}`, `${value}px`);
    }
    this.sides.fill(shown, labelEvery(wide));
  }

  // Row and column of what is pointed at, here or elsewhere, over those that are chosen.
  show(pointed) {
    const { shown, state } = this, pen = this.drawing.again();
    this.pointed = pointed;
    pen.lineWidth = 2;
    pen.strokeStyle = pen.fillStyle;
    for (const index of chosenIndexes(shown, state)) this.frameGroup(pen, state.side, index);
    pen.setLineDash(DASHES); // what is pointed at alone
    if (pointed?.row !== undefined) this.frameGroup(pen, "queries", pointed.row);
    if (pointed?.column !== undefined) this.frameGroup(pen, "keys", pointed.column);
    pen.setLineDash([]);
    this.sides.show(shown, state, pointed, pen.onDark);
  }

  frameGroup(pen, side, index) {
    if (side === "queries") this.frameRow(pen, index);
    else this.frameColumn(pen, index);
  }
}

// Colours, digits and titles of a matrix as lib/heatmap.js has them.
export function cellsOf(shown, { scale }) {
  const full = shown.full(scale), ofShown = (value, other) => (row, column) => {
    return shown.isShown(row, column) ? value(shown.at(row, column)) : other;
  };
  const titleOf = (row, column) => shown.cellText(row, column);
  return { share: ofShown((weight) => weight / full, NaN), valueText: ofShown(shortWeight, ""), titleOf };
}

// Queries on the left, keys on the right, joined by lines: opacity is the weight, colour is the head.
export class Lines {
  constructor(place, linked) {
    this.place = place;
    this.drawing = new Drawing(place.querySelector("canvas"));
    this.sides = new BothSides(place, ".readers", ".read", linked);
  }

  // each: one Shown a colour; whole: what the tokens are taken from.
  draw(each, whole, state, { wide, high }) {
    Object.assign(this, { each, whole, state });
    const longest = Math.max(whole.rows.length, whole.columns.length);
    this.high = Math.max(LEAST_LINE_ROW, Math.min(LINE_ROW, (high - LINES_HEAD) / longest));
    const readers = Math.max(TOKENS_WIDE, rowLabelsWidth(whole.labels[0]));
    this.wide = Math.max(LEAST_LINES, Math.min(LINES_WIDE, wide - readers - TOKENS_WIDE));
    for (const [name, value] of Object.entries({ row: this.high, tokens: TOKENS_WIDE, readers })) {
      this.place.style.setProperty(`--${name}`, `${value}px`);
    }
    this.sides.fill(whole);
    this.drawing.start(this.wide, longest * this.high);
    strokeLines(this.drawing.pen, this);
    this.drawing.keep();
    const label = say("lines", { queries: whole.rows.length, keys: whole.columns.length });
    this.drawing.canvas.setAttribute("aria-label", label);
  }

  // Only the lines of what is pointed at, here or elsewhere; with null those of what is chosen, or all.
  show(pointed) {
    const pen = this.drawing.again(), { canvas } = this.drawing;
    if (pointed) {
      pen.clearRect(0, 0, canvas.width, canvas.height);
      strokeLines(pen, this, pointed);
    }
    this.sides.show(this.whole, this.state, pointed, pen.onDark);
  }
}

// From middle to middle of what is `high` on both sides, `wide` apart, one head's lines beside those of another: the
// lines of what is pointed at, else of what is chosen, else all.
export function strokeLines(pen, { each, whole, state, high, wide }, pointed = null) {
  const isChosen = (place) => state.holds(state.side, whole.side(state.side)[place].positions);
  const isWanted = (row, column) => {
    if (pointed) return (pointed.row ?? row) === row && (pointed.column ?? column) === column;
    return !state.tokens.length || isChosen(state.side === "queries" ? row : column);
  };
  each.forEach((shown, number) => {
    const full = shown.full(state.scale), columns = shown.columns.length;
    const down = high / 2 + Math.min(APART, high / each.length) * (number - (each.length - 1) / 2);
    pen.strokeStyle = HEADS[number];
    for (let cell = 0; cell < shown.values.length; cell++) {
      const weight = Math.min(1, shown.values[cell] / full);
      if (weight < FAINTEST) continue;
      const row = Math.floor(cell / columns), column = cell % columns;
      if (!shown.isShown(row, column) || !isWanted(row, column)) continue;
      if (pen.isForFile) pen.title = shown.cellText(row, column);
      pen.globalAlpha = weight;
      pen.lineWidth = 1 + 2 * weight;
      pen.beginPath();
      pen.moveTo(0, row * high + down);
      pen.lineTo(wide, column * high + down);
      pen.stroke();
    }
  });
  pen.title = "";
  pen.globalAlpha = 1;
}
