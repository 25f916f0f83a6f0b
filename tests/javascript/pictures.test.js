// What is saved: files of SVG from what a pen has drawn, tables, archives. The browser's tests look at whole pictures.

import assert from "node:assert/strict";
import { test } from "node:test";

import { allHeadsFigure, chosenFigure } from "../../headlight/components/attention_explorer/picture.js";
import { ExplorerState, groupOf } from "../../headlight/components/attention_explorer/state.js";
import { KINDS } from "../../headlight/components/attention_explorer/story.js";
import { Attention, Shown } from "../../headlight/components/attention_explorer/weights.js";
import { KIND_NAMES } from "../../headlight/components/lib/words.js";
import { figureOf as steps } from "../../headlight/components/attention_steps/picture.js";
import { csvOf, tableOfMatrices } from "../../headlight/components/export/csv.js";
import { filesOf } from "../../headlight/components/export/npz.js";
import { SvgPen } from "../../headlight/components/export/pen.js";
import { drawingOf, painted, shape, svgFile, svgText } from "../../headlight/components/export/svg.js";
import { Geometry, paintHeatmap } from "../../headlight/components/lib/heatmap.js";
import { Grid } from "../../headlight/components/lib/format.js";
import { replayFigure } from "../../headlight/components/replay_player/picture.js";
import { Snapshots } from "../../headlight/components/replay_player/snapshots.js";
import { exampleFacts } from "./example.js";

const HOSTILE = '</script><img src=x onerror="hurt()">&\u0001';

// All shapes of a tag, the outer ones first.
function every(parts, tag) {
  return parts.flatMap((part) => {
    return part.tag ? [...(part.tag === tag ? [part] : []), ...every(part.children, tag)] : [];
  });
}

const textsOf = (parts, tag = "text") => every(parts, tag).map(({ children }) => children.at(-1));
const valuesOf = (shapes, name) => shapes.map(({ attributes }) => attributes[name]);

test("texts and attributes are escaped, and what XML cannot hold is replaced", () => {
  assert.equal(
    svgText(shape("text", { x: 1, "data-token": '"<&' }, HOSTILE)),
    '<text x="1" data-token="&quot;&lt;&amp;">' +
      "&lt;/script&gt;&lt;img src=x onerror=&quot;hurt()&quot;&gt;&amp;\uFFFD</text>",
  );
});

test("a file has its size, its title and its caption, white paper, and fonts where they are brought along", () => {
  const drawing = drawingOf([shape("rect", { width: 0 })], { left: -2, top: 5, right: 20.5, bottom: 9 });
  const about = { title: "A <title>", caption: "A & B", ...drawing };
  const { text, width, height } = svgFile(about, "@font-face {}");
  assert.deepEqual([width, height], [39, 20]);
  assert.match(text, /^<svg xmlns="http:\/\/www\.w3\.org\/2000\/svg" width="39" height="20" viewBox="0 0 39 20" /);
  assert.match(text, /<title>A &lt;title&gt;<\/title><desc>A &amp; B<\/desc><style>@font-face \{\}<\/style>/);
  assert.match(text, /fill="rgb\(255, 255, 255\)"\/><g transform="translate\(10 3\)"><rect width="0"\/><\/g><\/svg>$/);
  assert.ok(!svgFile(about).text.includes("<style"));
});

test("a colour and its opacity are told apart", () => {
  assert.deepEqual(painted("fill", "rgba(1, 2, 3, 0.5)", 0.5), { fill: "rgb(1, 2, 3)", "fill-opacity": 0.25 });
  assert.deepEqual(painted("stroke", "#fff"), { stroke: "#fff", "stroke-opacity": 1 });
  assert.deepEqual(painted("fill", "rgba(0, 0, 0, 0)"), { fill: "none" });
});

const VALUES = [[0, 0.5, NaN], [1, 0.25, 0.25]];
const PICTURE = {
  geometry: new Geometry({ rows: 2, columns: 3, left: 40, top: 30, wide: 36, high: 20, after: 5, below: 5 }),
  rows: ["▁a", "b"], columns: ["x", "▁much_too_long_a_key", "z"], share: (row, column) => VALUES[row][column],
};

