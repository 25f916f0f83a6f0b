import assert from "node:assert/strict";
import { test } from "node:test";

import { redistributed, written } from "../../headlight/components/weight_bars/weights.js";

const near = (found, expected) => found.forEach((each, at) => assert.ok(Math.abs(each - expected[at]) < 1e-12));

test("one weight is set and the others keep their ratios, all summing to 1", () => {
  near(redistributed([0.5, 0.3, 0.2], 0, 0.75), [0.75, 0.15, 0.1]);
  near(redistributed([0.5, 0.3, 0.2], 2, 0), [0.625, 0.375, 0]);
  near(redistributed([0.5, 0.3, 0.2], 1, 1), [0, 1, 0]);
});

test("others that are all 0 share the rest alike", () => {
  near(redistributed([0, 1, 0], 1, 0.4), [0.3, 0.4, 0.3]);
});

test("a row with a single key has the weight 1 whatever is drawn", () => {
  assert.deepEqual(redistributed([1], 0, 0.2), [1]);
});

test("an address has four digits at most", () => {
  assert.equal(written([0.5, 1 / 3, 1 / 6, 0]), "0.5-0.3333-0.1667-0");
});
