// The finder of heads and the card of one: places of dots, keys, filters and sentences.

import assert from "node:assert/strict";
import { test } from "node:test";

import { barsOf } from "../../headlight/components/head_card/histogram.js";
import { denseOf, wordsOf as wordsOfToken } from "../../headlight/components/head_card/lines.js";
import {
  dotAt, isHollow, nextDot, rangeOf, SHAPES, shapeAt, ticksOf,
} from "../../headlight/components/head_finder/plot.js";
import {
  fits, kindsOf, nameOf, toggledKinds, wordsOf,
} from "../../headlight/components/head_finder/ranking.js";
import { shortWeight } from "../../headlight/components/lib/format.js";

const KINDS = [{ kind: "encoder" }, { kind: "decoder" }, { kind: "cross" }];
const DATA = {
  kinds: KINDS,
  measures: [{ name: "entropy", label: "entropy, nats", says: "" }, { name: "error", label: "error", says: "" }],
  heads: [
    { kind: "encoder", layer: 0, head: 0, name: "encoder one", pattern: "next", share: 0.5, says: "It looks on." },
    { kind: "encoder", layer: 0, head: 1, name: "encoder two", pattern: "same", share: 0.9, says: "It stays." },
    { kind: "cross", layer: 1, head: 0, name: "cross one", pattern: "next", share: 0.7, says: "It aligns." },
  ],
  values: { entropy: [[1.5, 0.1], [0.25, 0.002], [1, null]], error: [null, null, [0.2, 0.01]] },
};
const CHOSEN = { x: "entropy", y: "error", kinds: "", role: "", head: "encoder.1.1" };

test("a range has a margin on both sides, also of equal values, and there is none without values", () => {
  const [low, high] = rangeOf([0, null, 1]);
  assert.ok(low < 0 && low > -0.2 && high > 1 && high < 1.2);
  assert.deepEqual(rangeOf([2, 2]), [1.5, 2.5]);
  assert.equal(rangeOf([null, null]), null);
});

test("ticks are round numbers within the range, at most as many as are wanted and one", () => {
  assert.deepEqual(ticksOf([-0.24, 1.03], 6).map(({ text }) => text), [
    "0.0", "0.5", "1.0",
  ]);
  assert.deepEqual(ticksOf([-4, 2], 6).map(({ text }) => text), ["−4", "−3", "−2", "−1", "0", "1", "2"]);
  for (const range of [[-1e-3, 2e-3], [0, 1], [-5, 700], [0.995, 1.005]]) {
    const ticks = ticksOf(range, 6);
    assert.ok(ticks.length >= 2 && ticks.length <= 7, `${range}: ${ticks.length}`);
    assert.ok(ticks.every(({ value }) => value >= range[0] - 1e-9 && value <= range[1] + 1e-9));
    assert.equal(new Set(ticks.map(({ text }) => text)).size, ticks.length);
  }
});

test("each of the first layers has a shape of its own, and later ones are hollow", () => {
  const shapes = Array.from({ length: 2 * SHAPES }, (_, layer) => `${shapeAt(layer, 10, 10, 6)} ${isHollow(layer)}`);
  assert.equal(new Set(shapes).size, 2 * SHAPES);
  assert.ok(shapes.every((path) => !path.includes("NaN")));
});

test("an arrow goes to the nearest dot on its side, and through dots in one place", () => {
  const dots = [{ x: 0, y: 0 }, { x: 10, y: 1 }, { x: 4, y: 40 }, { x: 10, y: 1 }, { x: 30, y: 0 }];
  assert.equal(nextDot(dots, 0, [0, 1]), 1);
  assert.equal(nextDot(dots, 1, [0, 1]), 3);
  assert.equal(nextDot(dots, 3, [0, 1]), 4);
  assert.equal(nextDot(dots, 3, [0, -1]), 1);
  assert.equal(nextDot(dots, 0, [1, 0]), 1);
  assert.equal(nextDot(dots, 0, [-1, 0]), null);
  assert.equal(nextDot(dots, 2, [-1, 0]), 0);
});