test("a pen for files draws a box for each cell that stands apart, with its title", () => {
  const pen = new SvgPen(), valueText = (row, column, short) => `${VALUES[row][column]}${short}`;
  const titleOf = (row, column) => `${row},${column}`, masked = (row, column) => Number.isNaN(VALUES[row][column]);
  paintHeatmap(pen, { ...PICTURE, gap: 2, valueText, titleOf, masked });
  const boxes = every(pen.parts, "rect").filter(({ children }) => children.length);
  assert.deepEqual(valuesOf(boxes, "x"), [41, 77, 41, 77, 113]);
  assert.deepEqual(valuesOf(boxes, "fill-opacity"), [0.03, 0.72, 1, 0.375, 0.375]);
  assert.equal(boxes[2].attributes.fill, "rgb(8, 48, 107)");
  assert.deepEqual(textsOf(pen.parts, "title"), ["0,0", "0,1", "1,0", "1,1", "1,2"]);
  assert.deepEqual(valuesOf(every(pen.parts, "path"), "d"), ["M114 48L146 32"], "masked cells are hatched");
  const texts = textsOf(pen.parts);
  assert.equal(texts[0], "0false", "there is room for whole numbers");
  assert.ok(texts.includes("▁much_too_l…") && texts.includes("▁a"));
  const slanted = every(pen.parts, "text").at(-1).attributes.transform;
  assert.equal(slanted, "translate(134 25) rotate(-60)");
});

