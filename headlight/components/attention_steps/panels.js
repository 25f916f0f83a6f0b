// The panels of a step, its matrices and those of the chosen query, the neuron view; and the picture of each panel for
// the heatmap.

import { JOINT, shortened } from "../lib/canvas.js";
import { Grid, number } from "../lib/format.js";
import { Geometry, LETTER, fitUpright, rowLabelsWidth, slantedHeight } from "../lib/heatmap.js";
import { shownTokens } from "../lib/tokens.js";
import { say } from "./texts.toml";

const ROW = 18, LEAST_ROW = 14, TALL_ROW = 24, DENSE_ROW = 10, PACKED_ROW = 8; // pixels
const LARGEST_CELL = 44, LEAST_CELL = 16, WIDEST_CELL = 26;
const LEAST_COLUMN = 2, NOTE = 74, NUMBERS_HIGH = 16, UPRIGHT_HIGH = 20, STRIP_HIGH = 10, WIDEST_OF_A_STRIP = 12;
const BELOW_A_STRIP = 5;
const MANY_DIMENSIONS = 64, MOST_DRAWN = 32; // of a matrix with more dimensions, so many are drawn as cells
const ROOM_FOR_A_SHORT_ONE = 28, ROOM_FOR_A_DECIMAL = 22, ROOM_FOR_A_DIGIT = 16, DIGIT = 6, POINT = 3; // pixels
const MANY_ROWS = 24, VERY_MANY_ROWS = 48;
export const FEW_COLUMNS = 16;

// The panels of a step with their arrays.
export function panelsOf(step, data) {
  const { grids } = data;
  const masked = (row, column) => !grids.unmasked.at(row, column);
  return step.panels.map((panel) => ({
    ...panel,
    grid: grids[panel.array],
    masked: panel.recipe?.kind === "masked" || panel.scale === "weights" ? masked : null,
    frame: panel.axis === "heads" ? [data.head * data.headSize, data.headSize] : null, // around the chosen head
    first: panel.columns === "head" ? data.head * data.headSize + 1 : 1,
  }));
}

// The matrices that a step takes, small beside what it makes of them; of many dimensions, of the chosen token alone.
export function inputsOf(step, data) {
  return panelsOf({ panels: step.inputs }, data).map((panel) => {
    return { ...panel, recipe: null, small: true, single: isWide(panel), isBare: isWide(panel) };
  });
}

// Return whether a matrix has too many dimensions for legible cells.
export const isWide = ({ columns, grid }) => columns === "model" && grid.columns > MANY_DIMENSIONS;

// Return whether only some columns of a panel's matrix are drawn.
export const isCut = ({ grid, window }) => window.columns < grid.columns;

// The part of a panel's matrix that is drawn as cells: of many dimensions those about the chosen one, a head's; of a
// single token its row. In this width of pixels half of a head's, where all of them would be written without decimals.
// limit: the most dimensions to be drawn of a matrix that has more than a few.
export function windowOf(panel, chosen, data, width = Infinity, limit = Infinity) {
  const { rows, columns } = panel.grid, at = cellIn(panel, chosen, data), fitting = mostDrawn(panel, data, width);
  const most = panel.columns !== "keys" && columns > FEW_COLUMNS ? Math.min(limit, fitting) : fitting;
  const column = most < columns ? Math.floor(Math.max(0, at.column) / most) * most : 0;
  const down = panel.single ? { row: at.row, rows: 1 } : { row: 0, rows };
  return { ...down, column, columns: Math.min(most, columns - column) };
}

function mostDrawn(panel, data, width) {
  const ofHead = isWide(panel) ? Math.min(data.headSize, MOST_DRAWN) : panel.grid.columns;
  if (!isWide(panel) && panel.columns !== "head") return ofHead;
  const wide = (width - labelsWidth(data) - (panel.notes ? NOTE : 0) - 4) / ofHead;
  return wide >= ROOM_FOR_A_DIGIT && wide < ROOM_FOR_A_DECIMAL ? Math.ceil(ofHead / 2) : ofHead;
}

