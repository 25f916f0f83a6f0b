// A beam search as the tree draws it, and its arrow keys.

import assert from "node:assert/strict";
import { test } from "node:test";

import { moved } from "../../headlight/components/beam_tree/moves.js";
import { treeOf } from "../../headlight/components/beam_tree/story.js";

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
  assert.ok(drawn[1].words.includes("90.5 %"), "e^-0.1");
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
