// The computation of a cell, repeated from the numbers before it and written out, and the panels of a step.

import assert from "node:assert/strict";
import { test } from "node:test";

import { changesBetween } from "../../headlight/components/attention_steps/changes.js";
import { neuronsOf, windowOf } from "../../headlight/components/attention_steps/panels.js";
import { Sums } from "../../headlight/components/attention_steps/sums.js";
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

const of = (recipe, row, column, from = sums) => {
  return from.of({ recipe, rows: "queries", columns: "keys", grid: { at: () => 0 } }, row, column);
};
const near = (actual, expected) => assert.ok(Math.abs(actual - expected) < 1e-12, `${actual} is not ${expected}`);

test("each recipe computes its cell from the numbers before it", () => {
  const query = { kind: "projected", left: "x", right: "wQuery", bias: "bQuery", ofHead: true };
  const placed = { kind: "placed", of: "headOutput" };
  for (const [recipe, row, column, expected] of [
    [query, 0, 2, 1 + 6 - 4 + 0.5], [query, 0, 1, null], [{ ...query, bias: null }, 0, 2, 3],
    [{ kind: "dot", left: "headQuery", right: "headKey" }, 0, 0, 16.5],
    [{ kind: "divided", of: "products" }, 0, 2, 7 / Math.SQRT2], [{ kind: "masked", of: "scores" }, 0, 1, 1],
    [{ kind: "masked", of: "scores" }, 0, 2, -Infinity], [{ kind: "softmax", of: "scores" }, 0, 2, 0],
    [{ kind: "softmax", of: "scores" }, 1, 0, 0], [placed, 0, 3, 15], [placed, 0, 1, null],
    [{ kind: "weighted", left: "weights", right: "headValue" }, 0, 1, 15],
    [{ kind: "cut", of: "query" }, 0, 1, 6.5], [{ kind: "sum", of: ["x", "query"] }, 1, 2, 0],
  ]) assert.equal(of(recipe, row, column).value, expected, recipe.kind);
});

test("a dot product lists its largest terms, and adds up those beyond four", () => {
  const { parts } = of({ kind: "projected", left: "x", right: "wQuery", bias: "bQuery", ofHead: true }, 0, 2);
  assert.deepEqual(parts, [
    "3.0000 × 2.0000 = 6.0000 (dimension 3)", "4.0000 × −1.0000 = −4.0000 (dimension 4)",
    "1.0000 × 1.0000 = 1.0000 (dimension 1)", "2.0000 × 0.0000 = 0.0000 (dimension 2)", "bias: 0.5000",
  ]);
  assert.ok(of({ kind: "dot", left: "headQuery", right: "headKey" }, 0, 0).parts[0].endsWith("(dimension 4)"));
  const { terms, rest, sum } = sums.product([1, -5, 2, 0.5, 3, -0.25], [1, 1, 1, 1, 1, 1], String);
  assert.deepEqual([sum, terms.map(({ value }) => value), rest], [1.25, [-5, 3, 2, 1], { count: 2, value: 0.25 }]);
});

test("softmax is over unmasked keys, and subtracts a large maximum", () => {
  const { parts, value } = of({ kind: "softmax", of: "scores" }, 0, 0);
  near(value, Math.E ** 2 / (Math.E ** 2 + Math.E));
  assert.deepEqual(parts, [
    "exp(2.0000) = 7.3891", "the sum of the row's 2: 10.1073 (7.3891 for “▁x”, 2.7183 for “▁y”)",
  ]);
  const large = new Sums({ ...DATA, grids: { ...GRIDS, scores: grid([[900, 899, 0], [0, 0, 0]]) } });
  near(of({ kind: "softmax", of: "scores" }, 0, 1, large).value, 1 / (1 + Math.E));
});

test("LayerNorm subtracts the mean and divides by the deviation, RMSNorm by the root mean square", () => {
  near(of({ kind: "normalised", of: "x" }, 0, 1).value, ((2 - 2.5) / Math.sqrt(1.25)) * 2 + 0.5);
  const rms = new Sums({ ...DATA, normType: "rms" });
  near(of({ kind: "normalised", of: "x" }, 0, 1, rms).value, (2 / Math.sqrt(7.5)) * 2);
});

test("the bias of relative positions is added by its bucket", () => {
  const grids = { ...GRIDS, bias: grid([[0, 0.25, 0]]), buckets: grid([[0, 5, 6]]) };
  const { parts, value } = of({ kind: "biased", of: "products" }, 0, 1, new Sums({ ...DATA, grids }));
  assert.deepEqual([value, parts[1].endsWith("1 token after the query: bucket 5")], [-6.25, true]);
});

test("the neuron view multiplies query and key dimension by dimension, and values by weights", () => {
  const [, , terms] = neuronsOf("products", DATA, 0);
  assert.deepEqual([...terms.grid.values], [3.5, 13, 0, -6.5, 7, 0]);
  assert.deepEqual([terms.first, terms.notes(0)], [3, "Σ 16.50"]);
  const [values, weighted, output] = neuronsOf("values", DATA, 0);
  assert.deepEqual([...weighted.grid.values], [0.5, 5, 1, 10, 0, -0]);
  assert.deepEqual([values.notes(1), weighted.limit], ["× 0.5000", 40]);
  const sum = { ...output, window: windowOf(output, { query: 1, key: 0, dimension: 0 }, DATA) };
  assert.deepEqual(sum.window, { row: 1, rows: 1, column: 0, columns: 2 }, "the sum alone has the query's row");
  assert.ok(sums.of(sum, 1, 0).name.startsWith("“▁b”"));
  assert.deepEqual(neuronsOf("mask", DATA, 0), []);
});

test("changes of an edit are found cell by cell, without rounding and other shapes", () => {
  const before = { x: grid([[1, 2], [3, 4]]), y: grid([[5]]), z: grid([[1, 2]]) };
  const now = { x: grid([[1, 2.5], [3, 4.000001]]), y: grid([[5]]), z: grid([[1]]) };
  assert.deepEqual(changesBetween(before, now), { x: new Set([1]) });
  assert.equal(changesBetween(before, before), null);
});