const labelsWidth = ({ queries, keys }) => Math.max(...[queries, keys].map((all) => rowLabelsWidth(shownTokens(all))));

// The chosen cell of a panel; a column of -1 where the chosen dimension is another head's or beyond the panel's.
export function cellIn(panel, { query, key, dimension }, { head, headSize }) {
  const row = { queries: query, keys: key }[panel.rows];
  const inside = dimension - head * headSize, inModel = dimension < panel.grid.columns ? dimension : -1;
  const column = { keys: key, model: inModel, head: inside >= 0 && inside < headSize ? inside : -1 }[panel.columns];
  return { row, column };
}

// Query against every key, or every value by its weight, one dimension a column, one under the other.
export function neuronsOf(name, data, query) {
  const token = `“${shortened(data.queries[query])}”`;
  const shared = { columns: "head", scale: "signed", first: data.head * data.headSize + 1, recipe: null };
  const panels = { products: queryAgainstKeys, values: valuesByWeight }[name]?.(data.grids, query, token) ?? [];
  return panels.map((panel) => ({ ...shared, ...panel }));
}

function gridOf(rows, columns, value) {
  const at = (_, index) => value(Math.floor(index / columns), index % columns);
  return new Grid(rows, columns, Float32Array.from({ length: rows * columns }, at));
}

function queryAgainstKeys({ headQuery, headKey, products }, query, token) {
  const left = (_, column) => headQuery.at(query, column), right = (row, column) => headKey.at(row, column);
  const terms = gridOf(headKey.rows, headKey.columns, (row, column) => left(row, column) * right(row, column));
  return [
    { text: say("query", { token }), rows: "queries", grid: headQuery, single: true },
    { text: say("keys"), rows: "keys", grid: headKey },
    {
      text: say("products", { token }), rows: "keys", grid: terms, recipe: { kind: "term", left, right },
      notes: (key) => `Σ ${number(products.at(query, key), 2)}`,
    },
  ];
}

function valuesByWeight({ headValue, headOutput, weights }, query, token) {
  const left = (row) => weights.at(query, row), right = (row, column) => headValue.at(row, column);
  const terms = gridOf(headValue.rows, headValue.columns, (row, column) => left(row) * right(row, column));
  const limit = headValue.limit, notes = (key) => `× ${number(left(key), 4)}`;
  return [
    { text: say("values", { token }), rows: "keys", grid: headValue, notes, limit },
    { text: say("weighted"), rows: "keys", grid: terms, recipe: { kind: "term", left, right }, limit },
    { text: say("sum", { token }), rows: "queries", grid: headOutput, single: true, limit },
  ];
}

// The heatmap of a panel's window in this width, between tokens at most so high; `limit` has the full colour.
export function pictureOf(panel, { queries, keys }, width, most = Infinity) {
  const { grid, scale, masked, window, marked } = panel, { row: top, column: start } = window;
  const [shownQueries, shownKeys] = [queries, keys].map(shownTokens);
  const tokens = { queries: shownQueries, keys: shownKeys }[panel.rows].slice(top, top + window.rows);
  const rows = panel.isBare ? tokens.map((token) => `${plainSymbol(panel)} ${token.split(JOINT)[0]}`) : tokens;
  const columns = panel.columns === "keys" ? shownKeys : panel.isBare ? [] : null;
  const notes = panel.notes ? rows.map((_, row) => panel.notes(row)) : null;
  const left = labelsWidth({ queries, keys });
  const limit = scale === "weights" ? 1 : panel.limit || grid.limit || 1;
  const at = (row, column) => grid.at(row + top, column + start);
  const share = (row, column) => {
    const value = at(row, column);
    return Number.isFinite(value) && !masked?.(row, column) ? value / limit : NaN;
  };
  const ofDimensions = panel.columns !== "keys";
  const valueText = (row, column, short) => {
    if (masked?.(row, column)) return "";
    const isTiny = ofDimensions && geometry.wide < ROOM_FOR_A_SHORT_ONE;
    return isTiny ? tinyNumber(at(row, column), geometry.wide) : cellNumber(at(row, column), scale, short);
  };
  // Two inputs stand one below the other beside a map that is at most so high.
  const small = panel.small && { leastColumn: 1, row: Math.min(ROW, Math.max(LEAST_ROW, most / 2 / grid.rows)) };
  const bare = panel.isBare && { row: ROW, top: 0 };
  const room = { width, most, ...small, ...bare };
  const geometry = geometryOf(window, ofDimensions ? null : columns, left, notes ? NOTE : 0, room);
  return {
    geometry, width, rows, columns, notes, limit, share, masked, valueText, signed: scale !== "weights",
    marked: marked && ((row, column) => marked(row + top, column + start)),
    room: ofDimensions ? ROOM_FOR_A_DIGIT : undefined,
    upright: !ofDimensions && fitUpright(columns, geometry.wide),
    first: panel.first + start, frame: isCut(panel) ? null : panel.frame,
  };
}

