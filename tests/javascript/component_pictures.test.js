// What is saved of a component: its picture and its table against the data that it was given.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Choice, groupOf } from "../../headlight/components/attention_explorer/choice.js";
import { allHeadsFigure, chosenFigure } from "../../headlight/components/attention_explorer/picture.js";
import { Attention, Shown } from "../../headlight/components/attention_explorer/weights.js";
import { figureOf as diagram } from "../../headlight/components/architecture_diagram/picture.js";
import { figureOf as steps } from "../../headlight/components/attention_steps/picture.js";
import { figureOf as tree } from "../../headlight/components/beam_tree/picture.js";
import { headsFigure, stepFigure } from "../../headlight/components/decoding_player/picture.js";
import { csvOf } from "../../headlight/components/export/csv.js";
import { svgText } from "../../headlight/components/export/svg.js";
import { Grid } from "../../headlight/components/lib/format.js";
import { figureOf as importance } from "../../headlight/components/head_switches/picture.js";
import { replayFigure, headFigure } from "../../headlight/components/replay_player/picture.js";
import { Snapshots } from "../../headlight/components/replay_player/snapshots.js";
import { figureOf as lines } from "../../headlight/components/token_lines/picture.js";
import { exampleBytes } from "./example.js";
import { every, measure, numbersOf, textsOf, within } from "./shapes.js";

const EVIL = '</script><img src=x onerror="hurt()">';

// In a file of a picture a hostile token is text, and nothing lies outside of the picture's width.
function holds(drawing, hostile = EVIL) {
  const text = drawing.parts.map(svgText).join("");
  assert.ok(!/<(script|img|foreignObject|a)\b/.test(text));
  if (hostile) assert.ok(text.includes("&lt;/script&gt;") || text.includes("&lt;/script…"), text.slice(0, 400));
  for (const { attributes } of every(drawing.parts, "rect")) assert.ok(Number(attributes.width) > 0);
}

const LINES = {
  name: "layer 3, head 5", source: ["▁no", EVIL, "</s>"], outputs: ["▁keine", "=1+1"], special: ["</s>"],
  probabilities: [0.9, 0.25], short_chances: ["90 %", "25 %"], weights: [[0.5, 0.495, 0.005], [0.125, 0.25, 0.625]],
  apart: 200,
};

test("token lines have a line a weight, the largest on top, from the middle of one token to that of the other", () => {
  const { name, drawing, table, matrices } = lines(LINES, measure), drawn = drawing(), { parts } = drawn;
  holds(drawn);
  const paths = every(within(parts, "lines"), "path"), titles = textsOf(paths, "title");
  assert.equal(name, "token_lines");
  const said = titles.map((title) => title.split("weight ")[1]);
  assert.deepEqual(said, ["0.1250", "0.2500", "0.4950", "0.5000", "0.6250"]);
  assert.match(titles[0], /^“=1\+1” \(output token 2\) attends to “▁no” \(source token 1\): /);
  const widths = numbersOf(paths, "stroke-width"), opacities = numbersOf(paths, "stroke-opacity");
  for (const looks of [widths, opacities]) assert.deepEqual(looks, [...looks].sort((one, other) => one - other));
  const middles = (row) => every(within(parts, row), "rect").map(({ attributes: { x, width } }) => x + width / 2);
  const [from, to] = [middles("source"), middles("output")];
  const ends = paths.map(({ attributes: { d } }) => d.match(/[\d.]+/g).map(Number)).map((all) => [all[0], all[6]]);
  const expected = [[0, 1], [1, 1], [1, 0], [0, 0], [2, 1]].map(([column, row]) => [from[column], to[row]]);
  ends.flat().forEach((end, at) => assert.ok(Math.abs(end - expected.flat()[at]) < 0.06));
  assert.deepEqual(numbersOf(every(within(parts, "output"), "rect"), "fill-opacity"), [0.58, 0.19]);
  assert.deepEqual(textsOf(within(parts, "source")), LINES.source);
  assert.deepEqual(textsOf(within(parts, "chances")), ["90 %", "25 %"]);
  assert.ok(csvOf(table()).includes("\n1,'=1+1,0.25,2,</s>,0.625\n"));
  assert.deepEqual(matrices(), [{ values: LINES.weights, rows: LINES.outputs, columns: LINES.source }]);
});

