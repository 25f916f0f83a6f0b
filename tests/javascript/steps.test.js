// The steps of an attention block, from the facts of one head: order, matrices, and the numbers of the findings.

import assert from "node:assert/strict";
import { test } from "node:test";

import { stepsOf } from "../../headlight/components/attention_steps/matrices.js";
import { MEASURES, choiceOf, storyOf } from "../../headlight/components/attention_steps/story.js";

const matrix = (...rows) => ({ shape: [rows.length, rows[0].length], weights: Float32Array.from(rows.flat()) });
const of = (rows, columns, value) => matrix(...Array.from({ length: rows }, (_, row) => {
  return Array.from({ length: columns }, (__, column) => value(row, column));
}));

// The second of two heads of two dimensions each: three queries, two of them the same token, read two keys.
const ARRAYS = {
  residual: matrix([3, 4, 0, 0], [0, 0, 6, 8], [1, 0, 0, 0]),
  x: matrix([1, 0, 0, 0], [0, 2, 0, 0], [0, 0, 3, 0]),
  memory: of(2, 4, (row, column) => row + column),
  query: matrix([9, 9, 3, 4], [9, 9, 0, 1], [9, 9, 0, 3]),
  key: matrix([9, 9, 2, 0], [9, 9, 0, 4]),
  value: matrix([9, 9, 1, 0], [9, 9, 0, 1]),
  products: matrix([6, 16], [0, -4], [1, 12]),
  scores: matrix([6, 16], [0, -4], [1, 12]),
  weights: matrix([0.5, 0.5], [1, 0], [0.25, 0.75]),
  unmasked: matrix([1, 1], [1, 0], [1, 1]),
  concatenated: matrix([3, 0, 1, 0], [0, 0, 0, 0], [0, 3, 1, 1]),
  output: matrix([0, 0, 0, 2], [0, 4, 0, 0], [0, 0, 3, 0]),
  total: matrix([3, 4, 0, 12], [0, 0, 0, 1], [2, 0, 0, 0]),
  result: matrix([2, 0, 0, 0], [0, 5, 0, 0], [0, 0, 3, 0]),
  wQuery: of(4, 2, () => 1), wKey: of(4, 2, () => 1), wValue: of(4, 2, () => 1), wOutput: of(4, 4, () => 1),
  bQuery: matrix([1, 1]), bKey: matrix([1, 1]), bValue: matrix([1, 1]), bOutput: matrix([1, 1, 1, 1]),
  gamma: matrix([1, 1, 1, 1]), beta: matrix([0, 0, 0, 0]),
};
const FACTS = {
  kind: "cross", layer: 1, head: 1, sentence: 0, batch: 1, heads: 2, headSize: 2, toy: false,
  queries: ["<s>", "▁a", "▁a"], keys: ["▁x", "</s>"],
  norm: "post", normType: "layer", epsilon: 1e-5, divided: true, embedding: { scaled: true, positioned: true },
  gaps: { query: 1e-7, key: 3e-7, value: 0, concatenated: 2e-6, output: 0.5 }, arrays: ARRAYS,
};
const T5 = {
  norm: "pre", normType: "rms", divided: false, embedding: {},
  arrays: {
    ...Object.fromEntries(Object.entries(ARRAYS).filter(([name]) => !/^b[A-Z]|^beta$/.test(name))),
    bias: matrix([0, 11], [0.5, 0], [0.25, 0.5]), buckets: matrix([0, 2], [1, 0], [3, 1]),
  },
};

const story = (changes = {}, editable = false) => storyOf({ ...FACTS, ...changes }, editable);
const byName = ({ steps }) => Object.fromEntries(steps.map((step) => [step.name, step]));
const numbersOf = (name, changes) => MEASURES[name](story(changes));
const namesOf = (changes) => story(changes).steps.map(({ name }) => name);
const MIDDLE = [
  "project", "split", "products", "scale", "mask", "softmax", "values", "concatenate", "output", "residual",
];

test("the steps come in the order of the norm and of the parts of the model", () => {
  assert.deepEqual(namesOf(), ["input", ...MIDDLE, "norm_last"]);
  assert.deepEqual(namesOf({ norm: "pre" }), ["input", "norm_first", ...MIDDLE]);
  const biased = ["input", "norm_first", ...MIDDLE].map((name) => (name === "scale" ? "bias" : name));
  assert.deepEqual(namesOf({ ...T5, kind: "encoder" }), biased);
  assert.deepEqual(namesOf({ ...T5, divided: true }).slice(4, 8), ["products", "scale", "bias", "mask"]);
});

