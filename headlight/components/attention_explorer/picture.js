// Pictures of the explorer with their numbers: the chosen heads as map or lines, and all heads.

import { tableOfMatrices } from "../export/csv.js";
import { arrayFile, textFile } from "../export/npz.js";
import { SvgPen } from "../export/pen.js";
import { drawingOf } from "../export/svg.js";
import { shortened } from "../lib/canvas.js";
import { HEADS, INK } from "../lib/colours.js";
import { Geometry, paintHeatmap, rowLabelsWidth, slantedHeight } from "../lib/heatmap.js";
import { FEWEST_IN_LINE, ROOM_OF_A_TILE, everyHead, paintHeads, place } from "../lib/thumbnails.js";
import { allHeadsCaption, chosenCaption } from "./picture_caption.js";
import { say } from "./texts.toml";
import { cellsOf, strokeLines } from "./views.js";
import { kindTitle, tileName } from "./words.js";

const CELL = 34, NAMES = 60; // pixels of a map's cell, and for the names of layers
const LABELS = 110, APART = 320, ROW = 26; // of the lines
const MOST_ROWS = 300_000; // of a table: spreadsheets have a million, and browsers would take long to write them

// The chosen heads, as the menu has it. shown: the matrix; each: where lines are shown, one Shown a head with a colour
// of its own, or the matrix alone where the heads are too many for that; title: how the explorer names them.
export function chosenFigure({ attention, state, shown, each, title }) {
  const apart = each?.length > 1 ? each : [shown];
  const matrices = () => apart.map((one) => ({
    name: one.heads.length === 1 ? nameOf(one.heads[0]) : "heads", values: shownValues(one),
    rows: textsOf(one.rows), columns: textsOf(one.columns),
  }));
  return {
    name: "attention",
    label: title,
    caption: `${title}. ${chosenCaption(attention, state, shown, each)}`,
    drawing: () => (each ? lines(each, shown, state) : map(shown, state)),
    table: () => tableOfMatrices(matrices(), { row: "query", column: "key", value: "weight" }),
    matrices,
  };
}

// All heads of some kinds, laid out at a width of the picture's own: groups as lib/thumbnails.js has them.
export function allHeadsFigure({ attention, state, groups }) {
  const names = groups.map(({ name }) => name);
  const count = names.reduce((sum, name) => sum + unmasked(attention.kind(name)), 0);
  return {
    name: "all_heads",
    label: say("all_heads", { kinds: names.map((name) => kindTitle(attention.kind(name))) }),
    caption: allHeadsCaption(attention, state, groups),
    drawing: () => overview(groups),
    table: count > MOST_ROWS || !attention.isWhole ? undefined : () => weightsTable(attention, names),
    files: attention.isWhole ? () => Object.assign({}, ...names.map((name) => filesOf(attention, name))) : undefined,
  };
}

const textsOf = (groups) => groups.map(({ text }) => text);

const nameOf = ({ layer, head }) => `layer_${layer + 1}_head_${head + 1}`;

// Masked and left-out cells are blank.
function shownValues(one) {
  const value = (row, column) => (one.isShown(row, column) ? one.at(row, column) : NaN);
  return one.rows.map((_, row) => one.columns.map((_, column) => value(row, column)));
}

function unmasked({ layers, heads, queries, keys, causal }) {
  return layers * heads * (causal ? (queries * (queries + 1)) / 2 : queries * keys);
}

// The same columns as the table of a trace in Python, `to_frame`: places, layers and heads count from 0.
function weightsTable(attention, names) {
  const header = ["kind", "layer", "head", "query", "key", "query_token", "output_token", "key_token", "weight"];
  const rows = names.flatMap((name) => {
    const kind = attention.kind(name), { queries, outputs, keys } = tokensOf(attention, name);
    return everyHead(kind).flatMap(({ layer, head }) => {
      const weights = attention.small(name, { layer, head }), cells = [];
      for (let row = 0; row < kind.queries; row++) {
        const last = kind.causal ? row + 1 : kind.keys; // what comes later is masked
        for (let column = 0; column < last; column++) {
          const tokens = [queries[row], outputs?.[row] ?? "", keys[column]];
          cells.push([name, layer, head, row, column, ...tokens, weights[row * kind.keys + column] / attention.steps]);
        }
      }
      return cells;
    });
  });
  return { header, rows };
}

// Of a kind all weights, [layers, heads, queries, keys], 0 where masked, and the tokens: what each query was given, in
// the decoder what it predicts, and the keys.
function filesOf(attention, name) {
  const { layers, heads, queries, keys, weights } = attention.kind(name), size = [layers, heads, queries, keys];
  const tokens = tokensOf(attention, name);
  return {
    [name]: arrayFile(Float64Array.from(weights, (part) => part / attention.steps), size),
    [`${name}_query_tokens`]: textFile(tokens.queries),
    ...(tokens.outputs ? { [`${name}_output_tokens`]: textFile(tokens.outputs) } : {}),
    [`${name}_key_tokens`]: textFile(tokens.keys),
  };
}

function tokensOf(attention, name) {
  const { queries, keys } = attention.sides(name, "input token");
  const outputs = attention.kind(name).predicts ? attention.tokens.predicted.tokens : undefined;
  return { queries: queries.tokens, keys: keys.tokens, outputs };
}

// Each cell a square with its weight, and in words what attends to what: a browser shows that on pointing.
function map(shown, state) {
  const [rows, columns] = shown.labels;
  const pen = new SvgPen();
  const geometry = new Geometry({
    rows: rows.length, columns: columns.length, left: rowLabelsWidth(rows), top: slantedHeight(columns),
    wide: CELL, after: CELL, below: 0,
  });
  paintHeatmap(pen, { geometry, rows, columns, ...cellsOf(shown, state), gap: 1 });
  return drawingOf(pen.parts, { right: geometry.width, bottom: geometry.height });
}

function lines(each, whole, state) {
  const [rows, columns] = whole.labels, pen = new SvgPen();
  const left = Math.max(LABELS, rowLabelsWidth(rows));
  const right = left + LABELS + APART;
  const bottom = Math.max(rows.length, columns.length) * ROW;
  pen.translate(left, 0);
  strokeLines(pen, { each, whole, state, high: ROW, wide: APART });
  const label = (align, x) => (text, at) => {
    pen.textAlign = align;
    pen.fillText(shortened(text), x, (at + 0.5) * ROW + 4);
  };
  rows.forEach(label("right", -6));
  columns.forEach(label("left", APART + 6));
  if (each.length > 1) legend(pen, each);
  return drawingOf(pen.parts, { top: each.length > 1 ? -ROW : 0, right, bottom });
}

// Above the lines: which colour is which head's.
function legend(pen, each) {
  const apart = (LABELS + APART) / Math.max(4, each.length);
  each.forEach(({ heads: [head] }, number) => {
    const x = number * apart - LABELS / 2;
    pen.fillStyle = HEADS[number];
    pen.fillRect(x, 8 - ROW, 12, 4);
    pen.fillStyle = INK;
    pen.fillText(tileName(head), x + 16, 14 - ROW);
  });
}

// At a width of the picture's own.
function overview(groups) {
  const right = NAMES + ROOM_OF_A_TILE * Math.max(FEWEST_IN_LINE, ...groups.map(({ heads }) => heads));
  const pen = new SvgPen(), placed = place(groups, right);
  paintHeads(pen, placed);
  return drawingOf(pen.parts, { right, bottom: placed.bottom });
}
