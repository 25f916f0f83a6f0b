// The heatmap: rows are queries, columns are keys or dimensions, colour is the number. It is pointed at by mouse,
// finger and keys.

import { JOINT, blue, labelColor, listenToKeys, paintCells, placeOf, shortened, withMore } from "./canvas.js";
import { CHANGED, FRAME, asText } from "./colours.js";
import { say } from "./texts.toml";

export const LETTER = 7;
const SLANT = -Math.PI / 3, LETTERS = 12; // pixels, but for the angle
const WIDEST_ROW_LABEL = 100, WIDEST_PAIR = 176, HIGHEST_COLUMN_LABEL = 84, ABOVE_A_NUMBER = 34;
const ROOM_FOR_A_VALUE = 34, ROOM_FOR_A_SHORT_ONE = 28, HEIGHT_FOR_A_VALUE = 14;

// "“my” looks at “meine”: 12 %"; null as the weight of a masked cell.
export function cellText(reader, key, weight) {
  return weight === null ? say("masked", { reader, key }) : say("weight", { reader, key, weight });
}

// The room that labels need: to the left of rows, above slanted columns, above columns side by side.
const longest = (labels) => LETTER * Math.max(...labels.map((label) => shortened(label).length));
export function rowLabelsWidth(labels) {
  const widest = labels.some((label) => label.includes(JOINT)) ? WIDEST_PAIR : WIDEST_ROW_LABEL;
  return Math.min(widest, longest(labels) + 12);
}
export const slantedHeight = (labels) => Math.min(HIGHEST_COLUMN_LABEL, 0.87 * longest(labels) + 14);
export const fitUpright = (labels, wide) => longest(labels) + 8 <= wide;

// Letters do not shrink: where they would touch each other, a label for every second or third row or column.
export const labelEvery = (size) => Math.ceil(LETTERS / size);

// A label upward to the right of a point, its letters `below` the slanted line through it.
export function writeSlanted(pen, label, x, y, below = 0) {
  pen.save();
  pen.translate(x, y);
  pen.rotate(SLANT);
  pen.textAlign = "left";
  pen.fillText(shortened(label), 0, below);
  pen.restore();
}

// Positions of the cells, each `wide` by `high`; labels take `left` and `top`, notes on the right take `after`.
export class Geometry {
  constructor({ rows, columns, left, top, wide, high = wide, after, below }) {
    Object.assign(this, { rows, columns, left, top, wide, high });
    this.right = left + columns * wide;
    this.bottom = top + rows * high;
    this.width = this.right + after;
    this.height = this.bottom + below;
  }

  cellAt(x, y) {
    const column = Math.floor((x - this.left) / this.wide), row = Math.floor((y - this.top) / this.high);
    const inside = row >= 0 && row < this.rows && column >= 0 && column < this.columns;
    return inside ? { row, column } : null;
  }

  // A cell, or a row or a column by its label.
  cellOrLabelAt(x, y) {
    const beside = x < this.left, above = y < this.top;
    const cell = this.cellAt(Math.max(this.left, x), Math.max(this.top, y));
    if (!cell || (beside && above)) return null;
    if (beside) return { row: cell.row };
    return above ? { column: cell.column } : cell;
  }

  // The cell that an arrow leads to from one that is pointed at; without one, the first.
  moved(from, [down, right]) {
    if (!from) return { row: 0, column: 0 };
    const { row = 0, column = 0 } = from, within = (value, count) => Math.min(Math.max(0, value), count - 1);
    return { row: within(row + down, this.rows), column: within(column + right, this.columns) };
  }
}

export class Heatmap {
  // point(cell or null) hears what is under the pointer or where the keys are, choose(cell, more) what was clicked.
  constructor(canvas, { point, choose }) {
    Object.assign(this, { canvas, point, choose, pointed: null });
    canvas.onpointermove = canvas.onpointerdown = (event) => this.pointAt(this.under(event));
    canvas.onpointerleave = (event) => event.pointerType !== "touch" && this.pointAt(null); // a tapped cell stays
    canvas.onclick = (event) => {
      const cell = this.under(event);
      if (cell) this.choose(cell, withMore(event));
    };
    canvas.onblur = () => this.pointAt(null);
    listenToKeys(canvas, {
      move: (step) => this.pointAt(this.geometry.moved(this.pointed, step)),
      choose: (event) => this.pointed && this.choose(this.pointed, event.shiftKey),
    });
  }

  under(event) {
    const { x, y } = placeOf(event);
    return this.geometry?.cellAt(x, y) ?? null;
  }

  pointAt(cell) {
    if (cell?.row === this.pointed?.row && cell?.column === this.pointed?.column) return;
    this.pointed = cell;
    this.point(cell);
  }

  // A picture is what `paintHeatmap` paints.
  draw(pen, picture, label) {
    this.geometry = picture.geometry;
    paintHeatmap(pen, picture);
    this.canvas.setAttribute("aria-label", label);
  }

  // Frames around a row, from `start` on, and around a column, in the pen's colour.
  frameRow(pen, row, start = this.geometry.left) {
    const { top, right, high } = this.geometry;
    pen.strokeRect(start, top + row * high, right - start, high);
  }

  frameColumn(pen, column) {
    const { left, top, bottom, wide } = this.geometry;
    pen.strokeRect(left + column * wide, top, Math.max(2, wide), bottom - top);
  }
}

