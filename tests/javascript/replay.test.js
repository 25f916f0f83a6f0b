// Facts and maps of a training as the replay player draws them.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Snapshots } from "../../headlight/components/replay_player/snapshots.js";
import { mostChanged, storyOf } from "../../headlight/components/replay_player/story.js";

const array = (shape, values) => ({ shape, weights: Float32Array.from(values) });

// Three snapshots, one layer of two heads, two target tokens, one source token and the end.
const FACTS = {
  kind: "cross", languages: ["English", "German"], steps: [0, 10, 100], outputs: ["so so so", "Hund", "Der  Hund"],
  scoreName: "BLEU", sourceText: "The dog", targetText: "Der Hund",
  sourceTokens: ["▁dog", "</s>"], decoderInputTokens: ["<s>", "▁Der"], targetTokens: ["▁Der", "▁Hund"],
  losses: array([3, 2], [5, 8, 10, 6, 150, 2]), scores: array([2, 2], [10, 4, 100, 31.5]),
  attention: { shape: [3, 1, 2, 2, 2] },
  focus: array([3, 1, 2], [0.5, 0.5, 0.6, 0.8, 0.75, 1]), uniform: 0.5,
  patterns: { 0.1: [null, null, { place: "the matching source word", rows: 2, eligible: 2 }] },
};

test("each snapshot has its update, its output and its head", () => {
  const { texts, curves: [loss] } = storyOf(FACTS, 0, 1);
  assert.deepEqual(texts.map(({ place }) => place), ["Update 0 of 100", "Update 10 of 100", "Update 100 of 100"]);
  assert.deepEqual(texts.map(({ right }) => right), [false, false, true], "blanks do not count");
  const numbers = texts.map(({ head }) => head.match(/\d+ (?:%|of \d+)/g));
  assert.deepEqual(numbers, [["50 %", "50 %"], ["80 %", "50 %"], ["100 %", "50 %", "2 of 2"]]);
  assert.deepEqual(loss.texts, ["", "6.00", "3.43"], "6 + (100 - 10) / (150 - 10) * (2 - 6) = 3.43");
  assert.deepEqual(mostChanged(FACTS), { layer: 0, head: 1, first: 0.5, last: 1 });
});

// Two snapshots, two layers, three heads, two queries and two keys.
const DATA = {
  layers: 2, heads: 3, queries: ["<s>", "▁tu"], predicts: ["▁tu", "</s>"], keys: ["<s>", "▁tu"], causal: true,
  attention: { shape: [2, 2, 3, 2, 2], weights: Uint16Array.from({ length: 48 }, (_, at) => 1000 * at) },
};

test("a map is found by snapshot, layer and head, and a cell has its weight", () => {
  const snapshots = new Snapshots(DATA), head = { layer: 0, head: 1 };
  const { values, rows, columns, full, causal } = snapshots.map(1, head);
  assert.deepEqual([...values], [28_000, 29_000, 30_000, 31_000]);
  assert.deepEqual([rows, columns, full, causal], [2, 2, 65535, true]);
  assert.equal(snapshots.weight(0, head, 1, 0), 6000 / 65535);
  const text = (row, column) => snapshots.cellText(1, { ...head, row, column });
  assert.ok(text(1, 0).startsWith("Layer 1, head 2: to write “</s>” after “▁tu”,") && text(1, 0).endsWith(" 46 %"));
  assert.ok(!text(0, 1).includes("%"), "masked");
});
