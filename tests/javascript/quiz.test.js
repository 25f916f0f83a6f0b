// The quiz of a single visitor: its forms, and the table to hand in.

import assert from "node:assert/strict";
import test from "node:test";
import { itemsOf, rightOf, tableOf } from "../../headlight/components/quiz/quiz.js";

const options = ["one", "two"], misconceptions = ["", "swapped"];
const items = ["A", "B"].flatMap((form) => [1, 2].map((number) => {
  const about = { idea: "weight", level: "fact", form, misconceptions };
  return { name: `${form}${number}`, text: `Item ${number}?`, options, right: 0, ...about };
}));

test("a visitor gets one form before and the other one after", () => {
  for (const [first, form, other] of [[0, "A", "B"], [1, "B", "A"]]) {
    assert.deepEqual(new Set(itemsOf(items, first, "before").map((item) => item.form)), new Set([form]));
    assert.deepEqual(new Set(itemsOf(items, first, "after").map((item) => item.form)), new Set([other]));
  }
});

test("the table has a row for each answer, with its misconception", () => {
  assert.equal(rightOf(items, [0, 1, 1, 0]), 2);
  const { header, rows } = tableOf(items, { number: "7", first: 1, before: [0, 1], after: [1] });
  const read = rows.map((row) => Object.fromEntries(header.map((name, at) => [name, row[at]])));
  assert.deepEqual(read.map(({ quiz, item, answer, right, misconception }) => {
    return [quiz, item, answer, right, misconception].join(" ");
  }), ["before B1 one yes ", "before B2 two no swapped", "after A1 two no swapped"]);
  assert(read.every(({ participant }) => participant === "7"));
});
