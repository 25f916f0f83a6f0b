// Files to save: texts in SVG, tables, archives. The browser's tests look at whole pictures.

import assert from "node:assert/strict";
import { test } from "node:test";

import { figureOf as stepFigure } from "../../headlight/components/attention_steps/picture.js";
import { csvOf, tableOfMatrices } from "../../headlight/components/export/csv.js";
import { filesOf } from "../../headlight/components/export/npz.js";
import { shape, svgText } from "../../headlight/components/export/svg.js";
import { Grid } from "../../headlight/components/lib/format.js";
import { replayFigure } from "../../headlight/components/replay_player/picture.js";
import { Snapshots } from "../../headlight/components/replay_player/snapshots.js";

test("hostile text is escaped in a picture", () => {
  const hostile = svgText(shape("text", { x: 1, "data-token": '"<&' }, '</script><img src=x onerror="hurt()">&\u0001'));
  const escaped = "&lt;/script&gt;&lt;img src=x onerror=&quot;hurt()&quot;&gt;&amp;\uFFFD";
  assert.equal(hostile, `<text x="1" data-token="&quot;&lt;&amp;">${escaped}</text>`);
});

test("matrices become a row per cell that is not blank, and files named by matrix", () => {
  const matrices = [
    { name: "one", rows: ["=1+1", "b"], columns: ["x", 'y"'], values: [[0.5, NaN], [1, -Infinity]] },
    { name: "two", rows: ["c"], columns: ["x"], values: [Float32Array.of(0.1)] },
  ];
  const names = { row: "query", column: "key", value: "weight" }, [first, second] = matrices;
  assert.equal(csvOf(tableOfMatrices([first], names)), [
    "row,query,column,key,weight", "0,'=1+1,0,x,0.5", "1,b,0,x,1", '1,b,1,"y""",-Infinity', "",
  ].join("\n"));
  const { header, rows } = tableOfMatrices(matrices, names);
  assert.deepEqual([header[0], rows.at(-1)], ["matrix", ["two", 0, "c", 0, "x", Math.fround(0.1)]]);
  assert.deepEqual(Object.keys(filesOf([first])), ["values", "rows", "columns"]);
  const files = Object.keys(filesOf([first, { ...second, name: undefined }]));
  assert.deepEqual(files, ["values_one", "rows_one", "columns_one", "values_2", "rows_2", "columns_2"]);
});

test("masked cells are blank in the numbers of a step and of a training", () => {
  const grid = (rows) => new Grid(rows.length, rows[0].length, Float32Array.from(rows.flat()));
  const grids = { unmasked: grid([[1, 0], [1, 1]]), weights: grid([[1, 0], [0.25, 0.75]]) };
  const block = { block: "Decoder", queries: ["a", "b"], keys: ["a", "b"], head: 1, headSize: 2, grids };
  const panel = { array: "weights", rows: "queries", columns: "keys", scale: "weights" };
  const step = { name: "softmax", title: "Softmax", purpose: "", finding: "", panels: [panel], inputs: [] };
  const { table } = stepFigure({ data: block, step, chosen: { query: 0, key: 1, dimension: 3 } });
  assert.deepEqual(table().rows.map((row) => row.at(-1)), [1, 0.25, 0.75]);
  const data = {
    layers: 1, heads: 1, layer: 0, head: 0, steps: [0, 1500], queries: ["a", "b"], keys: ["a", "b"], causal: true,
    attention: { weights: Uint16Array.of(65535, 9, 13107, 52428, 65535, 9, 0, 65535) },
  };
  const replay = replayFigure(data, new Snapshots(data)).table().rows.map((row) => [row[0], row.at(-1)]);
  assert.deepEqual(replay, [[0, 1], [0, 0.2], [0, 0.8], [1500, 1], [1500, 0], [1500, 1]]);
});
