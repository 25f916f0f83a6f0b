// What the explorer shows as pictures to save, with the numbers: the chosen heads as map or lines, and all heads.

import { tableOfMatrices } from "../export/csv.js";
import { heatmap } from "../export/matrix.js";
import { arrayFile, textFile } from "../export/npz.js";
import { overviewDrawing } from "../export/overview.js";
import { placed, rounded, shape, write } from "../export/svg.js";
import { shortened } from "../lib/canvas.js";
import { Geometry, rowLabelsWidth, slantedHeight } from "../lib/heatmap.js";
import { everyHead } from "../lib/thumbnails.js";
import { axesText } from "./choice.js";
import { PALETTE, shortWeight } from "./views.js";

const CELL = 34; // pixels
const LABELS = 110, APART = 320, ROW = 26, BESIDE = 4; // of the lines
const FAINTEST = 0.02; // of a line, as in views.js
const MOST_ROWS = 300_000; // of a table: spreadsheets have a million, and browsers would take long to write them

// The chosen heads, as the menu has it. shown: the matrix; each: where lines are shown, one Shown a head with a colour
// of its own; title and caption: the sentences around it.
export function chosenFigure({ shown, each, choice, title, caption }) {
  const values = shown.rows.map((_, row) => shown.columns.map((_, column) => {
    return shown.isShown(row, column) ? shown.at(row, column) : NaN;
  }));
  const matrices = () => [{ values, rows: textsOf(shown.rows), columns: textsOf(shown.columns) }];
  return {
    name: "attention",
    label: title,
    caption: `${title}. ${caption}`,
    drawing: () => placed([{ x: 0, y: 0, ...(each ? lines(each, shown, choice) : map(shown, choice)) }]),
    table: () => tableOfMatrices(matrices(), { row: "query", column: "key", value: "weight" }),
    matrices,
  };
}

// Every head of some kinds as they are laid out: groups as lib/thumbnails.js has them.
export function allHeadsFigure({ attention, choice, groups }) {
  const names = groups.map(({ name }) => name), { sort, rows, scale, label, least } = choice;
  const titles = names.map((name) => attention.texts.kinds[name]), several = names.length > 1;
  const order = sort === "layer" ? "layers from top to bottom, heads from left to right" : `in the order of ${sort}`;
  const full = scale === "0 to 1" ? "colours from 0 to 1" : "colours from 0 to each head's largest weight";
  const axes = several ? "Rows: queries; columns: keys." : axesText(names[0], rows);
  const faint = label !== "all" || least ? " Heads that do not fit the filter are faint." : "";
  const cells = names.reduce((sum, name) => sum + sizeOf(attention, name), 0);
  return {
    name: "all_heads",
    label: `All heads: ${titles.join(", ")}`,
    caption: `All heads, ${titles.join(", ")}: ${order}, ${full}; below a head its pattern, where it has one. ` +
      `${axes}${faint}`,
    drawing: () => placed([{ x: 0, y: 0, ...overviewDrawing(groups) }]),
    table: cells > MOST_ROWS ? undefined : () => weightsTable(attention, names, rows),
    files: () => Object.assign({}, ...names.map((name) => filesOf(attention, name, rows))),
  };
}

const textsOf = (groups) => groups.map(({ text }) => text);

const sizeOf = (attention, name) => {
  const { layers, heads, queries, keys } = attention.kind(name);
  return layers * heads * queries * keys;
};

function weightsTable(attention, names, labelled) {
  const rows = names.flatMap((name) => {
    const kind = attention.kind(name), { queries, keys } = attention.sides(name, labelled);
    return everyHead(kind).flatMap(({ layer, head }) => {
      const weights = attention.raw(name, { layer, head }), found = [];
      for (let row = 0; row < kind.queries; row++) {
        const last = name === "decoder" ? row + 1 : kind.keys; // what comes later is masked
        for (let column = 0; column < last; column++) {
          const tokens = [row, queries.tokens[row], column, keys.tokens[column]];
          found.push([name, layer + 1, head + 1, ...tokens, weights[row * kind.keys + column] / attention.steps]);
        }
      }
      return found;
    });
  });
  return { header: ["kind", "layer", "head", "row", "query", "column", "key", "weight"], rows };
}

// Of a kind all weights, [layers, heads, queries, keys], and the tokens of both sides.
function filesOf(attention, name, rows) {
  const { layers, heads, queries, keys } = attention.kind(name), sides = attention.sides(name, rows);
  const weights = everyHead({ layers, heads }).flatMap((head) => {
    return Array.from(attention.raw(name, head), (part) => part / attention.steps);
  });
  return {
    [name]: arrayFile(weights, [layers, heads, queries, keys]),
    [`${name}_queries`]: textFile(sides.queries.tokens),
    [`${name}_keys`]: textFile(sides.keys.tokens),
  };
}

// Each cell a square with its weight, and in words what attends to what: a browser shows that on pointing.
function map(shown, choice) {
  const full = shown.full(choice.scale), rows = textsOf(shown.rows), columns = textsOf(shown.columns);
  const geometry = new Geometry({
    rows: rows.length, columns: columns.length, left: rowLabelsWidth(rows), top: slantedHeight(columns),
    wide: CELL, after: CELL, below: 0,
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