const box = (name, stack, layer, more) => ({
  name, stack, layer, kind: "self_attention", label: name, note: "8 · 1 %", parameters: 8, look: "attention", ...more,
});
const DIAGRAM = {
  encoder: {
    input: "source", before: [box("embedding", "encoder", null, { look: "embedding" })],
    layers: [0, 1].map((layer) => [box(`encoder.${layer}`, "encoder", layer, { begins: true, joins: true })]),
    after: [],
  },
  decoder: {
    input: EVIL, before: [], after: [],
    layers: [[box("decoder.0", "decoder", 0, { kind: "cross_attention", begins: true, joins: true })]],
  },
  output: [box("softmax", "output", null, { look: "softmax", parameters: 0, note: "" })],
};

test("the diagram has the boxes of the open layers, and the table those of all", () => {
  const { caption, drawing, table } = diagram(DIAGRAM, { encoder: 1, decoder: 0 }), drawn = drawing();
  holds(drawn);
  const labels = textsOf(drawn.parts);
  for (const shown of ["embedding", "encoder.1", "decoder.0", "softmax", "layer 2 of 2", "layer 1 of 1"]) {
    assert.equal(labels.filter((label) => label === shown).length, 1, shown);
  }
  assert.ok(!labels.includes("encoder.0"));
  assert.match(caption, /encoder with layer 2 of 2 unfolded; right, the decoder with layer 1 of 1\./);
  const ofSoftmax = every(drawn.parts, "g").find(({ children }) => textsOf(children).join() === "softmax");
  assert.equal(ofSoftmax.children[0].attributes.fill, "rgb(0, 158, 115)");
  assert.deepEqual(table().rows, [
    ["encoder", "", "embedding", 8, ""], ["encoder", 1, "encoder.0", 8, ""], ["encoder", 2, "encoder.1", 8, ""],
    ["decoder", 1, "decoder.0", 8, ""], ["output", "", "softmax", 0, ""],
  ]);
});

const grid = (rows) => new Grid(rows.length, rows[0].length, Float32Array.from(rows.flat()));
const GRIDS = {
  open: grid([[1, 1, 0], [1, 1, 1]]), weights: grid([[0.5, 0.5, 0], [0.25, 0, 0.75]]),
  head_value: grid([[1, -2], [0, 4], [2, 2]]), head_output: grid([[0.5, 1], [1.75, 1]]),
};
const BLOCK = {
  block: "Cross-attention, layer 1, head 2", queries: ["▁a", "▁b"], keys: [EVIL, "y", "z"], head: 1, d_k: 2,
};
const STEP = {
  name: "values", title: "Weights times values", formula: "O<sub>h</sub> = A V", why: "Why.", see: "",
  panels: [{ array: "head_output", rows: "queries", columns: "head", scale: "signed", symbol: "O<sub>h</sub>" }],
  inputs: [
    { array: "weights", rows: "queries", columns: "keys", scale: "weights", symbol: "A" },
    { array: "head_value", rows: "keys", columns: "head", scale: "signed", symbol: "V" },
  ],
};

test("a step has its inputs on the left and what it makes of them on the right, masked cells blank", () => {
  const chosen = { query: 0, key: 1, dimension: 3 };
  const { name, caption, drawing, table, matrices } = steps({ data: BLOCK, grids: GRIDS, step: STEP, chosen, measure });
  const { parts } = drawing();
  holds({ parts });
  assert.deepEqual([name, caption], [
    "attention_values",
    "Weights times values. Cross-attention, layer 1, head 2. Why. Framed: the query “▁a” and dimension 4.",
  ]);
  const cells = every(parts, "g").filter(({ attributes }) => attributes.class === "cells");
  assert.deepEqual(cells.map(({ children }) => every(children, "rect").length), [5, 6, 4]);
  const weights = textsOf(cells[0].children, "title").map((title) => Number(title.split(": ").at(-1)));
  assert.deepEqual(weights, [0.5, 0.5, 0.25, 0, 0.75]);
  assert.deepEqual(textsOf(cells[2].children), ["0.50", "1.00", "1.75", "1.00"]);
  const [output, , value] = matrices();
  assert.deepEqual([output.name, value.rows], ["head_output", BLOCK.keys]);
  assert.deepEqual(value.columns, ["dimension 3", "dimension 4"]);
  assert.deepEqual(table().rows.filter(([matrix]) => matrix === "weights").map((row) => row.at(-1)), weights);
});

