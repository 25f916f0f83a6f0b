import assert from "node:assert/strict";
import { test } from "node:test";

import { columnsIn, moved } from "../../headlight/components/beam_tree/moves.js";

// a (row 0) -> b (row 0), c (row 1); d (row 2) -> e (row 2)
const BRANCHES = [
  { parent: -1, step: 0, row: 0 },
  { parent: -1, step: 0, row: 2 },
  { parent: 0, step: 1, row: 0 },
  { parent: 0, step: 1, row: 1 },
  { parent: 1, step: 1, row: 2 },
];
const UP = [-1, 0], DOWN = [1, 0], LEFT = [0, -1], RIGHT = [0, 1];

test("right goes to the first continuation, left to what a branch grew from", () => {
  assert.equal(moved(BRANCHES, 0, RIGHT), 2);
  assert.equal(moved(BRANCHES, 1, RIGHT), 4);
  assert.equal(moved(BRANCHES, 3, LEFT), 0);
});

test("up and down stay within the step, in the order of the rows", () => {
  assert.equal(moved(BRANCHES, 0, DOWN), 1);
  assert.equal(moved(BRANCHES, 2, DOWN), 3);
  assert.equal(moved(BRANCHES, 3, DOWN), 4);
  assert.equal(moved(BRANCHES, 4, UP), 3);
});

test("at a border one stays", () => {
  assert.equal(moved(BRANCHES, 0, UP), 0);
  assert.equal(moved(BRANCHES, 0, LEFT), 0);
  assert.equal(moved(BRANCHES, 2, RIGHT), 2);
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
