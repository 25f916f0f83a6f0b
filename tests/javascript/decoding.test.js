// A trace as the decoding player draws it.

import assert from "node:assert/strict";
import { test } from "node:test";

import { hardestStep, hasRoomAfter, stepsOf } from "../../headlight/components/decoding_player/story.js";
import { averageMap } from "../../headlight/components/lib/maps.js";
import { headName } from "../../headlight/components/lib/names.js";
import { isGreedyAt, isNeverChosen } from "../../headlight/components/lib/trace.js";
import { chanceText, percent } from "../../headlight/components/lib/words.js";

// Two source tokens, two steps, one layer of two heads.
const TRACE = {
  sourceIds: [5, 3], sourceTokens: ["▁dog", "</s>"], decoderInputIds: [1, 7], decoderInputTokens: ["<s>", "▁Hund"],
  targetIds: [7, 3], targetTokens: ["▁Hund", "</s>"], targetText: "Hund", finished: true, numForced: 0,
  targetProbabilities: Float32Array.of(0.25, 0.75), targetRanks: [3, 1], entropies: Float32Array.of(1.5, 0.5),
  candidateIds: [0, 9, 3, 8], candidateTokens: [["<pad>", "▁Katze"], ["</s>", "s"]],
  candidateProbabilities: Float32Array.of(0.4, 0.3, 0.75, 0.2),
  cross: { shape: [1, 2, 2, 2], weights: Float32Array.of(0.75, 0.25, 0.5, 0.5, 0.25, 0.75, 0, 1) },
  decoder: { shape: [1, 2, 2, 2], weights: Float32Array.of(1, 0, 0.125, 0.875, 1, 0, 0.375, 0.625) },
};
const HEAD = { layer: 0, head: 0 };

test("a step has its candidates, and the chosen token where it is not among them", () => {
  const { steps: [first, second] } = stepsOf(TRACE, HEAD, {});
  assert.deepEqual(first.candidates.map(({ id, rank, taken, special }) => [id, rank, taken, special]), [
    [0, 1, false, true], [9, 2, false, false], [7, 3, true, false],
  ]);
  assert.ok(first.rest.endsWith(" 5.0 %"));
  assert.deepEqual(second.candidates.map(({ taken }) => taken), [true, false]);
  const isGreedy = [2, 3].map((rank) => isGreedyAt({ ...TRACE, targetRanks: [rank, 1] }, 0));
  assert.deepEqual(isGreedy, [true, false], "padding above it is never chosen");
});

test("the hardest step has the highest entropy of those that were open to choice", () => {
  assert.deepEqual([hardestStep(TRACE), hardestStep({ ...TRACE, numForced: 1 })], [0, 1]);
  const cut = { ...TRACE, finished: false, entropies: Float32Array.of(0, 1) };
  assert.equal(stepsOf(cut, HEAD, {}).finding.attempt, "", "nothing can follow");
  assert.deepEqual([hasRoomAfter(cut, 0), hasRoomAfter(cut, 1), hasRoomAfter(TRACE, 1)], [true, false, true]);
  assert.deepEqual(["<s>", "<pad>", "</s>"].map((token) => isNeverChosen(TRACE, token)), [true, true, false]);
});

test("an average is over all heads or layers that are not chosen", () => {
  const average = (layer, head) => [...averageMap(TRACE.cross, { layer, head })];
  assert.deepEqual(average(0, null), [0.5, 0.5, 0.25, 0.75]);
  assert.deepEqual([average(null, 1), average(0, 0)], [[0.25, 0.75, 0, 1], [0.75, 0.25, 0.5, 0.5]]);
  const layers = { shape: [2, 1, 1, 2], weights: Float32Array.of(0.5, 0.5, 1, 0) };
  assert.deepEqual([...averageMap(layers, { layer: null, head: 0 })], [0.75, 0.25]);
  assert.equal(headName({ layer: 0, head: null }, { layers: 3, heads: 8 }), "average over the 8 heads of layer 1");
});

test("probabilities are never rounded to all or to nothing", () => {
  const written = [1, 0.9991, 0.5, 0.0012, 0.00034, 1e-7].map(chanceText);
  assert.deepEqual(written, ["> 99.9 %", "> 99.9 %", "50.0 %", "0.1 %", "0.03 %", "< 0.0001 %"]);
  assert.deepEqual([0, 0.004, 0.5, 0.997, 1].map(percent), ["0 %", "under 1 %", "50 %", "over 99 %", "100 %"]);
});
