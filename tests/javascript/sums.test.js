// The sum behind a cell: recomputed from the numbers before it, and written out.

import assert from "node:assert/strict";
import { test } from "node:test";

import { changesBetween } from "../../headlight/components/attention_steps/changes.js";
import {
  inputsOf, neuronsOf, panelsOf, pictureOf, stripOf, windowOf,
} from "../../headlight/components/attention_steps/panels.js";
import { Sums, sumText } from "../../headlight/components/attention_steps/sums.js";
import { Grid } from "../../headlight/components/lib/format.js";

const grid = (rows) => new Grid(rows.length, rows[0].length, Float32Array.from(rows.flat()));

// Two queries, three keys, a model of four dimensions with two heads; the second head is looked at.
const GRIDS = {
  x: grid([[1, 2, 3, 4], [0, -1, 0.5, 2]]),
  wQuery: grid([[1, 0], [0, 1], [2, 1], [-1, 0.5]]),
  bQuery: grid([[0.5, -0.5]]),
  query: grid([[9, 9, 3.5, 6.5], [9, 9, -0.5, 0]]),
  headQuery: grid([[3.5, 6.5], [-0.5, 0]]),
  headKey: grid([[1, 2], [0, -1], [2, 0]]),
  headValue: grid([[1, 10], [2, 20], [4, -40]]),
  headOutput: grid([[1.5, 15], [0, 0]]),
  products: grid([[16.5, -6.5, 7], [-0.5, 0, -1]]),
  scores: grid([[2, 1, 0], [0, 0, 0]]),
  weights: grid([[0.5, 0.5, 0], [0, 0, 0]]),
  unmasked: grid([[1, 1, 0], [0, 0, 0]]),
  gamma: grid([[1, 2, 1, 1]]),
  beta: grid([[0, 0.5, 0, 0]]),
};
const DATA = { queries: ["▁a", "▁b"], keys: ["▁x", "▁y", "▁z"], head: 1, headSize: 2, epsilon: 0, grids: GRIDS };
const sums = new Sums(DATA);

function withWindow(panel, chosen = { query: 0, key: 0, dimension: 0 }, data = DATA, width = undefined) {
  return { ...panel, window: windowOf(panel, chosen, data, width) };
}

function of(recipe, row, column, own = 0) {
  return sums.of({ recipe, rows: "queries", columns: "keys", grid: { at: () => own } }, row, column);
}

test("a projection is a dot product and a bias, of this head's columns alone", () => {
  const recipe = { kind: "projected", left: "x", right: "wQuery", bias: "bQuery", ofHead: true };
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
  assert.equal(of({ kind: "dot", left: "headQuery", right: "headKey" }, 0, 0).value, 16.5);
  assert.match(of({ kind: "dot", left: "headQuery", right: "headKey" }, 0, 0).parts[0], /\(dimension 4\)$/);
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
  const large = new Sums({ ...DATA, grids: { ...GRIDS, scores: grid([[900, 899, 0], [0, 0, 0]]) } });
  const panel = { recipe: { kind: "softmax", of: "scores" }, rows: "queries", columns: "keys", grid: GRIDS.weights };
  const { parts, value } = large.of(panel, 0, 1);
  assert.ok(Math.abs(value - 1 / (1 + Math.E)) < 1e-12);
  assert.equal(parts[0], "exp(899.0000 − 900.0000, the row's largest) = 0.3679");
});

test("the output is the values by their weights, and stands in its head's columns", () => {
  const weighted = of({ kind: "weighted", left: "weights", right: "headValue" }, 0, 1);
  assert.equal(weighted.value, 15);
  assert.equal(weighted.parts[0], "0.5000 × 20.0000 = 10.0000 (from “▁y”)");
  assert.equal(of({ kind: "placed", of: "headOutput" }, 0, 3).value, 15);
  assert.equal(of({ kind: "placed", of: "headOutput" }, 0, 1).value, null);
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
  const [, , terms] = neuronsOf("products", DATA, 0);
  assert.deepEqual([...terms.grid.values], [3.5, 13, 0, -6.5, 7, 0]);
  assert.deepEqual([terms.first, terms.notes(0)], [3, "Σ 16.50"]);
  const [values, weighted, output] = neuronsOf("values", DATA, 0);
  assert.deepEqual([...weighted.grid.values], [0.5, 5, 1, 10, 0, -0]);
  assert.deepEqual([values.notes(1), weighted.limit], ["× 0.5000", 40]);
  const chosen = { query: 1, key: 0, dimension: 0 }, sum = withWindow(output, chosen);
  assert.deepEqual(sum.window, { row: 1, rows: 1, column: 0, columns: 2 }, "the sum alone has the query's row");
  assert.match(sums.of(sum, 1, 0).name, /“▁b”/);
  assert.deepEqual(neuronsOf("mask", DATA, 0), []);
});

