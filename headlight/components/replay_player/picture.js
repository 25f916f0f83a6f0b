// The chosen head in captions and in numbers: at one snapshot, and at all of them.

import { tableOfMatrices } from "../export/csv.js";

const lowered = (text) => text[0].toLowerCase() + text.slice(1);

// The numbers of one snapshot: {name, rows, columns, values}, NaN where a cell is masked.
function matrixAt(data, snapshots, at) {
  const values = data.queries.map((_, row) => data.keys.map((_, column) => {
    return snapshots.isMasked(row, column) ? NaN : snapshots.weight(at, data, row, column);
  }));
  return { name: `update_${data.steps[at]}`, values, rows: data.queries, columns: data.keys };
}

const namesOf = ({ predicts }) => ({ row: predicts ? "query: fed token" : "query", column: "key", value: "weight" });

export function headFigure(data, snapshots, at) {
  const { kindName: kind, name, axes, texts, predicts } = data, { place, head } = texts[at];
  const beside = predicts ? " On the right, the token that a row predicts." : "";
  const matrices = () => [matrixAt(data, snapshots, at)];
  return {
    name: `training_update_${data.steps[at]}`,
    label: `${kind}, ${name}, at ${lowered(place)}`,
    caption: `${kind}, ${name}, at ${lowered(place)} of its training; ${axes}.${beside} ${head}`,
    table: () => tableOfMatrices(matrices(), namesOf(data)),
    matrices,
  };
}

export function replayFigure(data, snapshots) {
  const { kindName: kind, name, axes, steps } = data, count = steps.length;
  const matrices = () => steps.map((_, at) => matrixAt(data, snapshots, at));
  const table = () => {
    const tables = matrices().map((matrix) => tableOfMatrices([matrix], namesOf(data)));
    const rows = tables.flatMap((each, at) => each.rows.map((row) => [steps[at], ...row]));
    return { header: ["update", ...tables[0].header], rows };
  };
  return {
    name: "training_of_a_head",
    label: `${kind}, ${name}, at ${count} snapshots of the training`,
    caption: `${kind}, ${name}, at ${count} snapshots of the training, from update ` +
      `${steps[0].toLocaleString("en")} to update ${steps.at(-1).toLocaleString("en")}; ${axes}. ` +
      "The stronger the colour of a cell, the larger the weight, from 0 to 1.",
    table,
    matrices,
  };
}
