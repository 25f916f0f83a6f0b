// Files to save: SVG from what a pen has drawn, tables, archives. The browser's tests look at whole pictures.

import assert from "node:assert/strict";
import { test } from "node:test";

import { figureOf as stepFigure } from "../../headlight/components/attention_steps/picture.js";
import { csvOf, tableOfMatrices } from "../../headlight/components/export/csv.js";
import { filesOf } from "../../headlight/components/export/npz.js";
import { SvgPen } from "../../headlight/components/export/pen.js";
import { drawingOf, painted, shape, svgFile, svgText } from "../../headlight/components/export/svg.js";
import { Grid } from "../../headlight/components/lib/format.js";
import { Geometry, paintHeatmap } from "../../headlight/components/lib/heatmap.js";
import { replayFigure } from "../../headlight/components/replay_player/picture.js";
import { Snapshots } from "../../headlight/components/replay_player/snapshots.js";

// All shapes of a tag, the outer ones first.
function every(parts, tag) {
  return parts.flatMap((part) => {
    return part.tag ? [...(part.tag === tag ? [part] : []), ...every(part.children, tag)] : [];
  });
}

const textsOf = (parts, tag = "text") => every(parts, tag).map(({ children }) => children.at(-1));
const valuesOf = (shapes, name) => shapes.map(({ attributes }) => attributes[name]);

test("a file has its size, texts and fonts, hostile text is escaped, and colours are apart from their opacity", () => {
  const hostile = svgText(shape("text", { x: 1, "data-token": '"<&' }, '</script><img src=x onerror="hurt()">&\u0001'));
  const escaped = "&lt;/script&gt;&lt;img src=x onerror=&quot;hurt()&quot;&gt;&amp;\uFFFD";
  assert.equal(hostile, `<text x="1" data-token="&quot;&lt;&amp;">${escaped}</text>`);
  const drawing = drawingOf([shape("rect", { width: 0 })], { left: -2, top: 5, right: 20.5, bottom: 9 });
  const { text, width, height } = svgFile({ title: "A <title>", caption: "A & B", ...drawing }, "@font-face {}");
  assert.deepEqual([width, height], [39, 20]);
  for (const part of [
    'width="39" height="20" viewBox="0 0 39 20"', '<g transform="translate(10 3)"><rect width="0"/></g></svg>',
    "<title>A &lt;title&gt;</title><desc>A &amp; B</desc><style>@font-face {}</style>", 'fill="rgb(255, 255, 255)"/>',
  ]) assert.ok(text.includes(part), part);
  assert.deepEqual(painted("fill", "rgba(1, 2, 3, 0.5)", 0.5), { fill: "rgb(1, 2, 3)", "fill-opacity": 0.25 });
  assert.deepEqual(painted("stroke", "#fff"), { stroke: "#fff", "stroke-opacity": 1 });
  assert.deepEqual(painted("fill", "rgba(0, 0, 0, 0)"), { fill: "none" });
});

const VALUES = [[0, 0.5, NaN], [1, 0.25, 0.25]];
const PICTURE = {
  geometry: new Geometry({ rows: 2, columns: 3, left: 40, top: 30, wide: 36, high: 20, after: 5, below: 5 }),
  rows: ["▁a", "b"], columns: ["x", "▁much_too_long_a_key", "z"], share: (row, column) => VALUES[row][column],
};

test("a pen for files draws a box with its title for each cell that stands apart", () => {
  const pen = new SvgPen(), valueText = (row, column, short) => `${VALUES[row][column]}${short}`;
  const titleOf = (row, column) => `${row},${column}`, masked = (row, column) => Number.isNaN(VALUES[row][column]);
  paintHeatmap(pen, { ...PICTURE, gap: 2, valueText, titleOf, masked });
  const boxes = every(pen.parts, "rect").filter(({ children }) => children.length);
  assert.deepEqual(valuesOf(boxes, "x"), [41, 77, 41, 77, 113]);
  assert.deepEqual(valuesOf(boxes, "fill-opacity"), [0.03, 0.72, 1, 0.375, 0.375]);
  assert.deepEqual(textsOf(pen.parts, "title"), ["0,0", "0,1", "1,0", "1,1", "1,2"]);
  assert.deepEqual(valuesOf(every(pen.parts, "path"), "d"), ["M114 48L146 32"], "masked cells are hatched");
  const texts = textsOf(pen.parts), slanted = every(pen.parts, "text").at(-1).attributes.transform;
  assert.equal(texts[0], "0false", "there is room for whole numbers");
  assert.ok(texts.includes("▁much_too_l…"));
  assert.equal(slanted, "translate(134 25) rotate(-60)");
});

test("adjacent cells are one path per colour, neighbours of a colour one box of it", () => {
  const pen = new SvgPen(), around = (row, column) => [[-1, 0, NaN], [1, 0.5, 0.5]][row][column];
  paintHeatmap(pen, { ...PICTURE, columns: null, first: 33, share: around, signed: true });
  const [cells] = every(pen.parts, "g"), { fill, d } = cells.children[1].attributes;
  assert.equal(cells.attributes.transform, "translate(40 30) scale(36 20)");
  assert.deepEqual([fill, d], ["rgb(0, 133, 122)", "M1 0h1v1h-1z"]);
  assert.deepEqual(valuesOf(cells.children, "fill-opacity"), [0.72, 0.03, 0.72, 0.375]);
  assert.equal(cells.children[3].attributes.d, "M1 1h2v1h-2z");
  assert.deepEqual(textsOf(pen.parts).slice(2), ["33", "34", "35"]);
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