const branch = (parent, step, row, token, chance, sum, look, note = "") => ({
  parent, step, row, token, note, chance, log_probability: sum, look, words: EVIL,
});
const BRANCHES = [
  branch(-1, 0, 0, "▁a", 0.75, -0.25, "best"), branch(-1, 0, 1, "=b", 0.25, -1.5, "dropped"),
  branch(0, 1, 0, "</s>", 1, -0.25, "best ended", "1"),
];

test("a tree has a box a branch, its colour the stronger the more probable, and a line to what it grew from", () => {
  const { drawing, table } = tree({ branches: BRANCHES }, measure), drawn = drawing();
  holds(drawn);
  const boxes = every(within(drawn.parts, "branches"), "rect"), [edge, ...others] = within(drawn.parts, "edges");
  assert.deepEqual(numbersOf(boxes, "fill-opacity"), [0.444, 0.168, 0.582]);
  assert.deepEqual(boxes.map(({ attributes }) => attributes["stroke-dasharray"] ?? ""), ["", "4 3", ""]);
  const [from, , to] = boxes.map(({ attributes }) => attributes), [x, y, ...bends] = edge.attributes.d.match(/[\d.]+/g);
  assert.deepEqual([Number(x), Number(y)], [from.x + from.width, from.y + from.height / 2]);
  assert.deepEqual(bends.slice(-2).map(Number), [to.x, to.y + to.height / 2]);
  assert.deepEqual([edge.attributes.stroke, others], ["rgb(232, 113, 10)", []]);
  const legend = textsOf(drawn.parts).slice(-3);
  assert.deepEqual(legend, ["on the way to the best", "ended, with its rank", "fell out of the beam"]);
  assert.equal(csvOf(table()).split("\n").slice(1).join("\n"), [
    "1,,1,▁a,0.75,-0.25,,yes,", "2,,1,'=b,0.25,-1.5,,no,fell out", "3,1,2,</s>,1,-0.25,1,yes,ended", "",
  ].join("\n"));
});

const candidate = (rank, token, probability, taken) => ({ rank, token, probability, taken, words: `${probability}` });
const DECODING = {
  name: "layer 1, head 1", source: ["▁a", EVIL], fed: ["<s>", "x"], next: ["x", "y"], layers: 1, heads: 2,
  steps: [{}, {
    sentence: "A sentence.", chance: "25 %", rest_words: "the other 7 tokens together 0.5",
    candidates: [candidate(1, EVIL, 0.5, false), candidate(2, "y", 0.25, true)],
  }],
};
const MAPS = { cross: Float32Array.of(1, 0, 0.25, 0.75), decoder: Float32Array.of(1, 0, 0.5, 0.5) };

test("a step of the decoding has the weights it reads with, and a bar as long as a candidate is probable", () => {
  const { name, caption, drawing, table } = stepFigure(DECODING, MAPS, 2, measure), drawn = drawing();
  holds(drawn);
  assert.equal(name, "decoding_step_2");
  assert.match(caption, /^Step 2 of 2\. A sentence\. Above, the weights of layer 1, head 1; .* the other 7 tokens /);
  const bars = every(drawn.parts, "rect").filter(({ attributes }) => attributes.class === "bar");
  assert.deepEqual(numbersOf(bars, "width"), [150, 75]);
  const read = every(drawn.parts, "g").filter(({ attributes }) => attributes.class === "read");
  assert.deepEqual(read.map(({ children }) => textsOf(children)), [
    ["▁a", "0.25"], [EVIL, "0.75"], ["<s>", "0.50"], ["x", "0.50"],
  ]);
  assert.deepEqual(table().rows, [
    ["cross-attention weight", 1, "▁a", 0.25, ""], ["cross-attention weight", 2, EVIL, 0.75, ""],
    ["masked self-attention weight", 1, "<s>", 0.5, ""], ["masked self-attention weight", 2, "x", 0.5, ""],
    ["candidate", 1, EVIL, 0.5, "no"], ["candidate", 2, "y", 0.25, "yes"],
  ]);
});

