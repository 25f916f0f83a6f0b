// The first occurrence of each word of the glossary.

import assert from "node:assert/strict";
import { test } from "node:test";

import { firstOf } from "../../headlight/components/presenter/glossary.js";

const WORDS = [["attention"], ["self-attention"], ["head", "heads"], ["log P"], ["ALTI+"]].map((forms) => ({ forms }));

test("a word is marked once, at its first form, never within another word; signs and capitals are literal", () => {
  for (const [texts, expected] of [
    [["All heads, and this head.", "Head 3 has attention."], [["attention", "attention"], ["head", "heads"]]],
    [["ahead, heading, self-attention"], [["self-attention", "self-attention"]]],
    [["head_of", "x-head", "ALTII"], []],
    [["By ALTI+ the LOG P is 3"], [["log P", "LOG P"], ["ALTI+", "ALTI+"]]],
  ]) {
    const marks = firstOf(WORDS, texts.map((data) => ({ data })));
    assert.deepEqual(marks.map(({ word, node, start, end }) => [word.forms[0], node.data.slice(start, end)]), expected);
  }
});
