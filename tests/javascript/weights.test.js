// What the explorer computes: means and sums of heads, merged words, left out tokens, and what it says of them.

import assert from "node:assert/strict";
import { test } from "node:test";

import { ExplorerState } from "../../headlight/components/attention_explorer/state.js";
import { chosenIndexes } from "../../headlight/components/attention_explorer/sides.js";
import { sideOf } from "../../headlight/components/attention_explorer/story.js";
import { cellsOf } from "../../headlight/components/attention_explorer/views.js";
import { Attention, Shown, largestTogether } from "../../headlight/components/attention_explorer/weights.js";
import { notes } from "../../headlight/components/attention_explorer/words.js";
import { FACTS, exampleFacts } from "./example.js";

const attention = new Attention(exampleFacts());
const PLAIN = { rows: "output token", words: "pieces", specials: "shown", top: 100, together: "mean" };
const HEADS = [[0, 0], [0, 1], [1, 0], [1, 1]].map(([layer, head]) => ({ layer, head }));

const shown = (name, some = {}, heads = HEADS.slice(0, 1)) => new Shown(attention, name, heads, { ...PLAIN, ...some });

function near(actual, expected) {
  assert.equal(actual.length, expected.length);
  expected.forEach((value, at) => assert.ok(Math.abs(actual[at] - value) < 1e-9, `${[...actual]} is not ${expected}`));
}

test("weights are found by kind, layer and head", () => {
  assert.deepEqual([...attention.small("encoder", HEADS[2])].slice(0, 3), [10_000, 15_000, 25_000]);
  assert.deepEqual([...attention.small("cross", HEADS[3])].slice(6), [25_000, 25_000, 0]);
});

