// The token lines: facts as they are drawn, lines and keys, and the numbers of the sentences.

import assert from "node:assert/strict";
import { test } from "node:test";

import {
  changesOf, curve, lettersFor, linesOf, lookOf, moved, opacityOf, widthOf,
} from "../../headlight/components/token_lines/geometry.js";
import { linesStory } from "../../headlight/components/token_lines/story.js";
import { hiddenText, outputWords, shareText, sourceWords } from "../../headlight/components/token_lines/words.js";

// Two words of source, "The dog" and a mark; one layer of two heads.
const FACTS = {
  sourceTokens: ["▁The", "▁do", "g", ".", "</s>"],
  decoderInputTokens: ["<s>", "▁Der", "▁Hund", "."], targetTokens: ["▁Der", "▁Hund", ".", "</s>"],
  targetText: "Der Hund.", targetProbabilities: Float32Array.of(0.25, 0.5, 0.75, 1), targetRanks: [2, 1, 1, 1],
  cross: { shape: [1, 2, 4, 5], weights: Float32Array.from({ length: 40 }, (_, at) => at / 64) },
  candidateTokens: [["▁Die", "▁Der"], ["▁Hund", "▁Tier"], [".", "!"], ["</s>", "."]],
  candidateProbabilities: Float32Array.of(0.375, 0.25, 0.5, 0.25, 0.75, 0.125, 1, 0),
  hidden: [], unhiddenTokens: ["▁Der", "▁Hund", ".", "</s>"], harmless: null,
};
const HEAD = { layer: 0, head: 1 };

test("the lines have the tokens, their words and the weights of the chosen head", () => {
  const story = linesStory(FACTS, HEAD, "both");
  assert.deepEqual([story.sourceWords, story.outputWords], [[[0, 1], [1, 3], [3, 4]], [[0, 1], [1, 2], [2, 3]]]);
  assert.deepEqual(story.weights.map((row) => row[0] * 64), [20, 25, 30, 35]);
  assert.deepEqual([story.hidden, story.changed], [[], []]);
  assert.deepEqual(story.doubts, [{ token: "▁Die", probability: 0.375, isBest: false }, null, null, null]);
  assert.equal(linesStory(FACTS, { layer: 0, head: null }, "both").weights[0][0], 10 / 64);
  const { cross, ...facts } = FACTS, shownCross = { shape: [4, 5], weights: cross.weights.subarray(20) };
  assert.deepEqual(linesStory({ ...facts, shownCross, headCounts: [1, 2] }, HEAD, "both"), story, "of a long text");
});

test("rows are named by the tokens that name the rows of the map", () => {
  const { decoderInputTokens: fed, targetTokens: following } = FACTS;
  for (const [rows, ...expected] of [
    ["fed", fed, "input", null], ["predicted", following, "output", null], ["both", following, "output", fed],
  ]) {
    const { outputs, below, inputs } = linesStory(FACTS, HEAD, rows);
    assert.deepEqual([outputs, below, inputs], expected);
  }
});

test("a hidden word is hidden with all its tokens; its changes are marked, and lost words keep their place", () => {
  const unhiddenTokens = ["▁Der", "▁kleine", "▁Ma", "nn", ".", "</s>"];
  const story = linesStory({ ...FACTS, hidden: [1], unhiddenTokens, harmless: [0, 2] }, HEAD, "both");
  assert.deepEqual([story.hidden, story.changed, story.lost], [[1, 2], [1], []]);
  for (const named of ["“dog”", "“kleine Mann”", "“Hund”", "“The”", "“.”"]) assert.ok(story.headline.includes(named));
  const gone = linesStory({ ...FACTS, unhiddenTokens: ["▁Der", "▁alte", "▁Hund", ".", "</s>"] }, HEAD, "both");
  assert.deepEqual(gone.lost, [{ at: 1, text: "alte" }]);
});

test("a headline names lost, gained, hidden and harmless words up to three, and counts more", () => {
  const text = ({ hidden = ["not"], harmless = null, changes = [], isEmpty = false }) => {
    const outcome = { changes: changes.map(([lost, gained]) => ({ lost, gained })), words: 10, isEmpty };
    return hiddenText({ hidden, harmless, words: 8, outcome });
  };
  const marks = (some) => text(some).match(/“[^”]*”|\d+/g).slice(1).join(" "), four = [..."abcd"];
  for (const [changes, expected] of [
    [[[["nicht"], []]], "“nicht”"], [[[[], ["noch"]]], "“noch”"], [[[["nicht"], ["nie", "da"]]], "“nicht” “nie da”"],
    [[[["a"], ["b"]], [["c"], []]], "2 10"], [[[four, []]], "4 10"], [[[[], four]], "4"], [[], ""],
  ]) assert.equal(marks({ changes }), expected);
  assert.equal(marks({ harmless: ["a", "b", "c"] }), "“a” “b” “c”");
  assert.equal(marks({ harmless: four }), "4");
  assert.equal(marks({ hidden: ["a", "b"], harmless: ["c"] }), "“b”", "of several hidden words none is harmless alone");
  assert.equal(text({ hidden: four }).match(/\d+/)[0], "4");
  const endings = [{}, { isEmpty: true, changes: [[["a"], []]] }].map((some) => {
    return text({ ...some, hidden: [..."abcdefgh"] });
  });
  assert.notEqual(...endings);
});

