// Downloads of a Plotly figure: its numbers, its cells' colours.

import assert from "node:assert/strict";
import test from "node:test";

import { csvOf } from "../../headlight/components/export/csv.js";
import { rampOf } from "../../headlight/components/figure_downloads/cells.js";
import { plainText, tableOf } from "../../headlight/components/figure_downloads/numbers.js";

const SHOWN = { visible: true, xaxis: "x", yaxis: "y" };
const MAP = {
  traces: [
    {
      ...SHOWN, type: "heatmap", x0: 0, dx: 1, colorbar: { title: { text: "weight" } },
      z: [Float32Array.of(0.1, NaN, 0.25), Float32Array.of(1, 0, 1 / 3)],
    },
    { ...SHOWN, type: "scatter", mode: "text", x: [0], y: [0], text: ["0.1"] },
  ],
  layout: {
    xaxis: { title: { text: "key" }, tickvals: [0, 1, 2], ticktext: ["=1+1", "&lt;/s&gt;", 'a,"b'] },
    yaxis: { title: { text: "query" }, tickvals: [0, 1], ticktext: ["-", "▁to"] },
  },
};
const CURVES = {
  traces: [
    { ...SHOWN, type: "scatter", name: "loss", x: [1, 2], y: Float64Array.of(0.5, -0.25) },
    { ...SHOWN, type: "scatter", x: [1, 2], y: [null, 4] },
    { ...SHOWN, type: "scatter", visible: "legendonly", x: [1], y: [9] },
  ],
  layout: { xaxis: { title: { text: "step" } }, yaxis: { _input: {}, title: { text: "Click to enter Y axis title" } } },
};

test("a heatmap becomes a row per cell that is not blank, curves a row per visible point", () => {
  assert.equal(csvOf(tableOf(MAP)), [
    "row,query,column,key,weight", "0,'-,0,'=1+1,0.1", '0,\'-,2,"a,""b",0.25', "1,▁to,0,'=1+1,1", "1,▁to,1,</s>,0",
    '1,▁to,2,"a,""b",0.33333334', "",
  ].join("\n"));
  assert.equal(csvOf(tableOf(CURVES)), "series,step,y\nloss,1,0.5\nloss,2,-0.25\n2,2,4\n");
});

test("no cell of a table is a formula, and without the added apostrophes every text is as before", () => {
  const texts = ["=1", "-", "+", "@a", "'", "''", "'=1", "''-", "'a", "a=1", "▁-"];
  const [, ...cells] = csvOf({ header: ["token"], rows: texts.map((text) => [text]) }).trimEnd().split("\n");
  assert.deepEqual(cells.map((cell) => cell.replace(/^'(?='*[=+\-@\t\r])/, "")), texts);
  assert.equal(cells.some((cell) => /^[=+\-@\t\r]/.test(cell)), false);
});

test("labels that an axis leaves out are in the table, and axes of one title have different names", () => {
  const { traces } = MAP, axis = { title: { text: "token" }, tickvals: [0], ticktext: ["a"] };
  const layout = { xaxis: axis, yaxis: axis, meta: { rows: ["a", "b"], columns: ["a", "b", "c"] } };
  const { header, rows } = tableOf({ traces, layout });
  assert.deepEqual(header, ["row", "token, row", "column", "token, column", "weight"]);
  assert.deepEqual(rows.at(-1).slice(0, 4), [1, "b", 2, "c"]);
  assert.equal(plainText("Layer 1<br>“&lt;b&gt;&amp;lt;”: <b>0.5</b>"), "Layer 1\n“<b>&lt;”: 0.5");
});

test("a colour is interpolated between the two stops around it, with its opacity", () => {
  const scale = [[0, "rgba(0, 10, 20, 0)"], [0.5, "rgb(100, 10, 20)"], [0.5, "#ff0000"], [1, "rgb(55, 0, 0)"]];
  const colours = [-1, -0.5, 0.5, 7].map(rampOf(scale, -1, 1));
  assert.deepEqual(colours, [[0, 10, 20, 0], [50, 10, 20, 0.5], [155, 0, 0, 1], [55, 0, 0, 1]]);
  assert.equal(rampOf([[0, "red"], [1, "blue"]], 0, 1), null);
});
