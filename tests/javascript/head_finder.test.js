// The finder of heads and the card of one head.

import assert from "node:assert/strict";
import { test } from "node:test";

import { denseOf, wordsOf as wordsOfToken } from "../../headlight/components/head_card/lines.js";
import { nextDot } from "../../headlight/components/head_finder/plot.js";
import { fits, kindsOf, toggledKinds } from "../../headlight/components/head_finder/ranking.js";

const KINDS = [{ kind: "encoder" }, { kind: "decoder" }, { kind: "cross" }];
const HEADS = [
  { kind: "encoder", pattern: "next" }, { kind: "encoder", pattern: "same" }, { kind: "cross", pattern: "next" },
];
const CHOSEN = { x: "entropy", y: "error", kinds: "", role: "" };

test("an arrow goes to the nearest dot on its side, and through dots at one point", () => {
  const dots = [{ x: 0, y: 0 }, { x: 10, y: 1 }, { x: 4, y: 40 }, { x: 10, y: 1 }, { x: 30, y: 0 }];
  for (const [from, direction, to] of [
    [0, [0, 1], 1], [1, [0, 1], 3], [3, [0, 1], 4], [3, [0, -1], 1], [0, [1, 0], 1], [0, [-1, 0], null],
    [2, [-1, 0], 0],
  ]) assert.equal(nextDot(dots, from, direction), to);
});

test("kinds are hidden one by one, and hiding the last shows all", () => {
  assert.deepEqual(kindsOf(CHOSEN, KINDS), ["encoder", "decoder", "cross"]);
  assert.deepEqual(kindsOf({ kinds: "cross.nonsense" }, KINDS), ["cross"]);
  const toggled = [["", "decoder"], ["encoder.cross", "decoder"], ["cross", "cross"]].map(([kinds, kind]) => {
    return toggledKinds({ kinds }, KINDS, kind);
  });
  assert.deepEqual(toggled, ["encoder.cross", "", ""]);
});

test("a head is filtered by kind and pattern", () => {
  const fitting = (choice) => HEADS.map((head) => fits(head, { ...CHOSEN, ...choice }, KINDS));
  assert.deepEqual(fitting({ kinds: "encoder" }), [true, true, false]);
  assert.deepEqual(fitting({ role: "next" }), [true, false, true]);
});

test("an example's cells are a map, and a token names its largest weights", () => {
  const example = { keys: ["▁a", "▁b", "</s>"], queries: ["▁x", "▁y"], cells: [1, 3, 5], weights: [0.9, 0.25, 0.75] };
  const map = denseOf(example);
  assert.deepEqual(map, [[0, 0.9, 0], [0.25, 0, 0.75]]);
  const ending = (side, index) => wordsOfToken(example, map, { side, index }).split(/ (?:looks at|by) /)[1];
  assert.deepEqual([ending("output", 1), ending("source", 1)], ["“</s>” 75 %, “▁a” 25 %.", "“▁x” 90 %."]);
});