test("cells side by side are one path a colour, those that are neighbours one box of it", () => {
  const pen = new SvgPen(), around = (row, column) => [[-1, 0, NaN], [1, 0.5, 0.5]][row][column];
  paintHeatmap(pen, { ...PICTURE, columns: null, first: 33, share: around, signed: true });
  const [cells] = every(pen.parts, "g"), { fill, d } = cells.children[1].attributes;
  assert.equal(cells.attributes.transform, "translate(40 30) scale(36 20)");
  assert.deepEqual([fill, d], ["rgb(0, 133, 122)", "M1 0h1v1h-1z"]);
  assert.deepEqual(valuesOf(cells.children, "fill-opacity"), [0.72, 0.03, 0.72, 0.375]);
  assert.equal(cells.children[3].attributes.d, "M1 1h2v1h-2z");
  assert.deepEqual(textsOf(pen.parts).slice(2), ["33", "34", "35"]);
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

test("masked cells are blank in the numbers of a step and of a training", () => {
  const grid = (rows) => new Grid(rows.length, rows[0].length, Float32Array.from(rows.flat()));
  const grids = { unmasked: grid([[1, 0], [1, 1]]), weights: grid([[1, 0], [0.25, 0.75]]) };
  const block = { block: "Decoder", queries: ["a", "b"], keys: ["a", "b"], head: 1, headSize: 2, grids };
  const panel = { array: "weights", rows: "queries", columns: "keys", scale: "weights" };
  const step = { name: "softmax", title: "Softmax", purpose: "", finding: "", panels: [panel], inputs: [] };
  const { caption, table } = steps({ data: block, step, chosen: { query: 0, key: 1, dimension: 3 } });
  assert.equal(caption, "Softmax. Decoder. Framed: the query “a” and the key “b”.");
  assert.deepEqual(table().rows.map((row) => row.at(-1)), [1, 0.25, 0.75]);
  const data = {
    layers: 1, heads: 1, layer: 0, head: 0, steps: [0, 1500], queries: ["a", "b"], keys: ["a", "b"], causal: true,
    attention: { weights: Uint16Array.of(65535, 9, 13107, 52428, 65535, 9, 0, 65535) },
  };
  const replay = replayFigure(data, new Snapshots(data)).table().rows.map((row) => [row[0], row.at(-1)]);
  assert.deepEqual(replay, [[0, 1], [0, 0.2], [0, 0.8], [1500, 1], [1500, 0], [1500, 1]]);
});

const attention = new Attention(exampleFacts());
const stateWith = ({ kind = "cross", ...some }) => {
  return Object.assign(new ExplorerState(() => {}), { heads: [{ kind, layer: 0, head: 0 }], ...some });
};

test("all heads are drawn where their layer and head say, and written with every weight", () => {
  const state = stateWith({ kind: "decoder", label: "previous" }), groups = [groupOf(attention, "decoder", state)];
  const { label, caption, drawing, table, files } = allHeadsFigure({ attention, state, groups });
  assert.equal(label, "All heads: Masked decoder self-attention");
  assert.equal(
    caption,
    "All heads, Masked decoder self-attention: layers from top to bottom, heads from left to right. Colours from 0 " +
      "to 1. Below a head: its pattern, where it has one. Rows (queries): decoder steps, labelled by " +
      "input → output token. Columns (keys): decoder input tokens. Faint: heads that are not labelled “previous”. " +
      "Its files hold each weight as a multiple of 1/50,000.",
  );
  const tiles = every(drawing().parts, "g").slice(1);
  assert.match(textsOf([tiles[3]], "title")[0], /^Masked decoder self-attention, layer 2, head 2: no clear pattern/);
  // The weights 1; 0.5 0.5; 0.2 0.3 0.5 and masked cells, all faint: none is of that pattern.
  const paths = every([tiles[0]], "path").map(({ attributes: { d, "fill-opacity": opaque } }) => [d, opaque]);
  assert.deepEqual(paths, [
    ["M0 0h1v1h-1z", 0.3], ["M0 1h2v1h-2zM2 2h1v1h-1z", 0.216], ["M0 2h1v1h-1z", 0.092], ["M1 2h1v1h-1z", 0.133],
  ]);
  assert.deepEqual(table().rows[5], ["decoder", 0, 0, 2, 2, "s", "</s>", "s", 0.5]);
  const named = ["decoder", "decoder_query_tokens", "decoder_output_tokens", "decoder_key_tokens"];
  assert.deepEqual(Object.keys(files()), named);
});

test("heads that are sorted say so, and three kinds have their names", () => {
  const state = stateWith({ sort: "confidence", scale: "per map", kinds: "all" });
  const groups = KINDS.map((name) => ({ ...groupOf(attention, name, state), title: KIND_NAMES[name] }));
  const { caption, drawing } = allHeadsFigure({ attention, state, groups });
  assert.match(caption, /: sorted by confidence, where a kind has it, from the largest\. /);
  assert.match(caption, /Colours from 0 to each head's largest weight\. Below a head: layer\.head, confidence, /);
  assert.match(caption, /Cross-attention: Rows \(queries\): decoder steps, labelled by input → output token\. /);
  const entropy = stateWith({ kind: "cross", sort: "entropy", least: 50 });
  const ofEntropy = allHeadsFigure({ attention, state: entropy, groups: [groupOf(attention, "cross", entropy)] });
  assert.match(ofEntropy.caption, /sorted by entropy, from the smallest\. .* not with entropy at most 2\.00 nats\. /);
  const texts = textsOf(drawing().parts);
  for (const title of Object.values(KIND_NAMES)) assert.ok(texts.includes(title));
  assert.deepEqual(texts.filter((text) => /^\d\.\d$/.test(text)).slice(0, 4), ["1.2", "1.1", "2.2", "2.1"]);
});

test("the chosen heads are drawn as map or as lines, and what is left out is not in their numbers", () => {
  const state = stateWith({ kind: "encoder", top: 60 });
  const shown = new Shown(attention, "encoder", [{ layer: 0, head: 0 }], state);
  const figure = (each) => chosenFigure({ attention, state, shown, each, title: "A head" });
  const { caption, drawing, table, matrices } = figure(null), [{ values, rows, columns }] = matrices();
  const kept = "Of each row only the largest weights that together hold 60 % of it are kept. Its files hold each " +
    "weight as a multiple of 1/50,000.";
  const axes = "Rows (queries): source tokens. Columns (keys): source tokens.";
  assert.equal(caption, `A head. ${axes} Colour scale: 0 to 1. ${kept}`);
  assert.deepEqual(values, [[0.5, 0.25, NaN], [NaN, 0.7, NaN], [NaN, NaN, 1]]);
  assert.deepEqual([rows, columns], [["▁do", "n't", "</s>"], ["▁do", "n't", "</s>"]]);
  assert.equal(table().rows.length, 4);
  assert.equal(textsOf(drawing().parts, "title").length, 4);
  const ofLines = figure([shown]), sides = "Left (queries): source tokens. Right (keys): source tokens.";
  assert.equal(every(ofLines.drawing().parts, "path").length, 4);
  assert.equal(ofLines.caption, `A head. ${sides} A line is as opaque as its weight, from 0 to 1. ${kept}`);
});

test("heads that are drawn apart have a colour and numbers each", () => {
  const heads = [{ layer: 0, head: 0 }, { layer: 1, head: 1 }];
  const state = stateWith({ kind: "encoder", together: "sum", scale: "per map", tokens: [0] });
  const of = (some) => new Shown(attention, "encoder", some, state);
  const said = { attention, state, shown: of(heads), title: "2 heads" };
  const { caption, drawing, table, matrices } = chosenFigure({ ...said, each: heads.map((head) => of([head])) });
  assert.match(caption, /^2 heads\. Heads \(layer\.head\) 1\.1, 2\.2\. .* from 0 to its head's largest weight\. Only /);
  assert.ok(!caption.includes("sum"));
  const { parts } = drawing();
  assert.deepEqual(textsOf(parts).slice(-2), ["1.1", "2.2"]);
  const swatches = valuesOf(every(parts, "rect"), "fill");
  assert.deepEqual(swatches, [...new Set(valuesOf(every(parts, "path"), "stroke"))]);
  assert.deepEqual(matrices().map(({ name }) => name), ["layer_1_head_1", "layer_2_head_2"]);
  assert.deepEqual(table().rows.at(-1), ["layer_2_head_2", 2, "</s>", 2, "</s>", 0]);
  const together = chosenFigure({ ...said, each: null });
  assert.match(together.caption, /1\.1, 2\.2, their sum\. .* Colour scale: 0 to 1\.25, the largest weight here\. /);
  assert.equal(together.matrices()[0].values[0][1], 1.25);
});