test("only a head that aligns to the input tokens better is said to, with its shares and where the labels are", () => {
  const counts = {
    "input alignment": [[3, 4], [2, 4], [1, 2], [9, 10]], alignment: [[1, 4], [2, 4], [1, 10], [0, 2]],
  };
  const patterns = { ...FACTS.patterns, cross: { ...FACTS.patterns.cross, counts } };
  const other = new Attention(exampleFacts({ patterns }));
  const said = HEADS.map((head) => other.inputText("cross", [head]));
  assert.match(said[0], /input token \(75 % of rows\) .*\(25 %; .* “Label decoder rows by”\.$/);
  assert.deepEqual(said.slice(1), ["", "", ""], "alike, or with too few rows");
  assert.deepEqual([other.inputText("cross", HEADS), other.inputText("decoder", [HEADS[0]])], ["", ""]);
});

test("heads are averaged, or summed", () => {
  near(shown("encoder").values, [0.5, 0.25, 0.25, 0.1, 0.7, 0.2, 0, 0, 1]);
  near(shown("encoder", {}, HEADS.slice(0, 2)).values, [0.75, 0.125, 0.125, 0.05, 0.85, 0.1, 0, 0, 1]);
  const sum = shown("encoder", { together: "sum" }, HEADS.slice(0, 2));
  near(sum.values, [1.5, 0.25, 0.25, 0.1, 1.7, 0.2, 0, 0, 2]);
  assert.deepEqual([sum.most, sum.full("0 to 1"), sum.full("per map")], [2, 2, 2]);
  assert.equal(shown("encoder", {}, [HEADS[2]]).full("per map"), 0.6);
});

test("of merged words columns are summed and rows averaged", () => {
  const merged = shown("encoder", { words: "words" });
  assert.deepEqual(merged.rows.map(({ text, positions }) => [text, positions]), [["▁don't", [0, 1]], ["</s>", [2]]]);
  near(merged.values, [(0.75 + 0.8) / 2, (0.25 + 0.2) / 2, 0, 1]);
});

test("of each word the first piece, or no special token, with rows made whole again or not", () => {
  near(shown("encoder", { words: "first pieces" }).values, [0.5, 0.25, 0, 1]);
  near(shown("encoder", { specials: "hidden" }).values, [0.5, 0.25, 0.1, 0.7]);
  near(shown("encoder", { specials: "renormalised" }).values, [0.5 / 0.75, 0.25 / 0.75, 0.1 / 0.8, 0.7 / 0.8]);
});

test("content only leaves out keys without content, makes rows whole again, and has the share that is gone", () => {
  const content = shown("encoder", { specials: "content only" });
  near(content.values, [0.5 / 0.75, 0.25 / 0.75, 0.1 / 0.8, 0.7 / 0.8, 0, 0]);
  near([content.removed], [1 - (0.75 + 0.8) / 3]);
  const state = { ...PLAIN, specials: "content only", view: "map" };
  assert.match(notes(1, state, content.removed), /punctuation are left out as keys, 48 % of the weight/);
  const { special, empty } = sideOf([">>deu<<", "▁I", "'", "m", "▁,", "deu_Latn", "__de__", "</s>"]);
  assert.deepEqual([special, empty], [[7], [0, 2, 4, 5, 6, 7]]);
});

test("a decoder row has what it was fed and what it predicts, and masked cells are not shown", () => {
  const decoder = shown("decoder");
  assert.deepEqual(decoder.rows.map(({ text, fed, predicts }) => [text, fed, predicts]), [
    ["▁tu", "<s>", "▁tu"], ["s", "▁tu", "s"], ["</s>", "s", "</s>"],
  ]);
  assert.equal(shown("decoder", { rows: "input token" }).rows[1].text, "▁tu");
  assert.deepEqual([0, 1, 2].map((column) => decoder.isMasked(1, column)), [false, false, true]);
  assert.equal(decoder.isShown(0, 1), false);
  const hidden = shown("decoder", { specials: "hidden" });
  assert.deepEqual(hidden.rows.map(({ positions }) => positions), [[1]], "a row that has nothing left to read is gone");
});

test("the largest weights that together hold a share are kept", () => {
  const values = [0.1, 0.7, 0.2, 0.4, 0.35, 0.25];
  assert.deepEqual([...largestTogether(values, 3, 0.6)], [0, 1, 0, 1, 1, 0]);
  assert.deepEqual([...largestTogether(values, 3, 0.75)], [0, 1, 1, 1, 1, 0]);
  const kept = shown("encoder", { top: 60 });
  assert.deepEqual([0, 1, 2].map((column) => kept.isShown(1, column)), [false, true, false]);
  near([kept.sumOf("queries", [0, 1], 1), kept.sumOf("keys", [0, 1], 1)], [0.95, 0.7]);
});

test("entropy is in nats, and the largest of a row is found", () => {
  const encoder = shown("encoder");
  near([encoder.entropy(0), encoder.entropy(2)], [1.5 * Math.log(2), 0]);
  assert.equal(encoder.largestOfRow(1), 1);
  assert.equal(encoder.largest, 1);
});

test("a cell and tokens are said in sentences", () => {
  const encoder = shown("encoder"), decoder = shown("decoder");
  assert.equal(encoder.cellText(1, 0), "“n't” looks at “▁do”: 10 %.");
  assert.equal(decoder.cellText(0, 2), 
    "“▁tu” may not look at “s”: masked, since it comes later.",
  );
  assert.equal(encoder.tokensText("queries", [1]), "“n't” looks most at “n't”: 70 %.");
  assert.equal(
    encoder.tokensText("queries", [0, 1]),
    "“▁do”, “n't” together look most at “n't”: 48 %.",
  );
  assert.equal(
    encoder.tokensText("keys", [2]),
    "“</s>” gets most in the row “</s>”: 100 %.",
  );
});

test("the table has every weight, what is masked and what is left out", () => {
  assert.deepEqual(shown("decoder", { top: 50 }).tableRows(), [
    ["query", "<s>", "▁tu", "s", "entropy"],
    ["input <s>, output ▁tu", "1.0000", "masked", "masked", "0.00"],
    ["input ▁tu, output s", "0.5000", "left out", "masked", "0.69"],
    ["input s, output </s>", "left out", "left out", "0.5000", "1.03"],
  ]);
});

test("a head is said with its pattern, where it has one", () => {
  assert.equal(
    attention.headText("encoder", HEADS[0]),
    "Encoder self-attention, layer 1, head 1: 92 % of rows look at the token before. The same in 87 % of 400 " +
      "sentence pairs. Confidence 60 %, entropy 0.50 nats.",
  );
  assert.match(attention.headText("decoder", HEADS[1]), /head 2: no clear pattern. Confidence –, .* 2.00 nats\.$/);
});

test("in a cell a weight has two decimals", () => {
  const weights = [0, 0.123, 0.994, 0.9953, 1, 1.26];
  const { valueText } = cellsOf({ full: () => 1, isShown: () => true, at: (row) => weights[row] }, {});
  assert.deepEqual(weights.map((_, row) => valueText(row, 0)), [".00", ".12", ".99", "1.00", "1.00", "1.3"]);
});

test("chosen tokens are found in what is shown of them", () => {
  const state = new ExplorerState(() => {});
  Object.assign(state, { side: "keys", tokens: [1, 2] });
  assert.deepEqual(chosenIndexes(shown("encoder", { words: "words" }), state), [0, 1]);
  assert.deepEqual(chosenIndexes(shown("encoder", { specials: "hidden" }), state), [1]);
});

test("heads worth a look are unlike one another, with the rows that their labels count", () => {
  const [first, second, third] = attention.looks("encoder");
  assert.deepEqual([first.head, second.head, third.head], [HEADS[0], HEADS[1], HEADS[3]]);
  assert.equal(
    first.text,
    "Layer 1, head 1 looks at the token before in 92 of 100 rows. The same in 87 % of 400 sentence pairs.",
  );
  assert.match(second.text, /^Layer 1, head 2: no clear pattern, confidence 90 %\.$/);
});

test("subwords know their word, and marks stand apart from letters", () => {
  const tokens = ["▁“", "Hello", ",”", "▁he", "▁do", "n", "'", "t", "▁un", "lock", "...", "</s>"];
  const { words, special } = sideOf(tokens);
  assert.deepEqual(words, [0, 1, 2, 3, 4, 4, 4, 4, 5, 5, 6, 7]);
  assert.deepEqual(special, [11]);
});

test("of a long text heads are small, and the mean of the chosen ones is whole", () => {
  const small = { shape: [2, 2, 1, 1], weights: Uint16Array.of(9, 8, 7, 6) };
  const mean = { shape: [3, 3], weights: Uint16Array.from({ length: 9 }, (_, cell) => 5000 * cell) };
  const long = new Attention(exampleFacts({ cross: small, mean, chosen: "cross.1.1-cross.2.1" }));
  assert.deepEqual(long.smallSize("cross"), { rows: 1, columns: 1 });
  assert.deepEqual([...long.small("cross", HEADS[2])], [7]);
  assert.ok(long.holds("cross", [HEADS[0], HEADS[2]]) && !long.holds("cross", [HEADS[0]]));
  near(long.sum("cross", [HEADS[0], HEADS[2]]).slice(0, 3), [0, 0.2, 0.4]);
});
