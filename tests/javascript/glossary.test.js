// Where the words of the field first stand on a page.

import assert from "node:assert/strict";
import { test } from "node:test";

import { firstOf } from "../../headlight/components/presenter/glossary.js";

const WORDS = [
  { forms: ["attention"], says: "" }, { forms: ["self-attention"], says: "" }, { forms: ["head", "heads"], says: "" },
  { forms: ["log P"], says: "" }, { forms: ["ALTI+"], says: "" },
];
const found = (...texts) => firstOf(WORDS, texts.map((data) => ({ data }))).map(({ word, node, start, end }) => {
  return [word.forms[0], node.data.slice(start, end)];
});

test("each word is found once, where it first stands in any of its forms", () => {
  const texts = ["All heads, and this head.", "Head 3 has attention."];
  assert.deepEqual(found(...texts), [["attention", "attention"], ["head", "heads"]]);
});

test("a word within a longer one is not meant", () => {
  assert.deepEqual(found("ahead, heading, self-attention"), [["self-attention", "self-attention"]]);
  assert.deepEqual(found("head_of", "x-head"), []);
});

test("signs are no pattern, and capitals do not matter", () => {
  assert.deepEqual(found("By ALTI+ the LOG P is 3"), [["log P", "LOG P"], ["ALTI+", "ALTI+"]]);
  assert.deepEqual(found("ALTII"), []);
});
