// Lessons in the one-file page: feedback on a choice, the panel's data of an answer; and patterns of heads.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Memory } from "../../headlight/components/lesson_panel/memory.js";
import { feedbackOn, fresh, isRight, panelData, restored } from "../../headlight/components/live_page/lessons.js";
import { measureHeads } from "../../headlight/components/live_page/patterns.js";

const ONE = { right: ["b"], choices: { a: "You said a.", b: "" } };
const SEVERAL = { right: ["b", "c"], choices: { "1 1": "You found 1 of 2.", "2 0": "You found both." } };
const NUMBER = { right: [], value: -2, margin: 0.5, choices: { low: "Low.", high: "High." } };
const ANSWER = {
  panel: { kind: "one", ask: [["", "Which?"]], options: [] },
  feedback: { ...ONE, hints: ["Look.", "Not a.", "Add."], truth: "It is b." },
};
const tried = (some) => ({ ...fresh(), ...some });

test("a choice is judged, and a malformed one is wrong", () => {
  for (const [kind, feedback, right, wrong] of [
    ["one", ONE, ["b"], ["a", "x", null, 3, ["b"], {}]],
    ["several", SEVERAL, [["b", "c"], ["c", "b"]], [["b"], ["a", "b", "c"], ["b", "b"], [], "b", null]],
    ["number", NUMBER, [-2, -2.5, -1.5], [-2.51, 2, "-2", null, NaN, Infinity]],
  ]) {
    for (const choice of [...right, ...wrong]) {
      assert.equal(isRight(kind, feedback, choice), right.includes(choice), JSON.stringify(choice));
    }
  }
});

test("a choice gets its feedback, and a malformed one none", () => {
  for (const [kind, feedback, choice, expected] of [
    ["one", ONE, "a", "You said a."], ["several", SEVERAL, ["a", "c"], "You found 1 of 2."],
    ["number", NUMBER, -1234.5, "You said −1234.5. Low."], ["number", NUMBER, 5, "You said 5. High."],
    ["number", NUMBER, -2.4, "You said −2.4."], ["one", ONE, "toString"], ["one", ONE, ["a"]],
    ["several", SEVERAL, "b"], ["number", NUMBER, "2"],
  ]) assert.equal(feedbackOn(kind, feedback, choice), expected);
});

test("the answer is not shown before it was given or asked for", () => {
  const data = (some) => {
    const { feedback, right, hints, more_hints: left } = panelData(ANSWER, tried(some));
    return [feedback, right.length, hints.length, left];
  };
  assert.deepEqual(data({ choice: "a", hints: 1 }), ["You said a.", 0, 1, 2]);
  assert.deepEqual(data({}), ["", 0, 0, 3]);
  assert.deepEqual(data({ choice: "b", right: true }), ["It is b.", 1, 0, 0]);
  assert.deepEqual(data({ shown: true }), ["It is b.", 1, 0, 0]);
});

test("stored attempts are restored as far as they are valid", () => {
  assert.deepEqual(restored(ANSWER, { choice: "b", hints: 9 }), tried({ choice: "b", hints: 3, right: true }));
  for (const stored of [{ choice: "x", hints: "2", right: true }, null, 3]) {
    assert.deepEqual(restored(ANSWER, stored), fresh());
  }
});

test("a row of the decoder reaches its own token", () => {
  const diagonal = { shape: [1, 1, 3, 3], weights: Float32Array.of(1, 0, 0, 0, 1, 0, 0, 0, 1) };
  const rules = { thresholds: { same: 0.5 }, leastRows: 1, offsets: { same: 0 } }, tokens = ["▁a", "▁b", "▁c"];
  const [{ counts, label }] = measureHeads("decoder", diagonal, tokens, tokens, rules);
  assert.deepEqual([counts.same, label], [[2, 2], "same"], "the first row has no choice");
});

test("where a browser forbids its storage, the page keeps notes in memory", () => {
  Object.defineProperty(globalThis, "localStorage", { configurable: true, get() { throw new Error("forbidden"); } });
  new Memory().note("a", "seen");
  assert.equal(new Memory().noteOf("a"), "seen");
  delete globalThis.localStorage;
});
