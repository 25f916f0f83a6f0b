// The sum behind a cell: recomputed from the numbers before it, and written out.

import assert from "node:assert/strict";
import { test } from "node:test";

import { neuronsOf, panelsOf, pictureOf } from "../../headlight/components/attention_steps/panels.js";
import { Sums, sumText } from "../../headlight/components/attention_steps/sums.js";
import { Grid } from "../../headlight/components/lib/format.js";

const grid = (rows) => new Grid(rows.length, rows[0].length, Float32Array.from(rows.flat()));

// Two queries, three keys, a model of four dimensions with two heads; the second head is looked at.
const DATA = { queries: ["▁a", "▁b"], keys: ["▁x", "▁y", "▁z"], head: 1, d_k: 2, epsilon: 0 };
const GRIDS = {
  x: grid([[1, 2, 3, 4], [0, -1, 0.5, 2]]),
  w_query: grid([[1, 0], [0, 1], [2, 1], [-1, 0.5]]),
  b_query: grid([[0.5, -0.5]]),
  query: grid([[9, 9, 3.5, 6.5], [9, 9, -0.5, 0]]),
  head_query: grid([[3.5, 6.5], [-0.5, 0]]),
  head_key: grid([[1, 2], [0, -1], [2, 0]]),
  head_value: grid([[1, 10], [2, 20], [4, -40]]),
  head_output: grid([[1.5, 15], [0, 0]]),
  products: grid([[16.5, -6.5, 7], [-0.5, 0, -1]]),
  scores: grid([[2, 1, 0], [0, 0, 0]]),
  weights: grid([[0.5, 0.5, 0], [0, 0, 0]]),
  open: grid([[1, 1, 0], [0, 0, 0]]),
  gamma: grid([[1, 2, 1, 1]]),
  beta: grid([[0, 0.5, 0, 0]]),
};
const sums = new Sums(DATA, GRIDS);

function of(recipe, row, column, own = 0) {
  return sums.of({ recipe, rows: "queries", columns: "keys", grid: { at: () => own } }, row, column);
}

test("a projection is a dot product and a bias, of this head's columns alone", () => {
  const recipe = { kind: "projected", left: "x", right: "w_query", bias: "b_query", of_head: true };
  const { parts, value } = of(recipe, 0, 2);
  assert.equal(value, 1 + 6 - 4 + 0.5);
  assert.deepEqual(parts, [
    "3.0000 × 2.0000 = 6.0000 (dimension 3)", "4.0000 × −1.0000 = −4.0000 (dimension 4)",
    "1.0000 × 1.0000 = 1.0000 (dimension 1)", "2.0000 × 0.0000 = 0.0000 (dimension 2)", "bias: 0.5000",
  ]);
  assert.equal(of(recipe, 0, 1).value, null);
  assert.match(of(recipe, 0, 1).parts[0], /belongs to head 1: choose head 1/);
});

test("scores are a dot product, then divided by the root of d_k", () => {
  assert.equal(of({ kind: "dot", left: "head_query", right: "head_key" }, 0, 0).value, 16.5);
  assert.match(of({ kind: "dot", left: "head_query", right: "head_key" }, 0, 0).parts[0], /\(dimension 4\)$/);
  assert.equal(of({ kind: "divided", of: "products" }, 0, 2).value, 7 / Math.SQRT2);
});

test("a masked score is minus infinity, an unmasked one stays", () => {
  assert.deepEqual(of({ kind: "masked", of: "scores" }, 0, 1), {
    name: "“▁a” reading “▁y”", parts: ["unmasked: the score stays"], value: 1, own: 0,
  });
  assert.equal(of({ kind: "masked", of: "scores" }, 0, 2).value, -Infinity);
});

test("softmax divides by the sum over unmasked keys", () => {
  const { parts, value } = of({ kind: "softmax", of: "scores" }, 0, 0);
  assert.ok(Math.abs(value - Math.E ** 2 / (Math.E ** 2 + Math.E)) < 1e-12);
  assert.deepEqual(parts, [
    "exp(2.0000) = 7.3891", "the sum of the row's 2: 10.1073 (7.3891 for “▁x”, 2.7183 for “▁y”)",
  ]);
  assert.deepEqual(of({ kind: "softmax", of: "scores" }, 0, 2).parts, ["masked: exp(−∞) = 0"]);
  assert.match(of({ kind: "softmax", of: "scores" }, 1, 0).parts[0], /^every key of this row is masked: 0 \/ 0/);
});