test("a picture has shares of full colour, blank where masked or not a number", () => {
  const step = { panels: [{ array: "weights", rows: "queries", columns: "keys", scale: "weights" }] };
  const [panel] = panelsOf(step, DATA);
  const weights = pictureOf(withWindow(panel), DATA, 600);
  assert.deepEqual([weights.share(0, 0), weights.share(0, 2), weights.limit, weights.signed], [0.5, NaN, 1, false]);
  assert.deepEqual([weights.valueText(0, 0, true), weights.valueText(0, 2, true)], [".50", ""]);
  const signed = { rows: "queries", columns: "keys", scale: "signed", masked: null, first: 1, grid: GRIDS.products };
  const products = pictureOf(withWindow(signed), DATA, 600);
  assert.deepEqual([products.share(0, 0), products.share(0, 1), products.limit], [1, -6.5 / 16.5, 16.5]);
  const infinite = pictureOf(withWindow({ ...signed, grid: grid([[-Infinity, NaN, 2]]) }), DATA, 600);
  assert.deepEqual([0, 1, 2].map((column) => infinite.share(0, column)), [NaN, NaN, 1]);
});

// Two tokens of 96 dimensions, each the number of its cell; heads of 24.
const cells = grid([0, 1].map((row) => Array.from({ length: 96 }, (_, column) => 100 * row + column)));
const MANY = { queries: ["▁a", "▁b"], keys: ["▁x"], head: 1, headSize: 24, grids: { total: cells } };
const STEP = {
  panels: [{ array: "total", symbol: "Z", rows: "queries", columns: "model", scale: "signed" }],
  inputs: [{ array: "total", symbol: "Z", rows: "queries", columns: "model", scale: "signed" }],
};

test("of many dimensions those of the head about the chosen one are cells, and all of them a strip", () => {
  const chosen = { query: 1, key: 0, dimension: 50 }, [own] = panelsOf(STEP, MANY);
  const panel = withWindow(own, chosen, MANY), picture = pictureOf(panel, MANY, 700);
  assert.deepEqual(panel.window, { row: 0, rows: 2, column: 48, columns: 24 });
  assert.deepEqual([picture.geometry.columns, picture.first], [24, 49]);
  assert.equal(picture.share(1, 2), cells.at(1, 50) / cells.limit);
  assert.equal(picture.valueText(0, 3, false), "51", "the matrix's own numbers");
  assert.ok(picture.geometry.wide >= 20);
  const strip = stripOf(panel, 1, picture);
  assert.deepEqual([strip.geometry.rows, strip.geometry.columns, strip.geometry.high], [1, 96, 10]);
  assert.ok(strip.geometry.wide > 6 && strip.geometry.right <= 700, "as wide as there is room");
  assert.equal(strip.share(0, 90), cells.at(1, 90) / cells.limit);
});

test("digits of a head's dimensions have a decimal each, in whatever width, if need be of half of them", () => {
  const values = grid([0, 1].map(() => Array.from({ length: 96 }, (_, column) => (column % 30) / 10 - 1.5 || 0.5)));
  const data = { ...MANY, head: 0, headSize: 32, grids: { total: values } };
  const chosen = { query: 1, key: 0, dimension: 50 }, [own] = panelsOf(STEP, data);
  const drawn = new Set();
  for (let width = 200; width < 1200; width += 7) {
    const panel = withWindow(own, chosen, data, width), { geometry, room, valueText } = pictureOf(panel, data, width);
    const { column, columns } = panel.window;
    assert.ok(column <= 50 && 50 < column + columns, "the chosen one is among them");
    drawn.add(columns);
    if (geometry.wide < room) continue;
    for (let at = 0; at < columns; at++) assert.match(valueText(1, at, geometry.wide < 34), /^−?\d?\.\d+$|^0$/);
  }
  assert.deepEqual([...drawn].sort(), [16, 32]);
});

test("of what a step takes the chosen token is drawn, beside the same dimensions", () => {
  const chosen = { query: 1, key: 0, dimension: 95 }, [input] = inputsOf(STEP, MANY);
  const panel = withWindow(input, chosen, MANY), picture = pictureOf(panel, MANY, 700);
  assert.deepEqual(panel.window, { row: 1, rows: 1, column: 72, columns: 24 });
  assert.deepEqual([picture.rows, picture.share(0, 23)], [["Z b"], 1]);
  assert.equal(panel.grid, cells, "files have the whole matrix");
});

test("what an edit changes is told cell by cell, rounding and other shapes left out", () => {
  const before = { x: grid([[1, 2], [3, 4]]), y: grid([[5]]), z: grid([[1, 2]]) };
  const now = { x: grid([[1, 2.5], [3, 4.000001]]), y: grid([[5]]), z: grid([[1]]) };
  assert.deepEqual(changesBetween(before, now), { x: new Set([1]) });
  assert.equal(changesBetween(before, before), null);
});
