// Computations of the explorer: means and sums of heads, merged words, left out tokens.

import assert from "node:assert/strict";
import { test } from "node:test";

import { sideOf } from "../../headlight/components/attention_explorer/story.js";
import { Attention, Shown, largestTogether } from "../../headlight/components/attention_explorer/weights.js";
import { axesText, kindText, kindTitle, sideNames } from "../../headlight/components/attention_explorer/words.js";
import { exampleFacts } from "./example.js";

const attention = new Attention(exampleFacts());
const PLAIN = { rows: "output token", words: "pieces", specials: "shown", top: 100, together: "mean" };
const HEADS = [[0, 0], [0, 1], [1, 0], [1, 1]].map(([layer, head]) => ({ layer, head }));

const shown = (name, some = {}, heads = HEADS.slice(0, 1)) => new Shown(attention, name, heads, { ...PLAIN, ...some });

function near(actual, expected) {
  assert.equal(actual.length, expected.length);
  expected.forEach((value, at) => assert.ok(Math.abs(actual[at] - value) < 1e-9, `${[...actual]} is not ${expected}`));
}

test("weights are found by kind, layer and head, and averaged or summed", () => {
  assert.deepEqual([...attention.small("encoder", HEADS[2])].slice(0, 3), [10_000, 15_000, 25_000]);
  assert.deepEqual([...attention.small("cross", HEADS[3])].slice(6), [25_000, 25_000, 0]);
  near(shown("encoder").values, [0.5, 0.25, 0.25, 0.1, 0.7, 0.2, 0, 0, 1]);
  near(shown("encoder", {}, HEADS.slice(0, 2)).values, [0.75, 0.125, 0.125, 0.05, 0.85, 0.1, 0, 0, 1]);
  const sum = shown("encoder", { together: "sum" }, HEADS.slice(0, 2));
  near(sum.values, [1.5, 0.25, 0.25, 0.1, 1.7, 0.2, 0, 0, 2]);
  assert.deepEqual([sum.most, sum.full("0 to 1"), sum.full("per map")], [2, 2, 2]);
  assert.equal(shown("encoder", {}, [HEADS[2]]).full("per map"), 0.6);
});

test("of merged words columns are summed and rows averaged; without tokens rows are whole again or not", () => {
  const merged = shown("encoder", { words: "words" });
  assert.deepEqual(merged.rows.map(({ text, positions }) => [text, positions]), [["▁don't", [0, 1]], ["</s>", [2]]]);
  near(merged.values, [(0.75 + 0.8) / 2, (0.25 + 0.2) / 2, 0, 1]);
  near(shown("encoder", { words: "first pieces" }).values, [0.5, 0.25, 0, 1]);
  near(shown("encoder", { specials: "hidden" }).values, [0.5, 0.25, 0.1, 0.7]);
  near(shown("encoder", { specials: "renormalised" }).values, [0.5 / 0.75, 0.25 / 0.75, 0.1 / 0.8, 0.7 / 0.8]);
  const content = shown("encoder", { specials: "content only" });
  near(content.values, [0.5 / 0.75, 0.25 / 0.75, 0.1 / 0.8, 0.7 / 0.8, 0, 0]);
  near([content.removed], [1 - (0.75 + 0.8) / 3]);
});

test("tokens belong to words, and special ones and those without content are marked", () => {
  const { words, special } = sideOf(["▁“", "Hello", ",”", "▁he", "▁do", "n", "'", "t", "▁un", "lock", "...", "</s>"]);
  assert.deepEqual([words, special], [[0, 1, 2, 3, 4, 4, 4, 4, 5, 5, 6, 7], [11]]);
  assert.deepEqual(sideOf([">>deu<<", "▁I", "'", "m", "▁,", "deu_Latn", "__de__", "</s>"]).empty, [0, 2, 4, 5, 6, 7]);
});