test("every head of a step has a line of cells", () => {
  const weight = (_, head, key) => (head + key) / 4;
  const strips = [{ keys: DECODING.source, weight }, { keys: ["<s>"], weight }];
  const { drawing, table, matrices } = headsFigure(DECODING, strips, 2), drawn = drawing();
  holds(drawn);
  const opaque = numbersOf(within(drawn.parts, "cells"), "fill-opacity");
  assert.deepEqual(opaque, [0.03, 0.375, 0.375, 0.72]);
  assert.deepEqual(matrices().map(({ values }) => values), [[[0, 0.25], [0.25, 0.5]], [[0], [0.25]]]);
  assert.deepEqual(table().rows.at(-1), ["masked self attention", "layer 1, head 2", 0, "<s>", 0.25]);
});

const HEADS = {
  limit: 2, ablated_by: "mean",
  kinds: ["encoder", "cross"].map((kind, at) => ({
    kind, name: kind, losses: [[2 - at, -1]], digits: [["2.0", "−1.0"]], turned: [[at === 1, false]],
    words: [[EVIL, "b"]],
  })),
};

test("heads have the colour of what is lost without them, and a dot where the translation turns", () => {
  const { caption, drawing, table, matrices } = importance(HEADS), drawn = drawing();
  holds(drawn);
  assert.match(caption, /ablated by mean: orange, a loss; blue, a gain; the full colours stand for 2\.00\. A dot: /);
  const grids = every(drawn.parts, "g").filter(({ attributes }) => attributes.class === "cells");
  const boxes = grids.map(({ children }) => every(children, "rect"));
  assert.deepEqual(boxes.map((all) => numbersOf(all, "fill-opacity")), [[0.72, 0.375], [0.375, 0.375]]);
  assert.deepEqual(boxes[1].map(({ attributes }) => attributes.fill), ["rgb(232, 113, 10)", "rgb(31, 119, 224)"]);
  const [{ attributes: dot }, ...others] = every(drawn.parts[1].children, "circle"), cell = boxes[1][0].attributes;
  assert.ok(dot.cx > cell.x && dot.cx < cell.x + cell.width && dot.cy > cell.y && dot.cy < cell.y + cell.height);
  assert.deepEqual([others, every(drawn.parts[0].children, "circle")], [[], []]);
  assert.deepEqual(table().rows[3], ["cross", 0, "layer 1", 1, "head 2", -1]);
  assert.deepEqual(matrices().map(({ name }) => name), ["encoder", "cross"]);
});

const WEIGHTS = [65535, 0, 13107, 52428, 0, 0, 65535, 0].concat([13107, 0, 65535, 0, 0, 65535, 0, 0]);
const REPLAY = {
  kind: "Masked decoder self-attention", name: "layer 1, head 1", axes: "rows and columns: German", layers: 1, heads: 2,
  layer: 0, head: 0, steps: [0, 1500], texts: [0, 1].map((at) => ({ place: `Step ${at}`, head: "A sentence." })),
  queries: ["<s>", EVIL], predicts: [EVIL, "</s>"], keys: ["<s>", EVIL], causal: true,
  weights: Buffer.from(Uint16Array.from(WEIGHTS).buffer).toString("base64"),
};

