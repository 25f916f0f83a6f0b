// What the explorer shows as a vector graphic, for a paper or a slide: always on white, with its title and its caption.

import { heatmap } from "../export/matrix.js";
import { fontFaces, pngOf, saveFile } from "../export/pictures.js";
import { PAGES_FONT, group, rounded, shape, svgFile, wrapped, write } from "../export/svg.js";
import { shortened } from "../lib/canvas.js";
import { Geometry, LETTER, rowLabelsWidth, slantedHeight } from "../lib/heatmap.js";
import { PALETTE, shortWeight } from "./views.js";

const CELL = 34, MARGIN = 8, TITLE = 30, LINE = 17, LEAST_WIDTH = 420; // pixels
const LABELS = 110, APART = 320, ROW = 26, BESIDE = 4; // of the lines
const FAINTEST = 0.02; // of a line, as in views.js

// The text of an SVG file and its size. shown: the matrix; each: where lines are shown, one Shown a head with a colour
// of its own; faces: a style sheet that brings the page's font along.
function pictureOf({ shown, each, choice, title, caption, faces }) {
  const { parts, width: drawn, height } = each ? lines(each, shown, choice) : map(shown, choice);
  const width = Math.max(LEAST_WIDTH, drawn), texts = wrapped(caption, (width - 2 * MARGIN) / LETTER);
  const below = texts.map((text, at) => write(text, MARGIN, TITLE + height + (at + 1.2) * LINE));
  const heading = write(title, MARGIN, 20, { "font-weight": 600, "font-size": 14 });
  const whole = { width, height: TITLE + height + (texts.length + 1) * LINE };
  return svgFile({ title, caption, ...whole, parts: [heading, group(0, TITLE, ...parts), ...below] }, faces);
}

// Each cell a square with its weight, and in words what attends to what: a browser shows that on pointing.
function map(shown, choice) {
  const full = shown.full(choice.scale), texts = (groups) => groups.map(({ text }) => text);
  const rows = texts(shown.rows), columns = texts(shown.columns);
  const geometry = new Geometry({
    rows: rows.length, columns: columns.length, left: MARGIN + rowLabelsWidth(rows), top: slantedHeight(columns),
    wide: CELL, after: CELL + MARGIN, below: 0,
  });
  const share = (row, column) => (shown.isShown(row, column) ? shown.at(row, column) / full : NaN);
  const valueText = (row, column) => shortWeight(shown.at(row, column));
  const titleOf = (row, column) => shown.cellText(row, column);
  return { parts: heatmap({ geometry, rows, columns, share, gap: 1, valueText, titleOf }), ...geometry };
}

function lines(each, shown, choice) {
  const { rows, columns } = shown, parts = [], middle = (at) => (at + 0.5) * ROW;
  const end = LABELS + APART, height = Math.max(rows.length, columns.length) * ROW;
  each.forEach((one, number) => {
    const full = one.full(choice.scale), down = BESIDE * (number - (each.length - 1) / 2);
    rows.forEach((_, row) => columns.forEach((key, column) => {
      const weight = Math.min(1, one.at(row, column) / full), side = choice.side === "queries" ? rows[row] : key;
      const chosen = !choice.tokens.length || choice.holds(choice.side, side.positions);
      if (weight < FAINTEST || !chosen || !one.isShown(row, column)) return;
      const ends = { x1: LABELS, y1: middle(row) + down, x2: end, y2: middle(column) + down };
      const wide = rounded(1 + 2 * weight), opaque = rounded(weight);
      const look = { stroke: PALETTE[number], "stroke-opacity": opaque, "stroke-width": wide };
      parts.push(shape("line", { ...ends, ...look }, shape("title", {}, one.cellText(row, column))));
    }));
  });
  rows.forEach(({ text }, at) => {
    parts.push(write(shortened(text), LABELS - 6, middle(at) + 4, { "text-anchor": "end" }));
  });
  columns.forEach(({ text }, at) => parts.push(write(shortened(text), end + 6, middle(at) + 4)));
  return { parts, width: end + LABELS, height };
}

// Let the browser save what an explorer shows as a file, "svg" or "png", with the sentences that stand around it.
export async function savePicture({ find, shown, choice, lines: drawn }, kind) {
  if (shown.isEmpty) return;
  const [title, axes, scale, notes] = ["heads_name", "axes", "scale_legend", "notes"].map((name) => {
    return find(`.${name}`).textContent;
  });
  const caption = `${axes} ${scale[0].toUpperCase()}${scale.slice(1)}. ${notes}`.trim();
  const each = choice.view === "lines" ? drawn.each : null, faces = await fontFaces(new Set([PAGES_FONT]));
  const { text, width, height } = pictureOf({ shown, each, choice, title, caption, faces });
  if (kind === "svg") saveFile("attention.svg", "image/svg+xml", text);
  else saveFile("attention.png", "image/png", await pngOf(text, width, height));
}
