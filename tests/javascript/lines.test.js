// The token lines: facts as they are drawn, the places of lines and keys, and the sentences.

import assert from "node:assert/strict";
import { test } from "node:test";

import {
  changesOf, curve, lettersFor, linesOf, lookOf, moved, opacityOf, widthOf,
} from "../../headlight/components/token_lines/geometry.js";
import { linesStory } from "../../headlight/components/token_lines/story.js";
import {
  doubtText, hiddenText, outputWords, shareText, sourceWords,
} from "../../headlight/components/token_lines/words.js";

const DATA = {
  name: "layer 3, head 5",
  source: ["▁no", "▁cat", "▁no", ".", "</s>"],
  outputs: ["▁keine", "▁Katze", "</s>"],
  below: "output",
  probabilities: Float32Array.of(0.9, 0.25, 0.6),
  ranks: [1, 2, 1],
  weights: [
    [0.5, 0.25, 0.125, 0.125, 0],
    [0.001, 0.997, 0.002, 0, 0],
    [0, 0, 0, 0, 1],
  ],
};

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
  assert.equal(story.name, "layer 1, head 2");
  assert.deepEqual(story.sourceWords, [[0, 1], [1, 3], [3, 4]]);
  assert.deepEqual(story.outputWords, [[0, 1], [1, 2], [2, 3]]);
  assert.deepEqual(story.weights.map((row) => row[0] * 64), [20, 25, 30, 35]);
  assert.deepEqual([story.hidden, story.changed, story.whole], [[], [], "Der Hund."]);
  assert.match(story.headline, /^Click a word to hide it/);
  const mean = linesStory(FACTS, { layer: 0, head: null }, "both");
  assert.equal(mean.name, "average over the 2 heads of layer 1");
  assert.equal(mean.weights[0][0], 10 / 64);
});

test("the map of the chosen head alone is drawn the same", () => {
  const { cross, ...facts } = FACTS, shownCross = { shape: [4, 5], weights: cross.weights.subarray(20) };
  const alone = { ...facts, shownCross, headCounts: [1, 2] };
  assert.deepEqual(linesStory(alone, HEAD, "both"), linesStory(FACTS, HEAD, "both"));
});

test("rows are named by the tokens that the map is named by", () => {
  const named = (rows) => {
    const { outputs, below, inputs } = linesStory(FACTS, HEAD, rows);
    return [outputs, below, inputs];
  };
  const { decoderInputTokens: fed, targetTokens: following } = FACTS;
  assert.deepEqual(named("fed"), [fed, "input", null]);
  assert.deepEqual(named("predicted"), [following, "output", null]);
  assert.deepEqual(named("both"), [following, "output", fed]);
});

test("a hidden word is hidden with all its tokens, and what it changes is marked and said", () => {
  const unhiddenTokens = ["▁Der", "▁kleine", "▁Ma", "nn", ".", "</s>"];
  const story = linesStory({ ...FACTS, hidden: [1], unhiddenTokens, harmless: [0, 2] }, HEAD, "both");
  assert.deepEqual([story.hidden, story.changed], [[1, 2], [1]]);
  assert.equal(story.headline, "Without “dog”, “kleine Mann” becomes “Hund”. " +
    "Hiding “The” or “.” alone would change nothing.");
  const empty = { targetTokens: ["</s>"], targetText: "" };
  const all = linesStory({ ...FACTS, ...empty, hidden: [0, 1, 2] }, HEAD, "both");
  assert.equal(all.headline, "With every word hidden, nothing is left of the translation.");
});

test("a headline names what was lost, gained and exchanged, where it is little", () => {
  const said = (...changes) => {
    const outcome = { changes: changes.map(([lost, gained]) => ({ lost, gained })), words: 10, isEmpty: false };
    return hiddenText({ hidden: ["not"], harmless: null, words: 8, outcome });
  };
  const four = ["a", "b", "c", "d"];
  assert.equal(said(), "Without “not”, the translation stays the same.");
  assert.equal(said([["nicht"], []]), "Without “not”, the translation loses “nicht”.");
  assert.equal(said([[], ["noch"]]), "Without “not”, the translation gains “noch”.");
  assert.equal(said([["nicht"], ["nie", "mehr"]]), "Without “not”, “nicht” becomes “nie mehr”.");
  assert.equal(said([["a"], ["b"]], [["c"], []]), "Without “not”, 2 of 10 words and marks change.");
  assert.equal(said([four, []]), "Without “not”, 4 of 10 words and marks change.");
  assert.equal(said([[], four]), "Without “not”, the translation gains 4 words and marks.");
});

