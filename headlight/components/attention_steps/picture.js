// A step as a picture to save, what it takes on the left and what it makes of that on the right, and its matrices.

import { tableOfMatrices } from "../export/csv.js";
import { heatmap } from "../export/matrix.js";
import { group, inLine, placed, write, writeFormula } from "../export/svg.js";
import { MINUS, number } from "../lib/format.js";
import { Geometry } from "../lib/heatmap.js";
import { cellIn, inputsOf, panelsOf, pictureOf } from "./panels.js";

const INPUTS_WIDE = 420, OWN_WIDE = 600, LARGEST_MAP = 320; // pixels of a panel, its labels among them
const CAPTION = 22, SYMBOL = 14, APART = 28, BELOW = 18, FORMULA = 18, FORMULA_HIGH = 34;
const LIKE_MATHEMATICS = { "font-family": 'Georgia, "Times New Roman", serif', "font-style": "italic" };

const plain = (formula) => formula.replace(/<\/?su[bp]>/g, "");

// What the menu makes files of. `chosen` is {query, key, dimension}; `measure(text, size)` is how wide a text is.
export function figureOf({ data, grids, step, chosen, measure }) {
  const own = panelsOf(step, data, grids), inputs = inputsOf(step, data, grids);
  const matrices = () => matricesOf([...own, ...inputs], data);
  return {
    name: `attention_${step.name}`,
    label: `${step.title}: ${data.block}`,
    caption: captionOf(step, data, framed(own[0], data, chosen)),
    drawing: () => drawingOf({ data, step, own, inputs, chosen, measure }),
    table: () => tableOfMatrices(matrices(), { row: "token", column: "key or dimension", value: "value" }),
    matrices,
  };
}

const captionOf = (step, { block }, frames) => {
  return [`${step.title}. ${block}.`, step.why, step.see, frames].filter(Boolean).join(" ");
};

function framed(panel, data, { query, key, dimension }) {
  if (panel.columns === "keys") return `Framed: the query “${data.queries[query]}” and the key “${data.keys[key]}”.`;
  return `Framed: the query “${data.queries[query]}” and dimension ${dimension + 1}.`;
}

// The matrices of the panels by the names of their arrays, each once; masked cells are NaN.
function matricesOf(panels, { queries, keys, head, d_k }) {
  const found = new Map();
  for (const { array, grid, rows, columns, masked } of panels) {
    if (found.has(array)) continue;
    const first = columns === "head" ? head * d_k + 1 : 1;
    const dimensions = Array.from({ length: grid.columns }, (_, at) => `dimension ${first + at}`);
    const values = Array.from({ length: grid.rows }, (_, row) => {
      return Array.from(grid.row(row), (value, column) => (masked?.(row, column) ? NaN : value));
    });
    const labels = { rows: rows === "keys" ? keys : queries, columns: columns === "keys" ? keys : dimensions };
    found.set(array, { name: array, values, ...labels });
  }
  return [...found.values()];
}

function drawingOf({ data, step, own, inputs, chosen, measure }) {
  const column = (panels, x, wide) => {
    const drawings = panels.map((panel) => ({ ...panelDrawing(panel, data, chosen, wide, measure), x }));
    return inLine("y", drawings, BELOW, FORMULA_HIGH);
  };
  const left = column(inputs, 0, INPUTS_WIDE), reach = Math.max(0, ...left.map(({ width }) => width + APART));
  const formula = writeFormula(step.formula, 0, FORMULA, FORMULA, LIKE_MATHEMATICS);
  const heading = { parts: [formula], width: measure(plain(step.formula), FORMULA) * 1.1, height: FORMULA_HIGH };
  return placed([{ ...heading, x: 0, y: 0 }, ...left, ...column(own, reach, OWN_WIDE)]);
}

// A panel's heatmap below its symbol, its size and the range of its colours.
function panelDrawing(panel, data, chosen, wide, measure) {
  const picture = pictureOf(panel, data, chosen.query, wide, LARGEST_MAP), geometry = whole(picture.geometry);
  const most = number(picture.limit, 2), { rows, columns } = panel.grid;
  const range = picture.signed ? `${MINUS}${most} (blue) to ${most} (orange)` : "0 to 1";
  const size = `${rows} × ${columns}, colours ${range}`, after = measure(plain(panel.symbol), SYMBOL) + 10;
  const parts = [writeFormula(panel.symbol, 0, SYMBOL, SYMBOL), write(size, after, SYMBOL)];
  const pair = (row, column) => `“${data.queries[row]}” reading “${data.keys[column]}”`;
  const titleOf = (row, column) => `${pair(row, column)}: ${number(panel.grid.at(row, column))}`;
  const between = panel.columns === "keys" ? { titleOf } : {};
  const cells = heatmap({ ...picture, geometry, ...between, chosen: cellIn(panel, chosen, data) });
  const width = Math.max(geometry.width, after + measure(size, 12));
  return { parts: [...parts, group(0, CAPTION, ...cells)], width, height: CAPTION + geometry.height };
}

// The same place for cells of whole pixels: no seam shows between them.
function whole({ rows, columns, left, top, right, bottom, width, height, wide, high }) {
  const size = (pixels) => Math.max(1, Math.floor(pixels)), corner = { left: Math.ceil(left), top: Math.ceil(top) };
  const around = { after: Math.ceil(width - right), below: Math.ceil(height - bottom) };
  return new Geometry({ rows, columns, ...corner, wide: size(wide), high: size(high), ...around });
}