test("of large scores the largest is taken away first", () => {
  const large = new Sums(DATA, { ...GRIDS, scores: grid([[900, 899, 0], [0, 0, 0]]) });
  const panel = { recipe: { kind: "softmax", of: "scores" }, rows: "queries", columns: "keys", grid: GRIDS.weights };
  const { parts, value } = large.of(panel, 0, 1);
  assert.ok(Math.abs(value - 1 / (1 + Math.E)) < 1e-12);
  assert.equal(parts[0], "exp(899.0000 − 900.0000, the row's largest) = 0.3679");
});

test("the output is the values by their weights, and stands in its head's columns", () => {
  const weighted = of({ kind: "weighted", left: "weights", right: "head_value" }, 0, 1);
  assert.equal(weighted.value, 15);
  assert.equal(weighted.parts[0], "0.5000 × 20.0000 = 10.0000 (from “▁y”)");
  assert.equal(of({ kind: "placed", of: "head_output" }, 0, 3).value, 15);
  assert.equal(of({ kind: "placed", of: "head_output" }, 0, 1).value, null);
  assert.equal(of({ kind: "cut", of: "query" }, 0, 1).value, 6.5);
  assert.equal(of({ kind: "sum", of: ["x", "query"] }, 1, 2).value, 0);
});

test("layer normalisation takes mean and deviation of the row", () => {
  const { parts, value } = of({ kind: "normalised", of: "x" }, 0, 1);
  assert.ok(Math.abs(value - ((2 - 2.5) / Math.sqrt(1.25)) * 2 - 0.5) < 1e-12);
  assert.equal(parts[0], "(2.0000 − 2.5000) / 1.1180 = −0.4472");
});

test("more than four terms are added up to one", () => {
  const { parts, sum } = sums.product([1, -5, 2, 0.5, 3, -0.25], [1, 1, 1, 1, 1, 1], (index) => `number ${index}`);
  assert.deepEqual([sum, parts.length], [1.25, 5]);
  assert.deepEqual([parts[0], parts[4]], ["−5.0000 × 1.0000 = −5.0000 (number 1)", "2 others together: 0.2500"]);
  assert.match(sums.product([1, 1, 1, 1, 1], [1, 1, 1, 1, 1], String).parts[4], /^1 other together/);
});

test("a sum is said with its result and how far the model's own number is from it", () => {
  const name = "“▁a”, dimension 1";
  assert.equal(
    sumText({ name, parts: ["1 × 2", "3 × 4"], value: 14, own: 14.00001 }, "The model has"),
    "“▁a”, dimension 1: 1 × 2; 3 × 4; the sum: 14.0000. The model has 14.0000, difference 1·10⁻⁵.",
  );
  assert.equal(
    sumText({ name, parts: ["masked"], value: -Infinity, own: -Infinity }, "The model has"),
    "“▁a”, dimension 1: masked = −∞. The model has −∞, difference 0.",
  );
  assert.equal(sumText({ name, parts: [], value: null, own: 2 }, "The model has"), `${name}: The model has 2.0000.`);
});

test("the neuron view multiplies query and key dimension by dimension, and values by weights", () => {
  const [, , terms] = neuronsOf("products", DATA, GRIDS, 0);
  assert.deepEqual([...terms.grid.values], [3.5, 13, 0, -6.5, 7, 0]);
  assert.deepEqual([terms.first, terms.notes(0)], [3, "Σ 16.50"]);
  const [values, weighted, output] = neuronsOf("values", DATA, GRIDS, 0);
  assert.deepEqual([...weighted.grid.values], [0.5, 5, 1, 10, 0, -0]);
  assert.deepEqual([values.notes(1), weighted.limit, [...output.grid.values]], ["× 0.5000", 40, [1.5, 15]]);
  assert.deepEqual(neuronsOf("mask", DATA, GRIDS, 0), []);
});

test("a picture has shares of full colour, blank where masked or not a number", () => {
  const step = { panels: [{ array: "weights", rows: "queries", columns: "keys", scale: "weights" }] };
  const [panel] = panelsOf(step, DATA, GRIDS);
  const weights = pictureOf(panel, DATA, 0, 600);
  assert.deepEqual([weights.share(0, 0), weights.share(0, 2), weights.limit, weights.signed], [0.5, NaN, 1, false]);
  assert.deepEqual([weights.valueText(0, 0, true), weights.valueText(0, 2, true)], [".50", ""]);
  const signed = { rows: "queries", columns: "keys", scale: "signed", masked: null, first: 1, grid: GRIDS.products };
  const products = pictureOf(signed, DATA, 0, 600);
  assert.deepEqual([products.share(0, 0), products.share(0, 1), products.limit], [1, -6.5 / 16.5, 16.5]);
  const infinite = pictureOf({ ...signed, grid: grid([[-Infinity, NaN, 2]]) }, DATA, 0, 600);
  assert.deepEqual([0, 1, 2].map((column) => infinite.share(0, column)), [NaN, NaN, 1]);
});
