// The facts of a training as the replay player draws and words them.

import assert from "node:assert/strict";
import { test } from "node:test";

import { decodeFacts } from "../../headlight/components/lib/facts.js";
import { mostChanged, storyOf } from "../../headlight/components/replay_player/story.js";
import {
  headStory, headText, lossText, outputText, scoreText,
} from "../../headlight/components/replay_player/words.js";

const array = (shape, values) => ({
  dtype: "float32", shape, base64: Buffer.from(Float32Array.from(values).buffer).toString("base64"),
});

// Three snapshots, one layer of two heads, two target tokens, one source token and the end.
const FACTS = decodeFacts({
  kind: "cross", languages: ["English", "German"], steps: [0, 10, 100], outputs: ["so so so", "Hund", "Der  Hund"],
  score_name: "BLEU", source_text: "The dog", target_text: "Der Hund",
  source_tokens: ["▁dog", "</s>"], decoder_input_tokens: ["<s>", "▁Der"], target_tokens: ["▁Der", "▁Hund"],
  losses: array([3, 2], [5, 8, 10, 6, 150, 2]), scores: array([2, 2], [10, 4, 100, 31.5]),
  probabilities: array([3, 2], [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]),
  attention: { dtype: "uint16", shape: [3, 1, 2, 2, 2], base64: Buffer.alloc(48).toString("base64") },
  focus: array([3, 1, 2], [0.5, 0.5, 0.6, 0.8, 0.75, 1]), uniform: 0.5,
  patterns: { 0.1: [null, null, { label: "alignment", rows: 2, eligible: 2 }] },
});

test("arrays arrive as they were, names in camel case", () => {
  assert.deepEqual([...FACTS.probabilities.weights], [...Float32Array.of(0.1, 0.2, 0.3, 0.4, 0.5, 0.6)]);
  assert.deepEqual(FACTS.attention.shape, [3, 1, 2, 2, 2]);
  assert.equal(FACTS.attention.weights.constructor, Uint16Array);
  assert.equal(decodeFacts(array([2], [1, 2])).constructor, Float32Array);
  assert.deepEqual(decodeFacts({ a_b: [null, "x", { c_d: 1 }] }), { aB: [null, "x", { cD: 1 }] });
});

test("each snapshot has its update, its output and its head", () => {
  const { texts, curves: [loss], course } = storyOf(FACTS, 0, 1);
  assert.deepEqual(texts.map(({ place }) => place), ["Update 0 of 100", "Update 10 of 100", "Update 100 of 100"]);
  assert.deepEqual(texts.map(({ right }) => right), [false, false, true], "blanks do not count");
  assert.match(texts[2].head, /puts 100 % .* \(spread evenly: 50 %\)\. In 2 of 2 rows that is the matching/);
  assert.doesNotMatch(texts[1].head, /matching/);
  assert.deepEqual(loss.texts, ["", "6.00", "3.43"], "6 + (100 - 10) / (150 - 10) * (2 - 6) = 3.43");
  assert.match(texts[0].spoken, /^update 0 of 100: no loss yet, wrote: so so so$/);
  assert.match(course, /^It went from 50 % to 100 %\. None of the 2 heads changes more\.$/);
  assert.match(storyOf(FACTS, 0, 0).course, /Layer 1, head 2 changes most: from 50 % to 100 %\.$/);
  assert.deepEqual(mostChanged(FACTS), { layer: 0, head: 1, first: 0.5, last: 1 });
});

test("curves lie among the snapshots, and their dots at each", () => {
  const { curves: [loss, score, focus], length, ticks } = storyOf(FACTS, 0, 1);
  const last = 2 + 50 / 90; // 50 updates beyond the last snapshot, which is 90 from the one before
  assert.deepEqual(loss.lines[0].x, [0.5, 1, last]);
  assert.deepEqual([loss.at[0], loss.high, length], [null, 10, last]);
  assert.deepEqual(score.at, [null, [1, 4], [2, 31.5]], "the latest that was measured by then");
  assert.deepEqual([score.title, score.texts], ["BLEU on held-out data", ["", "4.0", "31.5"]]);
  assert.deepEqual(focus.lines.map(({ faint }) => Boolean(faint)), [true, false], "the chosen head is drawn last");
  assert.deepEqual(ticks, [[0, "0"], [1, "10"], [2, "100"]]);
});

test("what has a single key to read has no curve of its focus", () => {
  const { curves, texts, course } = storyOf({ ...FACTS, uniform: null }, 0, 0);
  assert.deepEqual([curves.length, course], [2, ""]);
  assert.match(texts[0].head, /single key/);
});

test("numbers and outputs are written to be read", () => {
  assert.deepEqual([8.346, 0.1, 0.0946, 0.0004].map(lossText), ["8.35", "0.10", "0.09", "0.0004"]);
  assert.deepEqual([scoreText(0.996, "exact match"), scoreText(34.52, "BLEU")], ["100 %", "34.5"]);
  assert.deepEqual(outputText(" "), { wrote: "(nothing: the model ended the sentence at once)", more: "" });
  const { wrote, more } = outputText(Array(20).fill("so").join(" "));
  assert.deepEqual([wrote.split(" ").length, more], [16, "… and 4 more words"]);
  assert.equal(outputText("x".repeat(90)).wrote, `${"x".repeat(70)}…`);
  assert.match(headText(0.5, 0.25, null), /^A row puts 50 % on one token/);
  const still = { first: 0.5, last: 0.501, steps: [0, 1, 2], heads: 1, most: null };
  assert.equal(headStory(still), "It ends at 50 %, as it began.");
});
