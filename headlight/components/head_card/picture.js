// The caption of a picture of a head's examples, and their numbers.

import { say } from "./texts.toml";

const COLUMNS = ["example", "of", "row", "asks", "column", "read", "weight"];

// The figure for the download menu, without its picture.
export function figureOf(data, examples) {
  const rows = examples.flatMap(({ label, keys, queries, cells, weights }, number) => cells.map((cell, at) => {
    const row = Math.floor(cell / keys.length), column = cell % keys.length;
    return [number + 1, label, row, queries[row], column, keys[column], weights[at]];
  }));
  return {
    name: "head_examples",
    label: say("label", { head: data.name }),
    caption: say("caption", {
      head: data.name, headline: data.headline, rows: data.rows, sure: data.sure, of: data.of,
    }).trimEnd(),
    table: () => ({ header: COLUMNS.map((column) => say(`column_${column}`)), rows }),
  };
}
