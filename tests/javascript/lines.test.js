// The token lines: facts as they are drawn, lines and keys.

import assert from "node:assert/strict";
import { test } from "node:test";

import { drawing } from "../../headlight/components/token_lines/drawing.js";
import { curve, linesOf, moved } from "../../headlight/components/token_lines/geometry.js";
import { listenToRow } from "../../headlight/components/token_lines/rows.js";
import { linesStory } from "../../headlight/components/token_lines/story.js";
import {
  belowName, hiddenText, sourceWords, spokenName, surenessText,
} from "../../headlight/components/token_lines/words.js";

// Two words of source, "The dog" and a mark; one layer of two heads.
const FACTS = {
  sourceTokens: ["▁The", "▁do", "g", ".", "</s>"],
  decoderInputTokens: ["<s>", "▁Der", "▁Hund", "."], targetTokens: ["▁Der", "▁Hund", ".", "</s>"],
  targetText: "Der Hund.", targetProbabilities: Float32Array.of(0.25, 0.5, 0.75, 1), targetRanks: [2, 1, 1, 1],
  cross: { shape: [1, 2, 4, 5], weights: Float32Array.from({ length: 40 }, (_, at) => at / 64) },
  candidateTokens: [["▁Die", "▁Der"], ["▁Hund", "▁Tier"], [".", "!"], ["</s>", "."]],
  candidateProbabilities: Float32Array.of(0.375, 0.25, 0.5, 0.25, 0.75, 0.125, 1, 0),
  hidden: [], unhiddenTokens: ["▁Der", "▁Hund", ".", "</s>"],
};
const HEAD = { layer: 0, head: 1 };

test("a mouse that rests where a token is drawn points at nothing until it moves", () => {
  const row = { addEventListener() {} }, token = {}, lines = { buttons: { source: [token] }, hovered: null, show() {} };
  listenToRow(lines, "source", row);
  for (const [movementX, expected] of [[0, null], [1, { side: "source", index: 0 }]]) {
    row.onpointermove({ pointerType: "mouse", movementX, movementY: 0, target: { closest: () => token } });
    assert.deepEqual(lines.hovered, expected);
  }
});

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
  const story = linesStory({ ...FACTS, hidden: [1], unhiddenTokens }, HEAD, "both");
  assert.deepEqual([story.hidden, story.changed, story.lost], [[1, 2], [1], []]);
  for (const named of ["“dog”", "“kleine Mann”", "“Hund”"]) assert.ok(story.headline.includes(named));
  const gone = linesStory({ ...FACTS, unhiddenTokens: ["▁Der", "▁alte", "▁Hund", ".", "</s>"] }, HEAD, "both");
  assert.deepEqual(gone.lost, [{ at: 1, text: "alte" }]);
});

test("a mark rests on the end or a full stop that matches neither it nor the input of its row", () => {
  const resting = (sourceTokens, targetTokens, weights) => {
    const { length: rows } = targetTokens, facts = { ...FACTS, sourceTokens, targetTokens };
    const cross = { shape: [1, 1, rows, sourceTokens.length], weights: Float32Array.from(weights.flat()) };
    const decoderInputTokens = ["<s>", ...targetTokens].slice(0, rows);
    return linesStory({ ...facts, decoderInputTokens, cross }, { layer: 0, head: 0 }, "predicted");
  };
  const source = ["▁a", "!", "</s>"], target = ["▁b", ".", "</s>"];
  const of = (...rows) => resting(source, target, rows).resting;
  assert.deepEqual(of([1, 0, 0], [0, 0.4, 0.6], [0, 0, 1]), { token: ".", key: "</s>" });
  assert.equal(of([0, 0, 1], [0, 0.6, 0.4], [0, 1, 0]), null, "a word, a mark's translation, and the input's");
  assert.equal(of([1, 0, 0], [0.2, 0.4, 0.4], [0, 0, 1]), null, "below one half");
});

test("tokens have spoken names, and a source token is read by the row that looks most at it", () => {
  const story = linesStory(FACTS, HEAD, "predicted"), { source, sourceWords: words } = story;
  assert.deepEqual([0, 2, 4].map((at) => spokenName(source, words, "source", at)),
    ["The, source word 1", "g, source word 2", "end of sentence"]);
  assert.equal(belowName(story, 0), "Der, output word 1: the model gave it 25 %, its choice number 2");
  assert.ok(sourceWords(story, 0).startsWith("“</s>” looks at “▁The”: 55 %."));
  const explained = [[0.91, 0.1], [0.96, 0.1], [0.5, 0.1], [0.91, 0]].map((each) => surenessText(...each) !== "");
  assert.deepEqual(explained, [true, true, false, false]);
});