test("a share is never rounded to all or to nothing", () => {
  const shares = [0, 0.0099, 0.01, 0.126, 0.994, 0.995, 1].map(shareText);
  assert.deepEqual(shares, ["0 %", "< 1 %", "1 %", "13 %", "99 %", "> 99 %", "100 %"]);
});

const DATA = {
  source: ["▁no", "▁cat", "▁no", ".", "</s>"], outputs: ["▁keine", "▁Katze", "</s>"], below: "output",
  probabilities: Float32Array.of(0.9, 0.25, 0.6), ranks: [1, 2, 1],
  weights: [[0.5, 0.25, 0.125, 0.125, 0], [0.001, 0.997, 0.002, 0, 0], [0, 0, 0, 0, 1]],
};

test("an output token names its probability, its largest weights and the sum of the others", () => {
  assert.equal(
    outputWords(DATA, 0),
    "“▁keine”, output token 1 (90 % sure) looks at “▁no” (source token 1) 50 %, “▁cat” 25 %, " +
      "“▁no” (source token 3) 13 %, the other 2 together 13 %.",
  );
  const inputs = ["<s>", "▁keine", "▁Katze"], both = outputWords({ ...DATA, inputs }, 1);
  assert.ok(both.startsWith("“▁keine” → “▁Katze”, output token 2 (25 % sure, rank 2) looks at “▁cat” > 99 %"));
  assert.ok(outputWords({ ...DATA, outputs: inputs, below: "input" }, 0).startsWith("“<s>”, input token 1 looks at "));
  const weights = [0.5, 0.25, 0.2, 0.05];
  const cut = (count) => ({ ...DATA, source: DATA.source.slice(1, 1 + count), weights: [weights.slice(0, count)] });
  assert.ok(outputWords(cut(3), 0).endsWith("“.” 20 %."));
  assert.ok(outputWords(cut(4), 0).endsWith(", the other one 5 %."));
});

test("a source token names the rows that attend to it most", () => {
  assert.equal(
    sourceWords(DATA, 1),
    "“▁cat”, source token 2, is looked at by “▁Katze” (output token 2) > 99 %, “▁keine” (output token 1) 25 %, " +
      "“</s>” (output token 3) 0 %.",
  );
  const more = { ...DATA, outputs: [...DATA.outputs, "!"], weights: [...DATA.weights, [0, 0.5, 0, 0, 0.5]] };
  assert.ok(sourceWords(more, 1).includes(" most by ") && sourceWords(more, 1).endsWith(" 25 %."));
});

test("weights from a hundredth on have a line, and the largest lies on top", () => {
  const lines = linesOf([[0.3, 0.009, 0.01], [0, 0.9, 0.1]]);
  assert.deepEqual(lines.map(({ row, column }) => [row, column]), [[0, 2], [1, 2], [0, 0], [1, 1]]);
  for (const look of [widthOf, opacityOf]) assert.ok(look(0.01) > 0 && look(0.2) < look(0.3));
  assert.deepEqual([opacityOf(1), Number(lookOf(0).strokeOpacity), Number(lookOf(0.5).strokeOpacity)], [1, 0, 0.53]);
  assert.equal(curve({ x: 10, y: 30 }, { x: 50.26, y: 270 }), "M10 30C10 150 50.3 150 50.3 270", "upright");
});

test("lines that stay change from their old weight, the others fade", () => {
  const before = linesOf([[0.5, 0, 0.25], [0.2, 0.8, 0]]), now = linesOf([[0.5, 0.5, 0], [0.1, 0.8, 0.1]]);
  const { stays, goes } = changesOf(before, now);
  const named = stays.map(({ at, weight }) => [now[at].row, now[at].column, weight, now[at].weight]);
  assert.deepEqual(named.sort(), [[0, 1, 0, 0.5], [1, 0, 0.2, 0.1], [1, 2, 0, 0.1]]);
  assert.deepEqual(goes, [{ row: 0, column: 2, weight: 0.25 }]);
  assert.deepEqual(changesOf(now, now), { stays: [], goes: [] });
});

test("letters shrink until the row fits, but not below 12 pixels", () => {
  assert.deepEqual([100, 700, 750, 3000].map((wide) => lettersFor(wide, 600, 15)), [15, 12, 12, 12]);
  assert.deepEqual([lettersFor(640, 600, 15), lettersFor(640, 600, 20)], [14, 18]);
});

test("arrow keys go along a row, and across to the nearest token of the other", () => {
  const rows = { source: [10, 50, 90], output: [20, 88] };
  const centres = Object.fromEntries(Object.entries(rows).map(([side, all]) => [side, all.map((x) => ({ x, y: 0 }))]));
  for (const [side, index, key, ...expected] of [
    ["source", 1, "ArrowRight", "source", 2], ["source", 2, "ArrowRight", "source", 2],
    ["source", 0, "ArrowLeft", "source", 0], ["source", 0, "End", "source", 2], ["output", 1, "Home", "output", 0],
    ["source", 2, "ArrowDown", "output", 1], ["output", 0, "ArrowUp", "source", 0],
    ["output", 0, "ArrowDown", "output", 0],
  ]) assert.deepEqual(Object.values(moved({ side, index }, key, centres)), expected);
  assert.equal(moved({ side: "output", index: 0 }, "a", centres), null);
});