// A picture has the `geometry`, the labels of `rows` and `columns`, and share(row, column), the part of full colour:
// from 0 to 1, of `signed` values from -1 to 1, NaN for a blank cell. It may have valueText(row, column, short),
// written where there is room, masked(row, column), which is hatched, a `gap` between cells, titleOf(row, column) for a
// file, `upright` columns, a note a row on the right, and instead of columns a `first` number and a `frame` around
// some: [first, count]. Cells for which marked(row, column) holds are framed; `room` is the least width for values.
export function paintHeatmap(pen, picture) {
  const { geometry, rows, columns, masked, marked, valueText, room = ROOM_FOR_A_SHORT_ONE } = picture;
  const { left, top, right, bottom, wide, high } = geometry;
  paint(pen, picture);
  pen.strokeStyle = FRAME;
  pen.lineWidth = 1;
  pen.strokeRect(left - 0.5, top - 0.5, right - left + 1, bottom - top + 1);
  if (masked) hatch(pen, picture);
  if (marked) mark(pen, picture);
  if (valueText && wide >= room && high >= HEIGHT_FOR_A_VALUE) writeValues(pen, picture);
  if (rows) writeRows(pen, picture);
  if (columns) writeColumns(pen, picture);
  else writeNumbers(pen, picture);
}

// Cells that stand apart one by one, others as an image of a pixel a cell.
function paint(pen, { geometry, share, signed, gap, titleOf }) {
  const { left, top, right, bottom, wide, high } = geometry;
  const box = { x: left, y: top, wide: right - left, high: bottom - top };
  if (!gap) return paintCells(pen, { ...geometry, share, signed }, box);
  const ink = pen.fillStyle;
  eachCell(geometry, (row, column, x, y) => {
    const part = share(row, column);
    if (Number.isNaN(part)) return;
    pen.fillStyle = blue(part, pen.onDark);
    if (pen.isForFile) pen.title = titleOf?.(row, column) ?? "";
    pen.fillRect(x + gap / 2, y + gap / 2, wide - gap, high - gap);
  });
  pen.title = "";
  pen.fillStyle = ink;
}

function eachCell({ rows, columns, left, top, wide, high }, act) {
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++) act(row, column, left + column * wide, top + row * high);
  }
}

function hatch(pen, { geometry, masked }) {
  const { wide, high } = geometry;
  pen.beginPath();
  eachCell(geometry, (row, column, x, y) => {
    if (!masked(row, column)) return;
    pen.moveTo(x + 2, y + high - 2);
    pen.lineTo(x + wide - 2, y + 2);
  });
  pen.stroke();
}

// Within the cell, so that frames around rows and columns stay free.
function mark(pen, { geometry, marked }) {
  const { wide, high } = geometry;
  pen.strokeStyle = asText(CHANGED);
  pen.lineWidth = Math.min(3, wide / 2);
  const inset = pen.lineWidth / 2 + 1;
  eachCell(geometry, (row, column, x, y) => {
    if (marked(row, column)) pen.strokeRect(x + inset, y + inset, Math.max(1, wide - 2 * inset), high - 2 * inset);
  });
}

function writeValues(pen, { geometry, valueText, share, signed }) {
  const { wide, high } = geometry, short = wide < ROOM_FOR_A_VALUE, ink = pen.fillStyle;
  eachCell(geometry, (row, column, x, y) => {
    const part = signed ? NaN : share(row, column), text = valueText(row, column, short);
    pen.fillStyle = Number.isNaN(part) ? ink : labelColor(part, pen.onDark, ink);
    if (text) pen.fillText(text, x + wide / 2, y + high / 2 + 4);
  });
  pen.fillStyle = ink;
}

function writeRows(pen, { geometry, rows, notes }) {
  const { left, top, right, high } = geometry;
  pen.save();
  const every = labelEvery(high), y = (row) => top + (row + 0.5) * high + LETTERS / 3;
  pen.textAlign = "right";
  rows.forEach((label, row) => row % every || pen.fillText(shortened(label), left - 6, y(row)));
  pen.textAlign = "left";
  notes?.forEach((note, row) => row % every || pen.fillText(note, right + 6, y(row)));
  pen.restore();
}

function writeColumns(pen, { geometry, columns, upright }) {
  const { left, top, wide } = geometry, every = labelEvery(wide);
  columns.forEach((label, column) => {
    if (column % every) return;
    const middle = left + (column + 0.5) * wide;
    if (upright) pen.fillText(shortened(label), middle, top - 5);
    else writeSlanted(pen, label, middle + LETTERS / 3, top - 5);
  });
}

// As many numbers of columns as there is room for.
function writeNumbers(pen, { geometry, first, frame }) {
  const { columns, left, top, bottom, wide } = geometry;
  const every = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512].find((step) => step * wide >= ABOVE_A_NUMBER) ?? columns;
  for (let column = 0; column < columns; column += every) {
    pen.fillText(first + column, left + (column + 0.5) * wide, top - 4);
  }
  if (!frame) return;
  pen.strokeStyle = pen.fillStyle;
  pen.lineWidth = 1.5;
  pen.strokeRect(left + frame[0] * wide, top - 2, frame[1] * wide, bottom - top + 4);
}
