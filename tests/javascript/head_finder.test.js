// The finder of heads and the card of one head.

import assert from "node:assert/strict";
import { test } from "node:test";

import { barsOf } from "../../headlight/components/head_card/histogram.js";
import { denseOf, wordsOf as wordsOfToken } from "../../headlight/components/head_card/lines.js";
import {
  dotAt, isHollow, nextDot, rangeOf, SHAPES, shapeAt, ticksOf,
} from "../../headlight/components/head_finder/plot.js";
import { fits, kindsOf, toggledKinds, wordsOf } from "../../headlight/components/head_finder/ranking.js";

const KINDS = [{ kind: "encoder" }, { kind: "decoder" }, { kind: "cross" }];
const DATA = {
  measures: [{ name: "entropy", label: "entropy, nats", says: "" }, { name: "error", label: "error", says: "" }],
  heads: [
    { kind: "encoder", layer: 0, head: 0, name: "encoder one", pattern: "next", says: "It looks on." },
    { kind: "encoder", layer: 0, head: 1, name: "encoder two", pattern: "same", says: "It stays." },
    { kind: "cross", layer: 1, head: 0, name: "cross one", pattern: "next", says: "It aligns." },
  ],
  values: { entropy: [[1.5, 0.1], [0.25, 0.002], [1, null]], error: [null, null, [0.2, 0.01]] },
};
const CHOSEN = { x: "entropy", y: "error", kinds: "", role: "" };

test("a range has a margin on both sides, also of equal values, and there is none without values", () => {
  const [low, high] = rangeOf([0, null, 1]);
  assert.ok(low < 0 && low > -0.2 && high > 1 && high < 1.2);
  assert.deepEqual([rangeOf([2, 2]), rangeOf([null, null])], [[1.5, 2.5], null]);
});

test("ticks are different round numbers within the range, few but at least two", () => {
  assert.deepEqual(ticksOf([-0.24, 1.03], 6).map(({ text }) => text), ["0.0", "0.5", "1.0"]);
  assert.deepEqual(ticksOf([-4, 2], 6).map(({ text }) => text), ["−4", "−3", "−2", "−1", "0", "1", "2"]);
  for (const range of [[-1e-3, 2e-3], [0, 1], [-5, 700], [0.995, 1.005]]) {
    const ticks = ticksOf(range, 6);
    assert.ok(ticks.length >= 2 && ticks.length <= 7, `${range}: ${ticks.length}`);
    assert.ok(ticks.every(({ value }) => value >= range[0] - 1e-9 && value <= range[1] + 1e-9));
    assert.equal(new Set(ticks.map(({ text }) => text)).size, ticks.length);
  }
});

test("each of the first layers has its shape, and the shapes of later layers are hollow", () => {
  const shapes = Array.from({ length: 2 * SHAPES }, (_, layer) => `${shapeAt(layer, 10, 10, 6)} ${isHollow(layer)}`);
  assert.equal(new Set(shapes).size, 2 * SHAPES);
  assert.ok(shapes.every((path) => !path.includes("NaN")));
});

test("an arrow goes to the nearest dot on its side, and through dots at one point", () => {
  const dots = [{ x: 0, y: 0 }, { x: 10, y: 1 }, { x: 4, y: 40 }, { x: 10, y: 1 }, { x: 30, y: 0 }];
  for (const [from, direction, to] of [
    [0, [0, 1], 1], [1, [0, 1], 3], [3, [0, 1], 4], [3, [0, -1], 1], [0, [1, 0], 1], [0, [-1, 0], null],
    [2, [-1, 0], 0],
  ]) assert.equal(nextDot(dots, from, direction), to);
});

test("every dot is reached by arrows from any other", () => {
  const dots = Array.from({ length: 40 }, (_, at) => ({ x: (at * 37) % 23, y: (at * 53) % 19 }));
  const reached = new Set([0]);
  for (const from of reached) { // grows while it is read
    for (const direction of [[0, 1], [0, -1], [1, 0], [-1, 0]]) reached.add(nextDot(dots, from, direction) ?? from);
  }
  assert.equal(reached.size, dots.length);
});

test("a click takes the nearest dot within reach", () => {
  const dots = [{ x: 0, y: 0 }, { x: 10, y: 0 }];
  assert.deepEqual([6, 4, 60].map((x) => dotAt(dots, x, 0, 22)), [1, 0, null]);
  assert.equal(dotAt([], 0, 0, 22), null);
});

test("kinds are hidden one by one, and hiding the last shows all", () => {
  assert.deepEqual(kindsOf(CHOSEN, KINDS), ["encoder", "decoder", "cross"]);
  assert.deepEqual(kindsOf({ kinds: "cross.nonsense" }, KINDS), ["cross"]);
  const toggled = [["", "decoder"], ["encoder.cross", "decoder"], ["cross", "cross"]].map(([kinds, kind]) => {
    return toggledKinds({ kinds }, KINDS, kind);
  });
  assert.deepEqual(toggled, ["encoder.cross", "", ""]);
});

test("a head is filtered by kind and pattern, and named with both measures", () => {
  const fitting = (choice) => DATA.heads.map((head) => fits(head, { ...CHOSEN, ...choice }, KINDS));
  assert.deepEqual(fitting({ kinds: "encoder" }), [true, true, false]);
  assert.deepEqual(fitting({ role: "next" }), [true, false, true]);
  assert.ok(wordsOf(DATA, 2, CHOSEN).endsWith(" entropy, nats 1.00; error 0.20."));
  assert.ok(wordsOf(DATA, 0, { ...CHOSEN, y: "entropy" }).endsWith(" It looks on. entropy, nats 1.50."));
});

test("an example's cells are a map, and a token names its largest weights", () => {
  const example = { keys: ["▁a", "▁b", "</s>"], queries: ["▁x", "▁y"], cells: [1, 3, 5], weights: [0.9, 0.25, 0.75] };
  const map = denseOf(example);
  assert.deepEqual(map, [[0, 0.9, 0], [0.25, 0, 0.75]]);
  const ending = (side, index) => wordsOfToken(example, map, { side, index }).split(/ (?:looks at|by) /)[1];
  assert.deepEqual([ending("output", 1), ending("source", 1)], ["“</s>” 75 %, “▁a” 25 %.", "“▁x” 90 %."]);
});

test("bars are as high as their share of the greatest, and stand within the drawing", () => {
  const bars = barsOf([0, 5, 10]);
  assert.deepEqual([bars[0].high, bars[2].high], [0, 2 * bars[1].high]);
  assert.ok(bars.every(({ y, high }) => y >= 0 && y + high <= 74));
  assert.ok(barsOf([0, 0]).every(({ high }) => high === 0));
});