test("a headline names hidden and harmless words up to three", () => {
  const outcome = { changes: [], words: 4, isEmpty: false }, words = ["The", "dog", "is", "here"];
  const said = (hidden, harmless) => hiddenText({
    hidden: words.slice(0, hidden), harmless: harmless === null ? null : words.slice(0, harmless), words: 10, outcome,
  });
  assert.match(said(1, 0), / Here every word matters\.$/);
  assert.ok(said(1, 3).endsWith(" Hiding “The” or “dog” or “is” alone would change nothing."));
  assert.ok(said(1, 4).endsWith(" Hiding any of 4 words and marks alone would change nothing."));
  assert.equal(said(2, 3), "Without “The” and “dog”, the translation stays the same.");
  assert.equal(said(4, null), "Without 4 words and marks, the translation stays the same.");
});

test("a token with less than half of the probability names its best rival", () => {
  const { doubts } = linesStory(FACTS, HEAD, "both");
  assert.deepEqual(doubts, [{ token: "▁Die", probability: 0.375, isBest: false }, null, null, null]);
  assert.equal(doubtText(doubts[0]), "best: Die 38 %");
  assert.equal(doubtText({ ...doubts[0], isBest: true }), "almost: Die 38 %");
});

test("a word that vanished stays where it stood, one that changed does not", () => {
  const before = ["▁Der", "▁alte", "▁Hund", ".", "</s>"];
  assert.deepEqual(linesStory({ ...FACTS, unhiddenTokens: before }, HEAD, "both").lost, [{ at: 1, text: "alte" }]);
  const changed = ["▁Der", "▁Kater", ".", "</s>"];
  assert.deepEqual(linesStory({ ...FACTS, unhiddenTokens: changed }, HEAD, "both").lost, []);
});

test("a share is never rounded to all or to nothing", () => {
  assert.deepEqual([0, 0.0099, 0.01, 0.126, 0.994, 0.995, 1].map(shareText), [
    "0 %", "< 1 %", "1 %", "13 %", "99 %", "> 99 %", "100 %",
  ]);
});

test("an output token says its probability, its largest weights and what is left", () => {
  assert.equal(
    outputWords(DATA, 0),
    "“▁keine”, output token 1 (90 % sure) looks at “▁no” (source token 1) 50 %, “▁cat” 25 %, " +
      "“▁no” (source token 3) 13 %, the other 2 together 13 %.",
  );
  assert.match(outputWords(DATA, 1), /^“▁Katze”, output token 2 \(25 % sure, rank 2\) looks at “▁cat” > 99 %, /);
});

test("a row named by both tokens says both, one named by its input token no probability", () => {
  const inputs = ["<s>", "▁keine", "▁Katze"];
  const both = outputWords({ ...DATA, inputs }, 1);
  assert.match(both, /^“▁keine” → “▁Katze”, output token 2 \(25 % sure, rank 2\) looks at /);
  const below = { ...DATA, outputs: inputs, below: "input" };
  assert.match(outputWords(below, 0), /^“<s>”, input token 1 looks at “▁no” \(source token 1\) 50 %, /);
  assert.match(sourceWords(below, 1), / by “▁keine” \(input token 2\) > 99 %, /);
});

test("few source tokens leave nothing over, and one is not several", () => {
  const weights = [0.5, 0.25, 0.2, 0.05];
  const cut = (count) => ({ ...DATA, source: DATA.source.slice(1, 1 + count), weights: [weights.slice(0, count)] });
  assert.match(outputWords(cut(3), 0), /“▁cat” 50 %, “▁no” 25 %, “\.” 20 %\.$/);
  assert.match(outputWords(cut(4), 0), /, the other one 5 %\.$/);
});

