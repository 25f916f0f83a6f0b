// A lesson on a page of its own: what a step's panel shows, and an explorer that says nothing of heads.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Attention } from "../../headlight/components/attention_explorer/weights.js";
import { Memory } from "../../headlight/components/lesson_panel/memory.js";
import {
  isRight, numberWords, payload, said, withoutLabels,
} from "../../headlight/components/standalone_page/lesson.js";
import { exampleBytes } from "./example.js";

const step = (kind, told) => ({
  panel: { kind, ask: [["", "Which?"]], options: [] },
  told: { right: ["b"], hints: ["Look.", "Not a.", "Add."], truth: "It is b.", ...told },
});
const one = step("one", { said: { a: "You said a.", b: "You said b." } });
const several = step("several", { right: ["b", "c"], said: { "1 1": "You found 1 of 2.", "2 0": "You found both." } });
const words = { number: "You said {number}.", low: "Low.", high: "High." };
const number = step("number", { right: [], value: -2, margin: 0.5, said: words });
const tried = (some) => ({ choice: null, hints: 0, shown: false, right: false, ...some });

test("a choice is judged as in the app", () => {
  for (const [asked, right, wrong] of [
    [one, ["b"], ["a", "x", null, 3, ["b"], {}]],
    [several, [["b", "c"], ["c", "b"]], [["b"], ["a", "b", "c"], ["b", "b"], [], "b", null]],
    [number, [-2, -2.5, -1.5], [-2.51, 2, "-2", null, NaN, Infinity]],
  ]) {
    for (const choice of right) assert.equal(isRight(asked, choice), true, JSON.stringify(choice));
    for (const choice of wrong) assert.equal(isRight(asked, choice), false, JSON.stringify(choice));
  }
});

test("what is said to a choice, and to none that is strange", () => {
  assert.equal(said(one, "a"), "You said a.");
  assert.equal(said(several, ["a", "c"]), "You found 1 of 2.");
  assert.equal(said(number, -1234.5), "You said −1,230. Low.");
  assert.equal(said(number, 5), "You said 5. High.");
  assert.equal(said(number, -2.4), "You said −2.4.");
  for (const [asked, choice] of [[one, "toString"], [one, ["a"]], [several, "b"], [number, "2"], [number, null]]) {
    assert.equal(said(asked, choice), "");
  }
});

test("numbers are written as in the app", () => {
  const written = { 0.51851: "0.519", "-1.7": "−1.7", 4000.4: "4,000", 12: "12", 123456: "123,000", 99.96: "100" };
  for (const [value, text] of Object.entries(written)) assert.equal(numberWords(Number(value)), text);
});

test("what is right is not shown before it was found or shown", () => {
  const wrong = payload(one, tried({ choice: "a", hints: 1 }));
  assert.deepEqual([wrong.feedback, wrong.right, wrong.hints, wrong.more_hints], ["You said a.", [], ["Look."], 2]);
  assert.equal(payload(one, tried()).feedback, "");
  const found = payload(one, tried({ choice: "b", right: true }));
  assert.deepEqual([found.feedback, found.right, found.more_hints], ["You said b. It is b.", ["b"], 0]);
  assert.equal(payload(one, tried({ shown: true })).feedback, "It is b.");
});

test("without labels the weights are the same and nothing is said of heads", () => {
  const whole = new Attention(exampleBytes()), plain = new Attention(withoutLabels(exampleBytes()));
  assert.notEqual(plain.header.id, whole.header.id);
  assert.deepEqual(plain.weights, whole.weights);
  const head = { layer: 1, head: 0 };
  assert.match(whole.headText("encoder", head), /Confidence/);
  assert.equal(plain.headText("encoder", head), "Encoder self-attention, layer 2, head 1.");
});

test("where a browser forbids its storage the page remembers by itself", () => {
  Object.defineProperty(globalThis, "localStorage", { configurable: true, get() { throw new Error("forbidden"); } });
  new Memory().note("a", "seen");
  assert.equal(new Memory().noteOf("a"), "seen");
  delete globalThis.localStorage;
});