test("on a phone rows stand side by side: lines go across, and arrow keys are turned", () => {
  assert.equal(curve({ x: 10, y: 20 }, { x: 30, y: 60 }), "M10 20C10 40 30 40 30 60");
  assert.equal(curve({ x: 10, y: 20 }, { x: 30, y: 60 }, true), "M20 10C40 10 40 30 60 30");
  const focused = [], button = (name) => ({ focus: () => focused.push(name) }), row = { addEventListener() {} };
  const buttons = { source: [button("first"), button("second")], output: [button("across")] };
  const centres = { source: [{ x: 0 }, { x: 9 }], output: [{ x: 4 }] }, lines = { isUpright: true, buttons, centres };
  listenToRow(lines, "source", row);
  for (const key of ["ArrowDown", "ArrowRight"]) {
    row.onkeydown({ key, target: { closest: () => buttons.source[0] }, preventDefault() {} });
  }
  assert.deepEqual(focused, ["second", "across"]);
});

test("weights from a hundredth on have a line, and the largest lies on top", () => {
  const lines = linesOf([[0.3, 0.009, 0.01], [0, 0.9, 0.1]]);
  assert.deepEqual(lines.map(({ row, column }) => [row, column]), [[0, 2], [1, 2], [0, 0], [1, 1]]);
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

test("the picture has all tokens, the output's probabilities, and a line per weight from token to token", () => {
  const data = linesStory({ ...FACTS, hidden: [1] }, HEAD, "predicted"), lines = linesOf(data.weights), parts = [];
  const collect = (part) => {
    if (typeof part === "string") return;
    parts.push(part);
    part.children.forEach(collect);
  };
  const { width, parts: groups } = drawing(data, (text, size) => text.length * size);
  groups.forEach(collect);
  const of = (tag) => parts.filter((part) => part.tag === tag), words = of("text").map(({ children }) => children[0]);
  for (const text of ["The", "⟨end⟩", "Hund", "25 %", "best: Die 38 %"]) assert.ok(words.includes(text), text);
  const struck = words.filter((_, at) => of("text")[at].attributes["text-decoration"]);
  assert.deepEqual([struck, of("path").length], [["do", "g"], lines.length]);
  const [, x] = /^M([\d.]+)/.exec(of("path").at(-1).attributes.d), { column } = lines.at(-1);
  assert.ok(Math.abs(x - of("text")[column].attributes.x) < 0.1);
  assert.ok(parts.every(({ attributes: { x: left = 0, width: wide = 0 } }) => left + wide <= width));
});

test("words that only move do not change, and equal weights are not less", () => {
  const pair = (lost, gained) => ({ lost: [lost], gained: [gained] }), outcome = { words: 8, isEmpty: false };
  const text = (...changes) => hiddenText({ hidden: ["a"], words: 9, language: "", outcome: { ...outcome, changes } });
  assert.equal(text(pair("b", "c"), pair("c", "b")), "Without “a”, the words only change places.");
  assert.equal(text(pair("b", "c"), pair("c", "d")), "Without “a”, 1 of 8 words and punctuation marks changes.");
  assert.equal(text({ lost: [], gained: ["b"] }, pair("c", "c")), "Without “a”, the translation gains “b”.");
  const equal = { source: ["x"], outputs: ["y", "z"], below: "output", weights: [[0.5], [0.5]] };
  assert.equal(sourceWords(equal, 0), "“y” looks at “x”: 50 %. Others look at it, too: “z” 50 %.");
});

test("a lesson marks the lines of a token until it is left", () => {
  const listeners = {}, row = { addEventListener: (name, listener) => (listeners[name] = listener) }, target = {};
  const lines = { buttons: { output: [{}, target] }, show() {} };
  listenToRow(lines, "output", row);
  listeners.point({ target: { closest: () => target } });
  assert.deepEqual(lines.hovered, { side: "output", index: 1 });
  row.onpointerleave();
  assert.equal(lines.hovered, null);
});

test("hidden words are counted as words, as marks only with a mark, and several say how to undo one", () => {
  const text = (...hidden) => hiddenText({ hidden, words: 9, language: "", outcome: { changes: [] } });
  assert.ok(text("a", "b", "c", "d").startsWith("Without 4 words, "));
  assert.ok(text("a", "b", "c", ".").startsWith("Without 4 words and punctuation marks, "));
  assert.deepEqual([["a"], ["a", "b"]].map((each) => text(...each).includes("again")), [false, true]);
  const languages = ["English", ""].map((language) => hiddenText({ hidden: [], words: 9, language, outcome: {} }));
  assert.deepEqual(languages.map((each) => each.includes("your English sentence")), [true, false]);
});
