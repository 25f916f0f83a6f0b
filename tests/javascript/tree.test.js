// A beam search as the tree draws it, and its arrow keys.

import assert from "node:assert/strict";
import { test } from "node:test";

import { columnsIn, moved } from "../../headlight/components/beam_tree/moves.js";
import { findingOf, treeOf } from "../../headlight/components/beam_tree/story.js";

const branch = (ids, parent, logProbability, place, outcome = null, rank = null, score = null) => {
  return { ids, token: `piece ${ids.at(-1)}`, parent, logProbability, place, outcome, rank, score };
};
const BRANCHES = [
  branch([7], -1, -0.5, 2),
  branch([8], -1, -0.4, 1),
  branch([9], -1, -2.0, 3, "fell out"),
  branch([7, 3], 0, -0.6, null, "ended", 1, -0.5),
  branch([8, 3], 1, -0.9, null, "ended", 2, -0.8),
  branch([7, 5], 0, -1.5, 1, "open"),
];

test("the best translation and its continuations stand above the others", () => {
  const drawn = treeOf(BRANCHES), all = (name) => drawn.map((each) => each[name]);
  assert.deepEqual(all("ids"), ["7", "7.3", "7.5", "8", "8.3", "9"]);
  assert.deepEqual([all("row"), all("parent")], [[0, 0, 1, 2, 2, 3], [-1, 0, 0, -1, 3, -1]]);
  assert.deepEqual(all("look"), ["best", "best ended", "", "", "ended", "dropped"]);
  assert.deepEqual(all("note"), ["", "1", "", "", "2", ""]);
  for (const part of ["“piece 3”, step 2: 90.5 %", "−0.60", "rank 1", "−0.50"]) {
    assert.ok(drawn[1].words.includes(part), "e^-0.1");
  }
  assert.ok(drawn[0].words.endsWith("place 2 in the beam."));
});

test("the finding counts the branches and names the worst place of the best translation", () => {
  const { headline, more } = findingOf(BRANCHES), numbers = (text) => text.match(/\d+/g)?.map(Number);
  assert.deepEqual([numbers(headline), numbers(more)], [[1, 2], [6, 2, 1, 1]]);
  const led = BRANCHES.map((each, at) => (at === 0 ? { ...each, place: 1 } : each));
  const others = [led, [branch([3], -1, -0.1, null, "ended", 1, -0.1)], BRANCHES.slice(0, 3)].map((each) => {
    return findingOf(each).headline;
  });
  assert.deepEqual([new Set(others).size, others.some(numbers)], [3, false]);
});

test("right goes to the first continuation, left to the parent, up and down stay within the step", () => {
  const parents = [-1, -1, 0, 0, 1], rows = [0, 2, 0, 1, 2];
  const tree = parents.map((parent, at) => ({ parent, step: Number(parent >= 0), row: rows[at] }));
  const UP = [-1, 0], DOWN = [1, 0], LEFT = [0, -1], RIGHT = [0, 1];
  for (const [from, direction, to] of [
    [0, RIGHT, 2], [1, RIGHT, 4], [3, LEFT, 0], [0, DOWN, 1], [2, DOWN, 3], [3, DOWN, 4], [4, UP, 3], [0, UP, 0],
    [0, LEFT, 0], [2, RIGHT, 2],
  ]) assert.equal(moved(tree, from, direction), to);
});

test("columns are as wide as there is room for, so that the last is not cut", () => {
  assert.deepEqual(columnsIn(1106, 10), { pitch: 89, gap: 12, wide: 77 }, "no wider than a word needs");
  for (const [room, steps] of [[1106, 14], [878, 14], [358, 6], [1106, 19]]) {
    const { pitch, gap, wide } = columnsIn(room, steps);
    assert.ok(steps * pitch - gap <= room && (steps + 1) * pitch > room - steps, `${steps} in ${room}`);
    assert.ok(gap > 0 && wide + gap === pitch && wide >= 30);
  }
  assert.equal(columnsIn(358, 50).pitch, 56, "narrower ones could not be read: they scroll");
});
