// Files written from numbers: SVG text, heatmaps as boxes, tables, archives' names.

import assert from "node:assert/strict";
import { test } from "node:test";

import { csvOf, tableOfMatrices } from "../../headlight/components/export/csv.js";
import { heatmap } from "../../headlight/components/export/matrix.js";
import { filesOf } from "../../headlight/components/export/npz.js";
import { placed, shape, svgFile, svgText, write, writeFormula } from "../../headlight/components/export/svg.js";
import { Geometry } from "../../headlight/components/lib/heatmap.js";
import { every, numbersOf, textsOf, within } from "./shapes.js";

const HOSTILE = '</script><img src=x onerror="hurt()">&\u0001';

test("texts and attributes are escaped, and what XML cannot hold is replaced", () => {
  assert.equal(
    svgText(write(HOSTILE, 1.23456, 2, { "data-token": '"<&' })),
    '<text x="1.235" y="2" data-token="&quot;&lt;&amp;">' +
      "&lt;/script&gt;&lt;img src=x onerror=&quot;hurt()&quot;&gt;&amp;\uFFFD</text>",
  );
  assert.equal(svgText(shape("rect", { width: 0 })), '<rect width="0"/>');
});

test("a file has its size, its title and its caption, white paper, and fonts where they are brought along", () => {
  const about = { title: "A <title>", caption: "A & B", width: 30, height: 20, parts: [write("x", 1, 2)] };
  const { text, width, height } = svgFile(about, "@font-face {}");
  assert.deepEqual([width, height], [30, 20]);
  assert.match(text, /^<svg xmlns="http:\/\/www\.w3\.org\/2000\/svg" width="30" height="20" viewBox="0 0 30 20" /);
  assert.match(text, /<title>A &lt;title&gt;<\/title><desc>A &amp; B<\/desc><style>@font-face \{\}<\/style>/);
  assert.match(text, /<rect class="paper" width="30" height="20" fill="rgb\(255, 255, 255\)"\/><text x="1" y="2">x</);
  assert.ok(!svgFile(about).text.includes("<style"));
});

test("drawings side by side have room around them", () => {
  const { parts, width, height } = placed([
    { parts: [], x: 0, y: 0, width: 100, height: 10.5 }, { parts: [], x: 120, y: 5, width: 30, height: 50 },
  ]);
  assert.deepEqual([width, height], [166, 71]);
  assert.deepEqual(parts.map(({ attributes }) => attributes.transform), ["translate(8 8)", "translate(128 13)"]);
});

test("an index stands lower and an exponent higher, and after both the line goes on where it was", () => {
  const { children } = writeFormula("K<sub>h</sub><sup>T</sup> + 1", 0, 0, 20);
  assert.deepEqual(textsOf(children, "tspan"), ["K", "h", "T", " + 1"]);
  assert.deepEqual(numbersOf(children, "dy"), [0, 5, -13, 8]);
  assert.deepEqual(numbersOf(children, "font-size"), [20, 15, 15, 20]);
});

const VALUES = [[0, 0.5, NaN], [1, 0.25, 0.75]];
const GEOMETRY = new Geometry({ rows: 2, columns: 3, left: 40, top: 30, wide: 36, high: 20, after: 5, below: 5 });
const PICTURE = {
  geometry: GEOMETRY, rows: ["▁a", "b"], columns: ["x", "▁much_too_long_a_key", "z"],
  share: (row, column) => VALUES[row][column], valueText: (row, column, short) => `${VALUES[row][column]}${short}`,
  titleOf: (row, column) => `${row},${column}`, masked: (row, column) => Number.isNaN(VALUES[row][column]),
};

test("a heatmap has a box for each cell in the colour of its weight, blank ones are hatched", () => {
  const parts = heatmap({ ...PICTURE, chosen: { row: 1, column: 2 } }), boxes = every(within(parts, "cells"), "rect");
  assert.deepEqual(numbersOf(boxes, "x"), [40, 76, 40, 76, 112]);
  assert.deepEqual(numbersOf(boxes, "y"), [30, 30, 50, 50, 50]);
  assert.deepEqual(numbersOf(boxes, "fill-opacity"), [0.03, 0.72, 1, 0.375, 0.86]);
  assert.equal(boxes[2].attributes.fill, "rgb(8, 48, 107)");
  assert.deepEqual(textsOf(parts, "title"), ["0,0", "0,1", "1,0", "1,1", "1,2"]);
  assert.equal(textsOf(parts)[0], "0false", "there is room for whole numbers");
  const hatched = every(parts, "path").find(({ attributes }) => attributes.class === "masked");
  assert.equal(hatched.attributes.d, "M114 48L146 32");
  const frames = every(parts, "rect").filter(({ attributes }) => attributes.class === "chosen");
  assert.deepEqual(frames.map(({ attributes: { x, y, width, height } }) => [x, y, width, height]), [
    [40, 50, 108, 20], [112, 30, 36, 40],
  ]);
  assert.ok(textsOf(parts).includes("▁much_too_l…") && textsOf(parts).includes("▁a"));
});

test("values around zero have two colours, and columns without labels are numbered", () => {
  const parts = heatmap({
    geometry: GEOMETRY, rows: [], first: 33, frame: [1, 2], signed: true,
    share: (row, column) => [[-1, 0, 1], [NaN, 0, 0]][row][column],
  });
  const boxes = every(within(parts, "cells"), "rect");
  assert.deepEqual(boxes.slice(0, 3).map(({ attributes }) => attributes.fill), [
    "rgb(31, 119, 224)", "rgb(232, 113, 10)", "rgb(232, 113, 10)",
  ]);
  assert.equal(boxes.length, 5);
  assert.deepEqual(textsOf(parts), ["33", "34", "35"]);
  assert.deepEqual(parts.at(-1).attributes.x, 76);
});

const MATRICES = [
  { name: "one", rows: ["=1+1", "b"], columns: ["x", 'y"'], values: [[0.5, NaN], [1, -Infinity]] },
  { name: "two", rows: ["c"], columns: ["x"], values: [Float32Array.of(0.1)] },
];

test("matrices become a row a cell, without what is blank, and no cell is a formula", () => {
  const names = { row: "query", column: "key", value: "weight" };
  assert.equal(csvOf(tableOfMatrices(MATRICES.slice(0, 1), names)), [
    "row,query,column,key,weight", "0,'=1+1,0,x,0.5", "1,b,0,x,1", '1,b,1,"y""",-Infinity', "",
  ].join("\n"));
  const several = tableOfMatrices(MATRICES, names);
  assert.deepEqual([several.header[0], several.rows.at(-1)], ["matrix", ["two", 0, "c", 0, "x", Math.fround(0.1)]]);
});

test("an archive's files are named by matrix where there are several", () => {
  assert.deepEqual(Object.keys(filesOf(MATRICES.slice(0, 1))), ["values", "rows", "columns"]);
  const two = Object.keys(filesOf([MATRICES[0], { ...MATRICES[1], name: undefined }]));
  assert.deepEqual(two, ["values_one", "rows_one", "columns_one", "values_2", "rows_2", "columns_2"]);
});
