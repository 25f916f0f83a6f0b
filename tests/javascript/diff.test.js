// Differences between two sequences.

import assert from "node:assert/strict";
import { test } from "node:test";

import { aligned, changesBetween, isSame } from "../../headlight/components/lib/diff.js";

const changed = (one, other) => changesBetween([...one], [...other]);

test("what differs is named by its places in both", () => {
  assert.deepEqual(changed("", ""), []);
  assert.deepEqual(changed("abc", "abc"), []);
  assert.deepEqual(changed("abc", ""), [[0, 3, 0, 0]]);
  assert.deepEqual(changed("", "ab"), [[0, 0, 0, 2]]);
  assert.deepEqual(changed("abcd", "axyd"), [[1, 3, 1, 3]]);
  assert.deepEqual(changed("abcde", "xabde"), [[0, 0, 0, 1], [2, 3, 3, 3]]);
});

test("as many places as can be stay the same", () => {
  const longest = ([first, ...one], other) => {
    if (first === undefined) return 0;
    const at = other.indexOf(first), without = longest(one, other);
    return at < 0 ? without : Math.max(without, 1 + longest(one, other.slice(at + 1)));
  };
  const digits = (number) => [...number.toString(3)];
  for (let number = 1; number < 400; number += 1) {
    const one = digits(number * 7919), other = digits(number * 104729), changes = changesBetween(one, other);
    const kept = one.length - changes.reduce((sum, [from, to]) => sum + to - from, 0);
    assert.equal(kept, longest(one, other));
    const back = changes.reduceRight((made, [from, to, start, stop]) => {
      return made.toSpliced(from, to - from, ...other.slice(start, stop));
    }, one);
    assert.deepEqual(back, other, "the changes make one into the other");
  }
});

test("sequences are the same where every place is", () => {
  assert.ok(isSame([1, 2], [1, 2]) && isSame([], []));
  assert.ok(!isSame([1, 2], [1]) && !isSame([1, 2], [1, 3]));
});

test("elements stand side by side, each once and in order, with the greatest gain of all pairs", () => {
  const gains = [[0.5, 2, -1], [1, 1.75, -1]];
  assert.deepEqual(aligned(2, 3, (left, right) => gains[left][right]), [[0, 0], [1, 1], [null, 2]]);
  assert.deepEqual(aligned(2, 1, () => -1), [[0, null], [1, null], [null, 0]]);
  assert.deepEqual([aligned(0, 1, null), aligned(0, 0, null)], [[[null, 0]], []]);
});
