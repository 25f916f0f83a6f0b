// The player of lessons in the one-file page: feedback on a choice, and what the panel shows of an answer.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Memory } from "../../headlight/components/lesson_panel/memory.js";
import {
  feedbackOn, fresh, isRight, panelData, restored, score,
} from "../../headlight/components/live_page/lessons.js";

const ONE = { right: ["b"], said: { a: "You said a.", b: "" } };
const SEVERAL = { right: ["b", "c"], said: { "1 1": "You found 1 of 2.", "2 0": "You found both." } };
const NUMBER = { right: [], value: -2, margin: 0.5, said: { low: "Low.", high: "High." } };
const ANSWER = {
  panel: { kind: "one", ask: [["", "Which?"]], options: [] },
  told: { ...ONE, hints: ["Look.", "Not a.", "Add."], truth: "It is b." },
};
const tried = (some) => ({ ...fresh(), ...some });

test("a choice is judged, and a strange one is wrong", () => {
  for (const [kind, told, right, wrong] of [
    ["one", ONE, ["b"], ["a", "x", null, 3, ["b"], {}]],
    ["several", SEVERAL, [["b", "c"], ["c", "b"]], [["b"], ["a", "b", "c"], ["b", "b"], [], "b", null]],
    ["number", NUMBER, [-2, -2.5, -1.5], [-2.51, 2, "-2", null, NaN, Infinity]],
  ]) {
    for (const choice of right) assert.equal(isRight(kind, told, choice), true, JSON.stringify(choice));
    for (const choice of wrong) assert.equal(isRight(kind, told, choice), false, JSON.stringify(choice));
  }
});

test("a choice gets its feedback, and a strange one none", () => {
  assert.equal(feedbackOn("one", ONE, "a"), "You said a.");
  assert.equal(feedbackOn("several", SEVERAL, ["a", "c"]), "You found 1 of 2.");
  assert.equal(feedbackOn("number", NUMBER, -1234.5), "You said −1234.5. Low.");
  assert.equal(feedbackOn("number", NUMBER, 5), "You said 5. High.");
  assert.equal(feedbackOn("number", NUMBER, -2.4), "You said −2.4.");
  for (const [kind, told, choice] of [
    ["one", ONE, "toString"], ["one", ONE, ["a"]], ["several", SEVERAL, "b"], ["number", NUMBER, "2"],
  ]) {
    assert.equal(feedbackOn(kind, told, choice), undefined);
  }
});

test("the answer is not shown before it was found or asked for", () => {
  const wrong = panelData(ANSWER, tried({ choice: "a", hints: 1 }));
  assert.deepEqual([wrong.feedback, wrong.right, wrong.hints, wrong.more_hints], ["You said a.", [], ["Look."], 2]);
  assert.equal(panelData(ANSWER, fresh()).feedback, "");
  const found = panelData(ANSWER, tried({ choice: "b", right: true }));
  assert.deepEqual([found.feedback, found.right, found.more_hints], ["It is b.", ["b"], 0]);
  assert.equal(panelData(ANSWER, tried({ shown: true })).feedback, "It is b.");
});

test("what the browser remembers is taken as far as it makes sense", () => {
  assert.deepEqual(restored(ANSWER, { choice: "b", hints: 9 }), tried({ choice: "b", hints: 3, right: true }));
  assert.deepEqual(restored(ANSWER, { choice: "x", hints: "2", right: true }), fresh());
  for (const nothing of [null, undefined, 3]) assert.deepEqual(restored(ANSWER, nothing), fresh());
});

test("the end says what is right, and reproves nobody", () => {
  assert.equal(score(6, 6), "All 6 right!");
  assert.equal(score(4, 6), "4 of 6 right so far. You can go back to the open questions whenever you like.");
  assert.equal(score(0, 6), "You can go back to the open questions whenever you like.");
});

test("where a browser forbids its storage the page remembers by itself", () => {
  Object.defineProperty(globalThis, "localStorage", { configurable: true, get() { throw new Error("forbidden"); } });
  new Memory().note("a", "seen");
  assert.equal(new Memory().noteOf("a"), "seen");
  delete globalThis.localStorage;
});