export const plainSymbol = ({ symbol }) => symbol.replace(/<[^>]*>/g, "");

// All dimensions of one token in a strip above the cells of the window.
export function stripOf({ grid, marked }, row, { geometry, limit, width }) {
  const { left } = geometry, wide = Math.min(WIDEST_OF_A_STRIP, (width - left - 4) / grid.columns);
  return {
    geometry: new Geometry({
      rows: 1, columns: grid.columns, left, top: 1, wide, high: STRIP_HIGH, after: 2, below: BELOW_A_STRIP,
    }),
    columns: [], signed: true, share: (_, column) => grid.at(row, column) / limit,
    marked: marked && ((_, column) => marked(row, column)),
  };
}

// Two decimals; where cells are small, one, and of a weight two without the 0 before them.
function cellNumber(value, scale, short) {
  if (!short) return number(value, 2);
  return scale === "weights" ? number(value, 2).replace(/^0/, "") : number(value, 1);
}

// In a cell for about three signs: one decimal without the 0 before it; for two, one digit that counts.
function tinyNumber(value, wide) {
  const isLarge = Math.abs(value) >= 0.95 && (Math.abs(value) >= 9.95 || wide < ROOM_FOR_A_DECIMAL);
  const text = isLarge ? number(value, 0) : number(value, 1).replace(/^(\D?)0\./, "$1.").replace(/^\D?\.0$/, "0");
  const room = text.length * DIGIT - (text.includes(".") ? DIGIT - POINT : 0);
  return room <= wide ? text : "";
}

// Cells as large as there is room for: square between tokens, low where there are many rows.
function geometryOf({ rows, columns }, labels, left, notes, room) {
  const few = columns <= FEW_COLUMNS, least = rows > VERY_MANY_ROWS ? PACKED_ROW : DENSE_ROW;
  const { width, most = Infinity, leastColumn = LEAST_COLUMN, row = ROW, top = NUMBERS_HIGH } = room;
  const beyond = labels ? 0.5 * LETTER * (shortened(labels.at(-1)).length - 1) : 0; // of the last slanted label
  const after = Math.max(notes, beyond), across = Math.max(columns * leastColumn, width - left - after - 2);
  const largest = labels ? Math.min(LARGEST_CELL, Math.max(LEAST_CELL, most / rows)) : few ? LARGEST_CELL : WIDEST_CELL;
  const wide = Math.min(largest, across / columns);
  const low = rows > MANY_ROWS ? least : few ? TALL_ROW : row;
  const above = labels && (fitUpright(labels, wide) ? UPRIGHT_HIGH : slantedHeight(labels));
  const high = labels ? Math.max(least, wide) : low;
  return new Geometry({ rows, columns, left, top: above || top, wide, high, after: after + 2, below: 3 });
}