test("a step takes matrices of the steps before it", () => {
  for (const changes of [{}, { norm: "pre" }, { kind: "encoder" }, { kind: "encoder", ...T5 }]) {
    const known = new Set(["x", "bias"]); // with post-norm X, and numbers of the model
    for (const { name, makes, takes } of stepsOf({ ...FACTS, ...changes })) {
      assert.ok(takes.every(({ array }) => known.has(array)) && (takes.length || name === "input"), name);
      for (const { array } of makes) known.add(array);
    }
  }
  const { bias, scale } = byName(story({ ...T5, divided: true })), t5 = byName(story(T5));
  assert.deepEqual([scale.panels[0].array, bias.panels[0].recipe], ["divided", { kind: "biased", of: "divided" }]);
  assert.deepEqual(bias.inputs.map(({ symbol }) => symbol), ["S / √d<sub>k</sub>", "b<sub>h</sub>"]);
  assert.deepEqual([t5.bias.panels[0].recipe.of, t5.project.panels[0].recipe.bias], ["products", null]);
});

test("the numbers of the findings on vectors", () => {
  assert.deepEqual(numbersOf("input"), {
    low: { query: "“▁a” (query 3)", norm: 1 }, high: { query: "“▁a” (query 2)", norm: 10 },
  });
  assert.deepEqual(numbersOf("norm_first"), { before: [1, 10], after: [1, 3] });
  assert.deepEqual(numbersOf("norm_last"), { before: [1, 13], after: [2, 5] });
  assert.deepEqual(numbersOf("split"), { head: 1, query: 3, key: 3, value: 1 });
  assert.deepEqual(numbersOf("concatenate"), { head: 1, heads: 2, share: 3 / 21 });
  assert.deepEqual(numbersOf("residual"), { input: 16 / 3, added: 3, sum: 16 / 3 });
  const nothing = { ...ARRAYS, concatenated: of(3, 4, () => 0) };
  assert.equal(numbersOf("concatenate", { arrays: nothing }).share, 0);
});

test("the numbers of the findings on maps", () => {
  assert.deepEqual(numbersOf("products"), {
    low: { query: "“▁a” (query 2)", key: "“</s>”", value: -4 }, high: { query: "“<s>”", key: "“</s>”", value: 16 },
  });
  const { before, after } = numbersOf("scale");
  assert.ok(Math.abs(before - Math.sqrt(1757) / 6) < 1e-12 && Math.abs(after - before / Math.SQRT2) < 1e-6);
  assert.deepEqual(numbersOf("mask"), { masked: 1, cells: 6 });
  const { low, high } = numbersOf("softmax");
  const expected = ["“▁a” (query 3)", "“</s>”", 0.75]; // a row without a choice is left out
  assert.deepEqual([low.query, low.key, low.weight], expected);
  assert.deepEqual([high.query, Math.exp(high.entropy).toFixed(6)], ["“<s>”", "2.000000"]);
  assert.equal(numbersOf("softmax", { arrays: { ...ARRAYS, unmasked: of(3, 2, (_, key) => 1 - key) } }).low, null);
});

test("the bias of relative positions has its ends by distance, and the queries it turns", () => {
  const { low, high, moved, queries } = numbersOf("bias", { ...T5, kind: "decoder" });
  assert.deepEqual(low, { value: 0, bucket: 0, distances: [0] });
  assert.deepEqual(high, { value: 11, bucket: 2, distances: [1] });
  assert.deepEqual([moved, queries], [0, 3]);
  const turned = { ...T5.arrays, bias: matrix([11, 0], [0, 0], [11.5, 0]) };
  assert.equal(numbersOf("bias", { ...T5, arrays: turned }).moved, 2, "11 beats the 10 that separate the first row");
  const tie = { ...T5.arrays, products: of(3, 2, () => 1), bias: matrix([0, 1], [0, 0], [0, 1]) };
  assert.equal(numbersOf("bias", { ...T5, arrays: tie }).moved, 0, "equal scores leave nothing");
});

test("an address chooses query, key, dimension and step, invalid texts the defaults", () => {
  assert.deepEqual(choiceOf(["2", "1", "4", "softmax"], story()), { query: 1, key: 0, dimension: 3, step: "softmax" });
  const first = { query: 2, key: 1, dimension: 2, step: "products" }; // the key is the query's largest weight
  for (const text of ["", "0", "-1", "inf", "9".repeat(3000), "<b>"]) {
    assert.deepEqual(choiceOf([text, text, text, text], story()), first);
  }
  assert.equal(choiceOf(["99", "99", "99", "norm_first"], story()).dimension, 3);
  const ofToy = choiceOf(["", "", "", "all"], story({ toy: true }));
  assert.deepEqual(ofToy, { query: 0, key: 0, dimension: 2, step: "all" });
  assert.equal(choiceOf(["", "", "", ""], story({ toy: true })).step, "softmax");
});