test("a decoder row has its input and output token, and masked cells are not shown", () => {
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

test("the largest weights that together hold a share are shown, and only they count", () => {
  const values = [0.1, 0.7, 0.2, 0.4, 0.35, 0.25];
  assert.deepEqual([...largestTogether(values, 3, 0.6)], [0, 1, 0, 1, 1, 0]);
  assert.deepEqual([...largestTogether(values, 3, 0.75)], [0, 1, 1, 1, 1, 0]);
  const some = shown("encoder", { top: 60 });
  assert.deepEqual([0, 1, 2].map((column) => some.isShown(1, column)), [false, true, false]);
  near([some.sumOf("queries", [0, 1], 1), some.sumOf("keys", [0, 1], 1)], [0.95, 0.7]);
});

test("the table has every weight, the entropy in nats, and what is masked or left out", () => {
  assert.deepEqual(shown("decoder", { top: 50 }).tableRows(), [
    ["query", "<s>", "▁tu", "s", "entropy"],
    ["input <s>, output ▁tu", "1.0000", "masked", "masked", "0.00"],
    ["input ▁tu, output s", "0.5000", "left out", "masked", "0.69"],
    ["input s, output </s>", "left out", "left out", "0.5000", "1.03"],
  ]);
  assert.deepEqual([shown("encoder").largestOfRow(1), shown("encoder").largest], [1, 1]);
});

test("a head has its pattern and measures, and the heads worth a look are unlike one another", () => {
  const { label, rows, eligible, share, labelled, confidence, entropy } = attention.headOf("encoder", HEADS[0]);
  assert.deepEqual([label, rows, eligible, share, labelled, confidence, entropy],
    ["previous", 92, 100, 0.92, 348, 0.6, 0.5]);
  const looks = (name) => attention.looks(name).map(({ head }) => head);
  assert.deepEqual([looks("encoder"), looks("decoder")], [[HEADS[0], HEADS[2]], []], "heads with a pattern alone");
});

test("of a long text heads are small, and the mean of the chosen ones is whole", () => {
  const small = { shape: [2, 2, 1, 1], weights: Uint16Array.of(9, 8, 7, 6) };
  const mean = { shape: [3, 3], weights: Uint16Array.from({ length: 9 }, (_, cell) => 5000 * cell) };
  const long = new Attention(exampleFacts({ cross: small, mean, chosen: "cross.1.1-cross.2.1" }));
  assert.deepEqual([long.smallSize("cross"), [...long.small("cross", HEADS[2])]], [{ rows: 1, columns: 1 }, [7]]);
  assert.ok(long.holds("cross", [HEADS[0], HEADS[2]]) && !long.holds("cross", [HEADS[0]]));
  near(long.sum("cross", [HEADS[0], HEADS[2]]).slice(0, 3), [0, 0.2, 0.4]);
});

test("another model may have one kind, a causal mask, fewer heads in a layer, and no output tokens", () => {
  const { id, steps, leastRows, patternWords, patterns, decoder } = exampleFacts();
  const alone = new Attention({
    id, steps, leastRows, patternWords, patterns, sentences: 400, alone: true,
    encoder: decoder, sourceTokens: ["[CLS]", "▁tu", "s"], decoderInputTokens: [],
    causal: { encoder: true }, headsPerLayer: { encoder: [1, 2] }, rowSums: { encoder: [0.4, 1] },
    specials: ["[CLS]"],
  });
  const kind = alone.kind("encoder"), row = new Shown(alone, "encoder", HEADS.slice(0, 1), PLAIN);
  assert.deepEqual(alone.kinds, ["encoder"]);
  assert.deepEqual(alone.looks("encoder").map(({ head }) => head), [HEADS[0], HEADS[2]]);
  assert.deepEqual(row.tableRows()[2], ["▁tu", "0.5000", "0.5000", "masked", "0.69"]);
  assert.deepEqual(alone.tokens.source.special, [0]);
  assert.deepEqual([kindTitle(kind), sideNames(kind).keys], ["Masked self-attention", "Keys"]);
  assert.ok(kindText(kind).endsWith("each column a key; rows add up to 40 % to 100 %."));
  assert.equal(axesText(kind, "both tokens"), "Rows (queries): tokens. Columns (keys): tokens.");
  assert.deepEqual(attention.kinds.map((name) => kindTitle(attention.kind(name))), [
    "Encoder self-attention", "Masked decoder self-attention", "Cross-attention",
  ]);
  assert.ok(kindText(attention.kind("cross")).startsWith("To write each word, the model looks at the source. Each"));
});
