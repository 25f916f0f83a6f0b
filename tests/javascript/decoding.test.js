// A trace as the decoding player draws and words it.

import assert from "node:assert/strict";
import { test } from "node:test";

import { hardestStep, hasRoomAfter, stepsOf } from "../../headlight/components/decoding_player/story.js";
import { entropyText } from "../../headlight/components/decoding_player/words.js";
import { averageMap } from "../../headlight/components/lib/maps.js";
import { isNeverChosen } from "../../headlight/components/lib/trace.js";
import { chanceText, headName, percent } from "../../headlight/components/lib/words.js";

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

test("a step has its candidates, and the taken one where it is not among them", () => {
  const { steps: [first, second] } = stepsOf(TRACE, HEAD, {});
  assert.deepEqual(first.candidates.map(({ id, rank, taken, special }) => [id, rank, taken, special]), [
    [0, 1, false, true], [9, 2, false, false], [7, 3, true, false],
  ]);
  assert.equal(first.rest, "all others together 5.0 %");
  assert.deepEqual(second.candidates.map(({ taken }) => taken), [true, false]);
  assert.deepEqual([first, second].map(({ takable }) => takable), [true, true]);
});

test("a step says what it is fed, what follows, and what the head reads most", () => {
  const { steps: [first, second], name } = stepsOf(TRACE, HEAD, { forced: 1, unforced: "Katze" });
  assert.equal(name, "layer 1, head 1");
  const gives = "After “<s>” comes “▁Hund”: 25 %, choice number 3, forced by you. ";
  const reads = "Layer 1, head 1 looks most at “▁dog” (75 %) of the source.";
  assert.equal(first.sentence, gives + reads, "the first token has no prefix to choose from");
  assert.match(second.sentence, /at “▁dog” \(50 %\) of the source; of its own words, at “▁Hund” \(88 %\)\.$/);
  const given = stepsOf({ ...TRACE, numForced: 1 }, HEAD, {});
  assert.match(given.steps[0].sentence, /number 3, given, not chosen\./);
  assert.match(given.given, /^“▁Hund” is not the model's choice: it is given, as the language to be written/);
});

test("the hardest step is the one of the highest entropy that was open to choice", () => {
  assert.equal(hardestStep(TRACE), 0);
  assert.equal(hardestStep({ ...TRACE, numForced: 1 }), 1);
  const { finding } = stepsOf(TRACE, HEAD, {});
  assert.equal(finding.headline, "Step 1, “▁Hund”, was the hardest choice.");
  assert.match(finding.more, /^It got 25 %, the runner-up “▁Katze” 30 %: .* among 4.5/, "e^1.5");
  assert.match(finding.attempt, /^step 1 with “▁Katze” forced/);
  const cut = { ...TRACE, finished: false, entropies: Float32Array.of(0, 1) };
  assert.equal(stepsOf(cut, HEAD, {}).finding.attempt, "", "nothing can follow");
  assert.deepEqual([hasRoomAfter(cut, 0), hasRoomAfter(cut, 1)], [true, false]);
  assert.ok(isNeverChosen(TRACE, "<s>") && isNeverChosen(TRACE, "<pad>") && !isNeverChosen(TRACE, "</s>"));
});

test("what was forced stands beside what the model writes by itself", () => {
  const { branch } = stepsOf(TRACE, HEAD, { forced: 1, unforced: "Katze" });
  assert.deepEqual(branch, { forced: ["▁Hund"], now: "Hund", own: "Katze" });
  assert.equal(stepsOf(TRACE, HEAD, {}).branch, null);
});

test("an average is over all heads or layers that are not chosen", () => {
  assert.deepEqual([...averageMap(TRACE.cross, { layer: 0, head: null })], [0.5, 0.5, 0.25, 0.75]);
  assert.deepEqual([...averageMap(TRACE.cross, { layer: null, head: 1 })], [0.25, 0.75, 0, 1]);
  assert.deepEqual([...averageMap(TRACE.cross, HEAD)], [0.75, 0.25, 0.5, 0.5]);
  assert.equal(headName({ layer: 0, head: null }, { layers: 3, heads: 8 }), "average over the 8 heads of layer 1");
  assert.equal(headName({ layer: null, head: null }, { layers: 1, heads: 8 }), "average over all 1 layer and 8 heads");
});

test("a long text comes with the map of the chosen head alone", () => {
  const { cross, decoder, ...rest } = TRACE, map = ({ weights }) => ({ shape: [2, 2], weights: weights.subarray(4) });
  const long = { ...rest, shownCross: map(cross), shownDecoder: map(decoder), headCounts: [1, 2] };
  const { maps, all, layers, heads } = stepsOf(long, HEAD, {});
  assert.deepEqual([[...maps.cross], all.cross, layers, heads], [[0.25, 0.75, 0, 1], undefined, 1, 2]);
});

test("probabilities are never rounded to all or to nothing", () => {
  const written = [1, 0.9991, 0.5, 0.0012, 0.00034, 1e-7].map(chanceText);
  assert.deepEqual(written, ["> 99.9 %", "> 99.9 %", "50.0 %", "0.1 %", "0.03 %", "< 0.0001 %"]);
  assert.deepEqual([0, 0.004, 0.5, 0.997, 1].map(percent), ["0 %", "under 1 %", "50 %", "over 99 %", "100 %"]);
  assert.equal(entropyText(-0), "entropy 0.00 nats");
});