test("every dot is reached by arrows from any other", () => {
  const dots = Array.from({ length: 40 }, (_, at) => ({ x: (at * 37) % 23, y: (at * 53) % 19 }));
  const reached = new Set([0]), left = [0];
  while (left.length) {
    const from = left.pop();
    for (const way of [[0, 1], [0, -1], [1, 0], [-1, 0]]) {
      const to = nextDot(dots, from, way);
      if (to !== null && !reached.has(to)) reached.add(to), left.push(to);
    }
  }
  assert.equal(reached.size, dots.length);
});

test("a click finds the nearest dot within reach", () => {
  const dots = [{ x: 0, y: 0 }, { x: 10, y: 0 }];
  assert.equal(dotAt(dots, 6, 0, 22), 1);
  assert.equal(dotAt(dots, 4, 0, 22), 0);
  assert.equal(dotAt(dots, 60, 0, 22), null);
  assert.equal(dotAt([], 0, 0, 22), null);
});

test("kinds are hidden one by one, and none hidden is all shown", () => {
  assert.deepEqual(kindsOf(CHOSEN, KINDS), ["encoder", "decoder", "cross"]);
  assert.equal(toggledKinds(CHOSEN, KINDS, "decoder"), "encoder.cross");
  assert.equal(toggledKinds({ kinds: "encoder.cross" }, KINDS, "decoder"), "");
  assert.deepEqual(kindsOf({ kinds: "cross.nonsense" }, KINDS), ["cross"]);
  assert.deepEqual(kindsOf({ kinds: toggledKinds({ kinds: "cross" }, KINDS, "cross") }, KINDS).length, 3);
});

test("a head fits its kind and its pattern", () => {
  const fitting = (choice) => DATA.heads.map((head) => fits(head, { ...CHOSEN, ...choice }, KINDS));
  assert.deepEqual(fitting({}), [true, true, true]);
  assert.deepEqual(fitting({ kinds: "encoder" }), [true, true, false]);
  assert.deepEqual(fitting({ role: "next" }), [true, false, true]);
});

test("a head is said by its name, its sentence and both measures", () => {
  assert.equal(nameOf(DATA.heads[2]), "cross.2.1");
  assert.equal(wordsOf(DATA, 2, CHOSEN), "Cross one: It aligns. entropy, nats 1.00; error 0.20.");
  assert.equal(wordsOf(DATA, 0, { ...CHOSEN, y: "entropy" }), "Encoder one: It looks on. entropy, nats 1.50.");
});

test("an example's cells are a map, of which a token says its largest weights", () => {
  const example = { keys: ["▁a", "▁b", "</s>"], queries: ["▁x", "▁y"], cells: [1, 3, 5], weights: [0.9, 0.25, 0.75] };
  const map = denseOf(example);
  assert.deepEqual(map, [[0, 0.9, 0], [0.25, 0, 0.75]]);
  assert.equal(wordsOfToken(example, map, { side: "output", index: 1 }), "“▁y” looks at “</s>” 75 %, “▁a” 25 %.");
  assert.equal(wordsOfToken(example, map, { side: "source", index: 1 }), "“▁b” is looked at by “▁x” 90 %.");
  const none = wordsOfToken(example, denseOf({ ...example, cells: [] }), { side: "source", index: 0 });
  assert.equal(none, "“▁a” is looked at by under 1 % each.");
  assert.deepEqual([0.917, 1, 0.004].map(shortWeight), [".92", "1.00", ".00"]);
});

test("bars are as high as their share of the greatest, and stand within the drawing", () => {
  const bars = barsOf([0, 5, 10]);
  assert.equal(bars[0].high, 0);
  assert.equal(bars[2].high, 2 * bars[1].high);
  assert.ok(bars.every(({ y, high }) => y >= 0 && y + high <= 74));
  assert.ok(barsOf([0, 0]).every(({ high }) => high === 0));
});