test("a source token says who attends to it most", () => {
  assert.equal(
    sourceWords(DATA, 1),
    "“▁cat”, source token 2, is looked at by “▁Katze” (output token 2) > 99 %, “▁keine” (output token 1) 25 %, " +
      "“</s>” (output token 3) 0 %.",
  );
  const more = { ...DATA, outputs: [...DATA.outputs, "!"], weights: [...DATA.weights, [0, 0.5, 0, 0, 0.5]] };
  assert.match(sourceWords(more, 1), /is looked at most by .*“!” \(output token 4\) 50 %, “▁keine” .* 25 %\.$/);
});

test("a weight of a hundredth has a line, and the largest lies on top", () => {
  const lines = linesOf([[0.3, 0.009, 0.01], [0, 0.9, 0.1]]);
  assert.deepEqual(lines.map(({ row, column }) => [row, column]), [[0, 2], [1, 2], [0, 0], [1, 1]]);
  for (const look of [widthOf, opacityOf]) assert.ok(look(0.01) > 0 && look(0.2) < look(0.3) && look(1) === look(1));
  assert.equal(opacityOf(1), 1);
});

test("lines that stay change from what they were, and the others fade from nothing or to it", () => {
  const before = linesOf([[0.5, 0, 0.25], [0.2, 0.8, 0]]), now = linesOf([[0.5, 0.5, 0], [0.1, 0.8, 0.1]]);
  const { stays, goes } = changesOf(before, now);
  const named = stays.map(({ at, weight }) => [now[at].row, now[at].column, weight, now[at].weight]);
  assert.deepEqual(named.sort(), [[0, 1, 0, 0.5], [1, 0, 0.2, 0.1], [1, 2, 0, 0.1]]);
  assert.deepEqual(goes, [{ row: 0, column: 2, weight: 0.25 }]);
  assert.deepEqual(changesOf(now, now), { stays: [], goes: [] });
  assert.equal(Number(lookOf(0).strokeOpacity), 0);
  assert.equal(Number(lookOf(0.5).strokeOpacity), opacityOf(0.5));
  assert.ok(Math.abs(lookOf(0.5).strokeWidth - widthOf(0.5)) < 0.01);
});

test("a line goes from below one token to above the other, upright at both", () => {
  assert.equal(curve({ x: 10, y: 30 }, { x: 50.26, y: 270 }), "M10 30C10 150 50.3 150 50.3 270");
});

test("letters shrink until the row fits, but not below 12 pixels", () => {
  assert.deepEqual([100, 700, 750, 3000].map((wide) => lettersFor(wide, 600, 15)), [15, 12, 12, 12]);
  assert.deepEqual([lettersFor(640, 600, 15), lettersFor(640, 600, 20)], [14, 18]);
});

test("arrow keys go along a row, and across to the nearest token of the other", () => {
  const rows = { source: [10, 50, 90], output: [20, 88] };
  const centres = Object.fromEntries(Object.entries(rows).map(([side, all]) => [side, all.map((x) => ({ x, y: 0 }))]));
  const at = (side, index, key) => moved({ side, index }, key, centres);
  assert.deepEqual(at("source", 1, "ArrowRight"), { side: "source", index: 2 });
  assert.deepEqual(at("source", 2, "ArrowRight"), { side: "source", index: 2 });
  assert.deepEqual(at("source", 0, "ArrowLeft"), { side: "source", index: 0 });
  assert.deepEqual(at("source", 0, "End"), { side: "source", index: 2 });
  assert.deepEqual(at("output", 1, "Home"), { side: "output", index: 0 });
  assert.deepEqual(at("source", 2, "ArrowDown"), { side: "output", index: 1 });
  assert.deepEqual(at("output", 0, "ArrowUp"), { side: "source", index: 0 });
  assert.deepEqual(at("output", 0, "ArrowDown"), { side: "output", index: 0 });
  assert.equal(at("output", 0, "a"), null);
});
