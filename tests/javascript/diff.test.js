// Differences between two sequences, and the alignment with the greatest gain.

import assert from "node:assert/strict";
import { test } from "node:test";

import { aligned, changesBetween, isSame } from "../../headlight/components/lib/diff.js";

test("changes turn one sequence into the other and leave a longest common subsequence", () => {
  const longest = ([first, ...one], other) => {
    if (first === undefined) return 0;
    const at = other.indexOf(first), without = longest(one, other);
    return at < 0 ? without : Math.max(without, 1 + longest(one, other.slice(at + 1)));
  };
  const digits = (number) => (number ? [...number.toString(3)] : []);
  for (let number = 0; number < 400; number += 1) {
    const one = digits(number * 7919), other = digits((number % 7) * 104729), changes = changesBetween(one, other);
    assert.equal(one.length - changes.reduce((sum, [from, to]) => sum + to - from, 0), longest(one, other));
    const back = changes.reduceRight((made, [from, to, start, stop]) => {
      return made.toSpliced(from, to - from, ...other.slice(start, stop));
    }, one);
    assert.deepEqual(back, other);
    assert.equal(isSame(one, other), !changes.length);
  }
});

test("neighbouring changes are one, with their positions in both sequences", () => {
  assert.deepEqual(changesBetween([..."abcde"], [..."xabde"]), [[0, 0, 0, 1], [2, 3, 3, 3]]);
  assert.deepEqual(changesBetween([..."abcd"], [..."axyd"]), [[1, 3, 1, 3]]);
});

test("elements are aligned once each, in order, with the greatest sum of gains", () => {
  const gains = [[0.5, 2, -1], [1, 1.75, -1]];
  assert.deepEqual(aligned(2, 3, (left, right) => gains[left][right]), [[0, 0], [1, 1], [null, 2]]);
  assert.deepEqual(aligned(2, 1, () => -1), [[0, null], [1, null], [null, 0]]);
  assert.deepEqual([aligned(0, 1, null), aligned(0, 0, null)], [[[null, 0]], []]);
});
