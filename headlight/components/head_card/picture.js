// The caption of a picture of a head's examples, and their numbers.

// The figure for the download menu, without its picture.
export function figureOf(data, examples) {
  const rows = examples.flatMap(({ label, keys, queries, cells, weights }, number) => cells.map((cell, at) => {
    const row = Math.floor(cell / keys.length), column = cell % keys.length;
    return [number + 1, label, row, queries[row], column, keys[column], weights[at]];
  }));
  return {
    name: "head_examples",
    label: `Examples of ${data.name}`,
    caption: `What ${data.name} reads. ${data.headline} ${data.rows} The larger a weight, the thicker its line; ` +
      `below each token stands its greatest weight. ${data.sure} ${data.of}`.trimEnd(),
    table: () => ({ header: ["example", "of", "row", "asks", "column", "is read", "weight"], rows }),
  };
}