test("a head at a snapshot has the weights of that snapshot alone, and at all of them those of each", () => {
  const snapshots = new Snapshots(REPLAY), { name, caption, drawing, table } = headFigure(REPLAY, snapshots, 1);
  holds(drawing());
  assert.equal(name, "training_step_1500");
  assert.match(caption, /at step 1 of its training; rows and columns: German\. On the right, .* A sentence\.$/);
  const cells = within(drawing().parts, "cells");
  assert.deepEqual(textsOf(cells), [".20", "1", ".00"], "what is masked is blank");
  assert.deepEqual(table().rows.map((row) => row.at(-1)), [0.2, 1, 0]);
  const replay = replayFigure(REPLAY, snapshots), maps = every(replay.drawing().parts, "g");
  assert.equal(maps.filter(({ attributes }) => attributes.class === "cells").length, 2);
  assert.deepEqual(textsOf(replay.drawing().parts), ["step 0", "step 1,500"]);
  assert.deepEqual(replay.table().rows.map((row) => [row[0], row.at(-1)]), [
    [0, 1], [0, 0.2], [0, 0.8], [1500, 0.2], [1500, 1], [1500, 0],
  ]);
  assert.deepEqual(replay.matrices().map((matrix) => matrix.name), ["step_0", "step_1500"]);
});

const attention = new Attention(exampleBytes());
const chosenAs = (some) => Object.assign(new Choice(() => {}), some);

test("all heads are drawn where their layer and head say, and written with every weight", () => {
  const choice = chosenAs({ kind: "decoder", label: "previous" }), groups = [groupOf(attention, "decoder", choice)];
  const { name, label, caption, drawing, table, files } = allHeadsFigure({ attention, choice, groups });
  const drawn = drawing();
  holds(drawn, "");
  assert.deepEqual([name, label], ["all_heads", "All heads: Masked decoder self-attention"]);
  assert.equal(
    caption,
    "All heads, Masked decoder self-attention: layers from top to bottom, heads from left to right. Colours from 0 " +
      "to 1. Below a head: its pattern, where it has one. Rows (queries): decoder steps, labelled by output token. " +
      "Columns (keys): decoder input tokens. Faint: heads that are not labelled “previous”. " +
      "Its files hold each weight as a multiple of 1/50,000.",
  );
  const tiles = every(drawn.parts, "g").filter(({ attributes }) => attributes.class === "head");
  assert.deepEqual(numbersOf(tiles, "opacity"), [0.3, 0.3, 0.3, 0.3], "none is of that pattern");
  const [[left, top], [right], [, below]] = [0, 1, 2].map((at) => {
    const { x, y } = every([tiles[at]], "rect")[0].attributes;
    return [x, y];
  });
  assert.ok(left < right && top < below);
  assert.match(textsOf([tiles[3]], "title")[0], /^Masked decoder self-attention, layer 2, head 2: no clear pattern/);
  // The weights 1; 0.5 0.5; 0.2 0.3 0.5 and masked cells: a box for each run of one colour.
  const paths = every([tiles[0]], "path").map(({ attributes: { d, "fill-opacity": opaque } }) => [d, opaque]);
  assert.deepEqual(paths.map(([d]) => d), ["M0 0h1v1h-1z", "M0 1h2v1h-2zM2 2h1v1h-1z", "M0 2h1v1h-1z", "M1 2h1v1h-1z"]);
  paths.forEach(([, opaque], at) => assert.ok(Math.abs(opaque - [1, 0.72, 0.306, 0.444][at]) < 0.004));
  const { rows } = table();
  assert.equal(rows.length, 4 * 6);
  assert.deepEqual(rows[5], ["decoder", 0, 0, 2, 2, "s", "</s>", "s", 0.5]);
  const named = ["decoder", "decoder_query_tokens", "decoder_output_tokens", "decoder_key_tokens"];
  assert.deepEqual(Object.keys(files()), named);
  assert.match(new TextDecoder("latin1").decode(files().decoder), /'shape': \(2, 2, 3, 3\)/);
});

