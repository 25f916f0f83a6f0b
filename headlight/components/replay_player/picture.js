// The chosen head in captions and in numbers: at one snapshot, and at all of them.

import { tableOfMatrices } from "../export/csv.js";
import { say } from "./texts.toml";

const lowered = (text) => text[0].toLowerCase() + text.slice(1);

// The numbers of one snapshot: {name, rows, columns, values}, NaN where a cell is masked.
function matrixAt(data, snapshots, at) {
  const values = data.queries.map((_, row) => data.keys.map((_, column) => {
    return snapshots.isMasked(row, column) ? NaN : snapshots.weight(at, data, row, column);
  }));
  return { name: `update_${data.steps[at]}`, values, rows: data.queries, columns: data.keys };
}

const namesOf = ({ predicts }) => ({
  row: say(predicts ? "fed" : "query"), column: say("key"), value: say("weight"),
});

export function headFigure(data, snapshots, at) {
  const { kindName: kind, name: head, axes, texts, predicts } = data, place = lowered(texts[at].place);
  const matrices = () => [matrixAt(data, snapshots, at)];
  return {
    name: `training_update_${data.steps[at]}`,
    label: say("label", { kind, head, place }),
    caption: say(predicts ? "caption_predicted" : "caption", { kind, head, place, axes, pattern: texts[at].head }),
    table: () => tableOfMatrices(matrices(), namesOf(data)),
    matrices,
  };
}

export function replayFigure(data, snapshots) {
  const { kindName: kind, name: head, axes, steps } = data, count = steps.length;
  const matrices = () => steps.map((_, at) => matrixAt(data, snapshots, at));
  const table = () => {
    const tables = matrices().map((matrix) => tableOfMatrices([matrix], namesOf(data)));
    const rows = tables.flatMap((each, at) => each.rows.map((row) => [steps[at], ...row]));
    return { header: [say("update"), ...tables[0].header], rows };
  };
  return {
    name: "training_of_a_head",
    label: say("all_label", { kind, head, count }),
    caption: say("all_caption", { kind, head, count, first: steps[0], last: steps.at(-1), axes }),
    table,
    matrices,
  };
}
