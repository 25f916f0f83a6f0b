// What the explorer shows as a vector graphic, for a paper or a slide: always on white, with its title and its caption.
// It is made of elements, so that token text is text in it, too.

import { FRAME, inkOn, shade, shortened, svgElement } from "../lib/canvas.js";
import { LETTER, rowLabelsWidth, slantedHeight } from "../lib/heatmap.js";
import { FALLBACKS, fontFaces, pngOf, saveFile, svgText } from "../lib/pictures.js";
import { PALETTE, shortWeight } from "./views.js";

const CELL = 34, MARGIN = 8, TITLE = 30, LINE = 17, LEAST_WIDTH = 420; // pixels
const LABELS = 110, APART = 320, ROW = 26, BESIDE = 4; // of the lines
const FAINTEST = 0.02; // of a line, as in views.js
const BLACK = "#000";
const PAGES_FONT = "Source Sans"; // the app's; a page that was taken away has none of its own

// The text of an SVG file and its size. shown: the matrix; each: where lines are shown, one Shown a head with a colour
// of its own; faces: a style sheet that brings the page's font along.
function pictureOf({ shown, each, choice, title, caption, faces }) {
  const { parts, width: drawn, height } = each ? lines(each, shown, choice) : map(shown, choice);
  const width = Math.max(LEAST_WIDTH, drawn), texts = wrapped(caption, (width - 2 * MARGIN) / LETTER);
  const below = texts.map((text, at) => write(text, MARGIN, TITLE + height + (at + 1.2) * LINE));
  const whole = TITLE + height + (texts.length + 1) * LINE, namespace = "http://www.w3.org/2000/svg";
  const picture = svgElement(
    "svg",
    { xmlns: namespace, width, height: whole, viewBox: `0 0 ${width} ${whole}`, "font-size": 12,
      "font-family": `"${PAGES_FONT}", ${FALLBACKS}` },
    svgElement("title", {}, title),
    svgElement("desc", {}, caption),
    ...(faces ? [svgElement("style", {}, faces)] : []),
    svgElement("rect", { width, height: whole, fill: "#fff" }),
    write(title, MARGIN, 20, { "font-weight": 600, "font-size": 14 }),
    svgElement("g", { transform: `translate(0 ${TITLE})` }, ...parts),
    ...below,
  );
  return { text: svgText(picture), width, height: whole };
}

// Each cell a square with its weight, and in words what attends to what: a browser shows that on pointing.
function map(shown, choice) {
  const { rows, columns } = shown, full = shown.full(choice.scale);
  const texts = (groups) => groups.map(({ text }) => text), parts = [];
  const left = MARGIN + rowLabelsWidth(texts(rows)), top = slantedHeight(texts(columns));
  rows.forEach(({ text }, row) => {
    const y = top + row * CELL;
    parts.push(write(shortened(text), left - 6, y + CELL / 2 + 4, { "text-anchor": "end" }));
    columns.forEach((_, column) => {
      if (shown.isShown(row, column)) parts.push(cell(shown, row, column, full, left + column * CELL, y));
    });
  });
  columns.forEach(({ text }, column) => {
    const x = left + (column + 0.5) * CELL + 4, y = top - 5;
    parts.push(write(shortened(text), x, y, { transform: `rotate(-60 ${x} ${y})` }));
  });
  const wide = columns.length * CELL, high = rows.length * CELL;
  parts.push(svgElement("rect", { x: left, y: top, width: wide, height: high, fill: "none", stroke: FRAME }));
  return { parts, width: left + wide + CELL + MARGIN, height: top + high };
}

function cell(shown, row, column, full, x, y) {
  const weight = shown.at(row, column), share = weight / full, [red, green, blue, opaque] = shade(share).map(rounded);
  const colour = { fill: `rgb(${[red, green, blue].map(Math.round).join(", ")})`, "fill-opacity": opaque };
  return svgElement(
    "g",
    {},
    svgElement("title", {}, shown.cellText(row, column)),
    svgElement("rect", { x: x + 0.5, y: y + 0.5, width: CELL - 1, height: CELL - 1, ...colour }),
    write(shortWeight(weight), x + CELL / 2, y + CELL / 2 + 4, {
      "text-anchor": "middle", fill: inkOn(share, false, BLACK),
    }),
  );
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
      parts.push(svgElement("line", { ...ends, ...look }, svgElement("title", {}, one.cellText(row, column))));
    }));
  });
  rows.forEach(({ text }, at) => {
    parts.push(write(shortened(text), LABELS - 6, middle(at) + 4, { "text-anchor": "end" }));
  });
  columns.forEach(({ text }, at) => parts.push(write(shortened(text), end + 6, middle(at) + 4)));
  return { parts, width: end + LABELS, height };
}

const rounded = (number) => Number(number.toFixed(3));
const write = (text, x, y, look = {}) => svgElement("text", { x: rounded(x), y: rounded(y), ...look }, text);

function wrapped(text, letters) {
  const lines = [];
  for (const word of text.split(" ")) {
    if (lines.length && lines.at(-1).length + word.length < letters) lines.push(`${lines.pop()} ${word}`);
    else lines.push(word);
  }
  return lines;
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