test("heads that are sorted say so, and three kinds have their names", () => {
  const choice = chosenAs({ sort: "confidence", scale: "per map", kinds: "all" });
  const titles = attention.texts.kinds;
  const groups = attention.kinds.map((name) => ({ ...groupOf(attention, name, choice), title: titles[name] }));
  const { caption, drawing } = allHeadsFigure({ attention, choice, groups });
  assert.match(caption, /: sorted by confidence, from the largest; a kind without it: layers from top to bottom, /);
  assert.match(caption, /Colours from 0 to each head's largest weight\. Below a head: layer\.head, confidence, /);
  assert.match(caption, /Rows: queries, decoder rows labelled by output token; columns: keys\. Its files hold /);
  const entropy = chosenAs({ kind: "cross", sort: "entropy", least: 50 });
  const ofEntropy = allHeadsFigure({ attention, choice: entropy, groups: [groupOf(attention, "cross", entropy)] });
  assert.match(ofEntropy.caption, /sorted by entropy, from the smallest\. .* not with entropy at most 2\.00 nats\. /);
  const texts = textsOf(drawing().parts);
  for (const title of Object.values(titles)) assert.ok(texts.includes(title));
  assert.deepEqual(texts.filter((text) => /^\d\.\d$/.test(text)).slice(0, 4), ["1.2", "1.1", "2.2", "2.1"]);
});

test("the chosen heads are drawn as map or as lines, and what is left out is not in their numbers", () => {
  const choice = chosenAs({ kind: "encoder", top: 60 });
  const shown = new Shown(attention, "encoder", [{ layer: 0, head: 0 }], choice);
  const figure = (each) => chosenFigure({ attention, choice, shown, each, title: "A head" });
  const { caption, drawing, table, matrices } = figure(null), [{ values, rows, columns }] = matrices();
  const kept = "Of each row only the largest weights that together hold 60 % of it are kept. Its files hold each " +
    "weight as a multiple of 1/50,000.";
  const axes = "Rows (queries): source tokens. Columns (keys): source tokens.";
  assert.equal(caption, `A head. ${axes} Colour scale: 0 to 1. ${kept}`);
  assert.deepEqual(values, [[0.5, 0.25, NaN], [NaN, 0.7, NaN], [NaN, NaN, 1]]);
  assert.deepEqual([rows, columns], [["▁do", "n't", "</s>"], ["▁do", "n't", "</s>"]]);
  assert.equal(table().rows.length, 4);
  assert.equal(every(within(drawing().parts, "cells"), "rect").length, 4);
  const lines = figure([shown]), sides = "Left (queries): source tokens. Right (keys): source tokens.";
  assert.equal(every(lines.drawing().parts, "line").length, 4);
  assert.equal(lines.caption, `A head. ${sides} A line is as opaque as its weight, from 0 to 1. ${kept}`);
});

test("heads that are drawn apart have a colour and numbers each", () => {
  const heads = [{ layer: 0, head: 0 }, { layer: 1, head: 1 }];
  const choice = chosenAs({ kind: "encoder", together: "sum", scale: "per map", tokens: [0] });
  const of = (some) => new Shown(attention, "encoder", some, choice);
  const said = { attention, choice, shown: of(heads), title: "2 heads" };
  const { caption, drawing, table, matrices } = chosenFigure({ ...said, each: heads.map((head) => of([head])) });
  assert.match(caption, /^2 heads\. Heads \(layer\.head\) 1\.1, 2\.2\. .* from 0 to its head's largest weight\. Only /);
  assert.ok(!caption.includes("sum"));
  const { parts } = drawing();
  assert.deepEqual(textsOf(parts).slice(0, 2), ["1.1", "2.2"]);
  const swatches = every(parts, "rect").map(({ attributes }) => attributes.fill);
  assert.deepEqual(swatches, [...new Set(every(parts, "line").map(({ attributes }) => attributes.stroke))]);
  assert.deepEqual(matrices().map(({ name }) => name), ["layer_1_head_1", "layer_2_head_2"]);
  assert.deepEqual(table().rows.at(-1), ["layer_2_head_2", 2, "</s>", 2, "</s>", 0]);
  const together = chosenFigure({ ...said, each: null });
  assert.match(together.caption, /1\.1, 2\.2, their sum\. .* Colour scale: 0 to 1\.25, the largest weight here\. /);
  assert.equal(together.matrices()[0].values[0][1], 1.25);
});
