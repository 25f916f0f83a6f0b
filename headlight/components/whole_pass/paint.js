// Shapes of a moment drawn with a pen: a canvas's own, or that of SVG files.

import { Raster, paintCells } from "../lib/canvas.js";
import { GREY, PROBABILITY, WEIGHT, asText } from "../lib/colours.js";

const PREFIX = [143, 125, 0]; // as in lib/colours.css
const INKS = { light: [49, 51, 63], dark: [250, 250, 250] };
export const PAPERS = { light: [255, 255, 255], dark: [22, 22, 20] };
// Colours by theme: lighter ones on a dark page.
const COLOURS = {
  light: { weight: WEIGHT, prefix: PREFIX, probability: PROBABILITY, mix: [86, 180, 233] },
  dark: { weight: [108, 172, 255], prefix: [214, 192, 60], probability: [180, 140, 240], mix: [60, 120, 160] },
};
const FAINT = 0.72;

export function paint(pen, shapes, { family }) {
  const theme = pen.onDark ? "dark" : "light";
  const colours = { ...COLOURS[theme], room: GREY, ink: INKS[theme], faint: INKS[theme] };
  for (const each of shapes) {
    DRAW[each.kind](pen, each, (share) => asText([...colours[each.colour], share]), { family, paper: PAPERS[theme] });
  }
}

const DRAW = { cells, line, box, text };

const strips = new WeakMap(); // of the numbers of a vector: its cells as an image, by theme

function cells(pen, { x, y, wide, high, values, limit, upright, alpha }) {
  const [rows, columns] = upright ? [values.length, 1] : [1, values.length];
  const share = (row, column) => Math.max(-1, Math.min(1, values[row + column] / limit));
  const data = { rows, columns, signed: true, share };
  pen.globalAlpha = alpha;
  if (pen.isForFile) paintCells(pen, data, { x, y, wide, high });
  else pen.drawImage(imageOf(pen, data, values, upright), x, y, wide, high);
  pen.globalAlpha = 1;
}

function imageOf({ onDark }, data, values, upright) {
  const name = `${onDark} ${upright}`, known = strips.get(values) ?? {};
  strips.set(values, known);
  if (!known[name]) {
    const raster = new Raster(data.columns, data.rows);
    paintCells({ onDark, drawImage() {} }, data, { x: 0, y: 0 }, raster);
    known[name] = raster.canvas;
  }
  return known[name];
}

function line(pen, { points: [from, one, other, to], wide, alpha }, colour) {
  pen.strokeStyle = colour(alpha);
  pen.lineWidth = wide;
  pen.beginPath();
  pen.moveTo(...from);
  pen.bezierCurveTo(...one, ...other, ...to);
  pen.stroke();
}

function box(pen, { x, y, wide, high, fill, stroke, round, alpha }, colour) {
  const isRound = round && pen.roundRect;
  if (isRound) {
    pen.beginPath();
    pen.roundRect(x, y, wide, high, Math.min(round, wide / 2, high / 2));
  }
  pen.fillStyle = colour(fill * alpha);
  if (fill) isRound ? pen.fill() : pen.fillRect(x, y, wide, high);
  pen.strokeStyle = colour(stroke * alpha);
  pen.lineWidth = 1;
  if (stroke) isRound ? pen.stroke() : pen.strokeRect(x, y, wide, high);
}

function text(pen, shape, colour, { family, paper }) {
  const { x, y, text: words, size, align, most, bold, turned, alpha, halo } = shape;
  pen.font = `${bold ? "600 " : ""}${size}px ${family}`;
  pen.fillStyle = colour(alpha * (shape.colour === "faint" ? FAINT : 1));
  pen.textAlign = align;
  if (halo) {
    pen.strokeStyle = asText([...paper, 0.85 * alpha]);
    pen.lineWidth = 3;
  }
  pen.save();
  pen.translate(x, y);
  if (turned) pen.rotate(-Math.PI / 2);
  if (halo) pen.strokeText?.(words, 0, 0, most);
  pen.fillText(words, 0, 0, most);
  pen.restore();
}
