// Facts of a training as the replay player draws them, and the strip below its slider.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Snapshots, SnapshotStrip } from "../../headlight/components/replay_player/snapshots.js";
import { mostChanged, storyOf } from "../../headlight/components/replay_player/story.js";
import { headStory, lossText, outputText, scoreText } from "../../headlight/components/replay_player/words.js";

const array = (shape, values) => ({ shape, weights: Float32Array.from(values) });

// Three snapshots, one layer of two heads, two target tokens, one source token and the end.
const FACTS = {
  kind: "cross", languages: ["English", "German"], steps: [0, 10, 100], outputs: ["so so so", "Hund", "Der  Hund"],
  scoreName: "BLEU", sourceText: "The dog", targetText: "Der Hund",
  sourceTokens: ["▁dog", "</s>"], decoderInputTokens: ["<s>", "▁Der"], targetTokens: ["▁Der", "▁Hund"],
  losses: array([3, 2], [5, 8, 10, 6, 150, 2]), scores: array([2, 2], [10, 4, 100, 31.5]),
  attention: { shape: [3, 1, 2, 2, 2] },
  focus: array([3, 1, 2], [0.5, 0.5, 0.6, 0.8, 0.75, 1]), uniform: 0.5,
  patterns: { 0.1: [null, null, { label: "alignment", rows: 2, eligible: 2 }] },
};

test("each snapshot has its update, its output and its head", () => {
  const { texts, curves: [loss], course } = storyOf(FACTS, 0, 1);
  assert.deepEqual(texts.map(({ place }) => place), ["Update 0 of 100", "Update 10 of 100", "Update 100 of 100"]);
  assert.deepEqual(texts.map(({ right }) => right), [false, false, true], "blanks do not count");
  const numbers = texts.map(({ head }) => head.match(/\d+ (?:%|of \d+)/g));
  assert.deepEqual(numbers, [["50 %", "50 %"], ["80 %", "50 %"], ["100 %", "50 %", "2 of 2"]]);
  assert.deepEqual(loss.texts, ["", "6.00", "3.43"], "6 + (100 - 10) / (150 - 10) * (2 - 6) = 3.43");
  assert.ok(course.includes("from 50 % to 100 %"));
  assert.deepEqual(mostChanged(FACTS), { layer: 0, head: 1, first: 0.5, last: 1 });
  assert.ok(storyOf(FACTS, 0, 0).course.endsWith("Layer 1, head 2 changes most: from 50 % to 100 %."));
  const still = headStory({ first: 0.5, last: 0.501, steps: [0, 1, 2], heads: 1, most: null });
  assert.equal(still.match(/\d+ %/g).length, 1);
});

test("curves lie among the snapshots, with a dot at each", () => {
  const { curves: [loss, score, focus], length, ticks } = storyOf(FACTS, 0, 1);
  const last = 2 + 50 / 90; // 50 updates beyond the last snapshot, which is 90 from the one before
  assert.deepEqual(loss.lines[0].x, [0.5, 1, last]);
  assert.deepEqual([loss.at[0], loss.high, length], [null, 10, last]);
  assert.deepEqual(score.at, [null, [1, 4], [2, 31.5]], "the latest that was measured by then");
  assert.deepEqual(score.texts, ["", "4.0", "31.5"]);
  assert.deepEqual(focus.lines.map(({ faint }) => Boolean(faint)), [true, false], "the chosen head is drawn last");
  assert.deepEqual(ticks, [[0, "0"], [1, "10"], [2, "100"]]);
  const single = storyOf({ ...FACTS, uniform: null }, 0, 0);
  assert.deepEqual([single.curves.length, single.course], [2, ""], "rows with a single key have no focus");
});

test("numbers and outputs are short", () => {
  assert.deepEqual([8.346, 0.1, 0.0946, 0.0004].map(lossText), ["8.35", "0.10", "0.09", "0.0004"]);
  assert.deepEqual([scoreText(0.996, "exact match"), scoreText(34.52, "BLEU")], ["100 %", "34.5"]);
  const { wrote, more } = outputText(Array(20).fill("so").join(" "));
  assert.deepEqual([wrote.split(" ").length, more.match(/\d+/)[0]], [16, "4"]);
  assert.equal(outputText("x".repeat(90)).wrote, `${"x".repeat(70)}…`);
  assert.ok(outputText(" ").wrote);
});

// Two snapshots, one layer, two heads, two queries and two keys.
const WEIGHTS = [0, 1, 2, 3, 10, 11, 12, 13, 20, 21, 22, 23, 30, 31, 32, 33].map((value) => value * 1000);
const DATA = {
  layers: 1, heads: 2, queries: ["<s>", "▁tu"], predicts: ["▁tu", "</s>"], keys: ["<s>", "▁tu"], causal: true,
  attention: { shape: [2, 1, 2, 2, 2], weights: Uint16Array.from(WEIGHTS) },
};

test("a map is found by snapshot, layer and head, and a cell has its weight", () => {
  const snapshots = new Snapshots(DATA), head = { layer: 0, head: 1 };
  const { values, rows, columns, full, causal } = snapshots.map(1, head);
  assert.deepEqual([...values], [30_000, 31_000, 32_000, 33_000]);
  assert.deepEqual([rows, columns, full, causal], [2, 2, 65535, true]);
  assert.equal(snapshots.weight(0, head, 1, 0), 12_000 / 65535);
  const text = (row, column) => snapshots.cellText(1, { ...head, row, column });
  assert.ok(text(1, 0).startsWith("Layer 1, head 2: to write “</s>” after “▁tu”,") && text(1, 0).endsWith(" 49 %"));
  assert.ok(!text(0, 1).includes("%"), "masked");
});

test("a point on the strip is the snapshot at its place", () => {
  const strip = new SnapshotStrip({}, () => {});
  strip.measure(11, 330);
  assert.deepEqual([strip.frames, strip.room, strip.edge], [11, 30, 15]);
  assert.deepEqual([15, 29, 31, 165, 315].map((x) => strip.snapshotAt(x)), [0, 0, 1, 5, 10]);
  strip.measure(100, 300);
  assert.equal(strip.frames, 10, "as many as there is room for");
  strip.measure(1, 300);
  assert.deepEqual([strip.frames, strip.snapshotAt(200)], [1, 0]);
});
