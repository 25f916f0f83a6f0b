// A step in a caption and in numbers: what it takes and what it makes of that.

import { tableOfMatrices } from "../export/csv.js";
import { inputsOf, panelsOf } from "./panels.js";
import { say } from "./texts.toml";

// The figure for the download menu, without its picture. `chosen` is {query, key, dimension}.
export function figureOf({ data, step, chosen }) {
  const panels = panelsOf(step, data);
  const matrices = () => matricesOf([...panels, ...inputsOf(step, data)], data);
  const isByKey = panels[0].columns === "keys";
  const query = data.queries[chosen.query], key = data.keys[chosen.key], dimension = chosen.dimension + 1;
  const frames = isByKey ? say("key_framed", { query, key }) : say("dimension_framed", { query, dimension });
  return {
    name: `attention_${step.name}`,
    label: `${step.title}: ${data.block}`,
    caption: [`${step.title}. ${data.block}.`, step.purpose, step.finding, frames].filter(Boolean).join(" "),
    table: () => tableOfMatrices(matrices(), { row: say("row"), column: say("column"), value: say("value") }),
    matrices,
  };
}

const snakeCase = (name) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

// The matrices of the panels by the names of their arrays, each once; masked cells are NaN.
function matricesOf(panels, { queries, keys, head, headSize }) {
  const grids = new Map();
  for (const { array, grid, rows, columns, masked } of panels) {
    if (grids.has(array)) continue;
    const first = columns === "head" ? head * headSize + 1 : 1;
    const dimensions = Array.from({ length: grid.columns }, (_, at) => say("dimension", { number: first + at }));
    const values = Array.from({ length: grid.rows }, (_, row) => {
      return Array.from(grid.row(row), (value, column) => (masked?.(row, column) ? NaN : value));
    });
    const labels = { rows: rows === "keys" ? keys : queries, columns: columns === "keys" ? keys : dimensions };
    grids.set(array, { name: snakeCase(array), values, ...labels });
  }
  return [...grids.values()];
}
