// The chosen head as pictures to save, with its weights: at one snapshot, and at all of them side by side.

import { heatmap } from "../export/matrix.js";
import { tableOfMatrices } from "../export/csv.js";
import { group, placed, write } from "../export/svg.js";
import { Geometry, rowLabelsWidth, slantedHeight } from "../lib/heatmap.js";

const CELL = 34, NOTE = 120; // pixels of the map
const MOST = 32, IN_A_ROW = 8, WIDE = 96, LEAST_CELL = 2, APART = 10, HEADING = 18; // of the maps side by side

const lowered = (text) => text[0].toLowerCase() + text.slice(1);

// The numbers of one snapshot: {name, rows, columns, values}, NaN where a cell is masked.
function matrixAt(data, snapshots, at) {
  const values = data.queries.map((_, row) => data.keys.map((_, column) => {
    return snapshots.isMasked(row, column) ? NaN : snapshots.weight(at, data, row, column);
  }));
  return { name: `step_${data.steps[at]}`, values, rows: data.queries, columns: data.keys };
}

const namesOf = ({ predicts }) => ({ row: predicts ? "query: fed token" : "query", column: "key", value: "weight" });

export function headFigure(data, snapshots, at) {
  const { kind, name, axes, texts, predicts } = data, { place, head } = texts[at];
  const beside = predicts ? " On the right, the token that a row predicts." : "";
  const matrix = matrixAt(data, snapshots, at);
  return {
    name: `training_step_${data.steps[at]}`,
    label: `${kind}, ${name}, at ${lowered(place)}`,
    caption: `${kind}, ${name}, at ${lowered(place)} of its training; ${axes}.${beside} ${head}`,
    drawing: () => headDrawing(data, snapshots, at, matrix),
    table: () => tableOfMatrices([matrix], namesOf(data)),
    matrices: () => [matrix],
  };
}

function headDrawing({ predicts, layer, head }, snapshots, at, { values, rows, columns }) {
  const geometry = new Geometry({
    rows: rows.length, columns: columns.length, left: rowLabelsWidth(rows), top: slantedHeight(columns),
    wide: CELL, after: predicts ? NOTE : CELL, below: 2,
  });
  const share = (row, column) => values[row][column];
  const valueText = (row, column) => (share(row, column) >= 0.995 ? "1" : share(row, column).toFixed(2).slice(1));
  const titleOf = (row, column) => snapshots.cellText(at, { layer, head, row, column });
  const parts = heatmap({ geometry, rows, columns, notes: predicts, share, valueText, titleOf, gap: 2 });
  if (predicts) {
    const y = geometry.top - 6, fed = write("fed", geometry.left - 6, y, { "text-anchor": "end" });
    parts.push(fed, write("to predict", geometry.right + 6, y));
  }
  return placed([{ parts, x: 0, y: 0, width: geometry.width, height: geometry.height }]);
}

// All snapshots; of very many, some, as far apart as possible.
export function replayFigure(data, snapshots) {
  const count = data.steps.length, shown = Math.min(count, MOST), share = (count - 1) / Math.max(1, shown - 1);
  const found = Array.from({ length: shown }, (_, at) => Math.round(at * share));
  const matrices = () => found.map((at) => matrixAt(data, snapshots, at));
  const { kind, name, axes, steps } = data;
  return {
    name: "training_of_a_head",
    label: `${kind}, ${name}, at ${shown} snapshots of the training`,
    caption: `${kind}, ${name}, at ${shown} snapshots of the training, from step ${steps[0].toLocaleString("en")} to ` +
      `step ${steps.at(-1).toLocaleString("en")}; ${axes}. The stronger the colour of a cell, ` +
      "the larger the weight, from 0 to 1.",
    drawing: () => replayDrawing(found, steps, matrices()),
    table: () => replayTable(found, steps, matrices(), namesOf(data)),
    matrices,
  };
}

function replayDrawing(found, steps, matrices) {
  return placed(matrices.map(({ values, rows, columns }, place) => {
    const cell = Math.max(LEAST_CELL, Math.floor(WIDE / Math.max(rows.length, columns.length)));
    const size = { rows: rows.length, columns: columns.length };
    const geometry = new Geometry({ ...size, left: 0, top: 0, wide: cell, after: 1, below: 1 });
    const map = heatmap({ geometry, rows: [], columns: [], share: (row, column) => values[row][column] });
    const label = write(`step ${steps[found[place]].toLocaleString("en")}`, geometry.right / 2, HEADING - 6, {
      "text-anchor": "middle",
    });
    const width = Math.max(geometry.width, WIDE * 0.75), height = HEADING + geometry.height;
    const x = (place % IN_A_ROW) * (width + APART), y = Math.floor(place / IN_A_ROW) * (height + APART);
    return { parts: [label, group(0, HEADING, ...map)], x, y, width, height };
  }));
}

function replayTable(found, steps, matrices, names) {
  const tables = matrices.map((matrix) => tableOfMatrices([matrix], names));
  const rows = tables.flatMap((table, place) => table.rows.map((row) => [steps[found[place]], ...row]));
  return { header: ["step", ...tables[0].header], rows };
}
