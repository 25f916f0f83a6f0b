// What a translation loses without each head, and what becomes of it, as both components draw and word it.

import assert from "node:assert/strict";
import { test } from "node:test";

import { defaultHead, ranked, switchesOf } from "../../headlight/components/head_switches/story.js";
import { likelihoodText, movedText, shareText } from "../../headlight/components/lib/losses.js";
import { distinct } from "../../headlight/components/lib/words.js";
import { shownTokens } from "../../headlight/components/lib/tokens.js";
import { changeRows, ownRows } from "../../headlight/components/translation_table/rows.js";
import { storyOf } from "../../headlight/components/translation_table/story.js";
import { changeText, leadText } from "../../headlight/components/translation_table/words.js";

const SOURCE = ["▁no", "▁cat", "▁no", ".", "</s>"];

// A translation whose tokens read one source token each.
function traceOf(ids, { reads = ids.map((_, at) => at), ...changes } = {}) {
  const cross = Float32Array.from(reads.flatMap((key) => SOURCE.map((_, at) => Number(at === key))));
  return {
    sourceTokens: SOURCE, decoderInputTokens: ["<s>", "▁keine", "▁Katze"], targetText: "keine Katze",
    targetIds: ids, targetTokens: ["▁keine", "▁Katze", "</s>", "▁d", "▁e"].slice(0, ids.length), numForced: 0,
    targetProbabilities: Float32Array.from(ids, (_, at) => [0.9, 0.25, 0.6, 0.5, 0.5][at]),
    targetRanks: ids.map(() => 1),
    candidateIds: ids.flatMap((id) => [id, 99]), candidateTokens: ids.map(() => ["▁a", "▁z"]),
    candidateProbabilities: Float32Array.from(ids.flatMap(() => [0.9, 0.05])),
    cross: { shape: [1, 1, ids.length, SOURCE.length], weights: cross }, ...changes,
  };
}
const TRACE = traceOf([20, 21, 3]);

// Two encoder layers, one decoder layer, three heads.
function importanceOf(turned = "") {
  const losses = { "cross.0.1": [0.5, 1, 0], "encoder.1.2": [0.2, 0.1, 0], "decoder.0.0": [-0.3, -0.1, 0] };
  return ["cross.0", "decoder.0", "encoder.0", "encoder.1"].flatMap((block) => [0, 1, 2].map((head) => {
    const [kind, layer] = block.split("."), name = `${block}.${head}`;
    return { kind, layer: Number(layer), head, losses: losses[name] ?? [0, 0, 0], turned: turned === name };
  }));
}

test("each switch has the loss of its head in the order of the model", () => {
  const { kinds: [encoder, decoder, cross], limit } = switchesOf(importanceOf("decoder.0.2"), TRACE);
  assert.deepEqual([encoder.kind, decoder.kind, cross.kind, limit], ["encoder", "decoder", "cross", 1.5]);
  assert.deepEqual([encoder.losses[0], decoder.losses, cross.losses], [[0, 0, 0], [[-0.4, 0, 0]], [[0, 1.5, 0]]]);
  assert.deepEqual(decoder.turned, [[false, false, true]]);
  assert.equal(cross.words[0][1], "Without cross-attention layer 1, head 2 the translation is 4.5 times less " +
    "likely: “▁Katze” loses most, 1.00 nats, and all others together lose 0.50.");
  assert.match(decoder.words[0][2], /^Without masked decoder .* as likely as before\. Another translation comes\./);
  const beam = switchesOf(importanceOf("decoder.0.2"), { ...TRACE, targetRanks: [1, 2, 1] });
  assert.deepEqual(beam.kinds[1].turned, [[false, false, false]], "greedy decoding does not find this translation");
});

test("the first head to be off turns the translation, else it has the greatest loss", () => {
  const name = ({ kind, layer, head }) => `${kind}.${layer}.${head}`;
  assert.equal(name(defaultHead(importanceOf())), "cross.0.1");
  assert.equal(name(defaultHead(importanceOf("encoder.0.0"))), "encoder.0.0");
  assert.deepEqual(ranked(importanceOf()).slice(0, 3).map(name), ["cross.0.1", "encoder.1.2", "encoder.0.0"]);
});

test("the ranking counts the heads that change the translation and those that matter little", () => {
  const { finding, rows, line } = storyOf({ before: TRACE, importance: importanceOf("encoder.0.0") });
  assert.equal(finding.headline, "Off alone, 1 of 12 heads can change this translation.");
  assert.match(finding.more, /^That head is cross-attention layer 1, head 2: log P falls by 1\.50 nats:/);
  assert.match(finding.more, /Without 9 of the 12 it moves by less than 0\.1 nats\.$/);
  assert.equal(rows, null);
  assert.match(line.lead, /^All heads are on\./);
  const given = { ...TRACE, targetRanks: [1, 2, 1] };
  const { headline } = storyOf({ before: given, importance: importanceOf() }).finding;
  assert.equal(headline, "Without the head that matters most, the translation is 4.5 times less likely.");
});

const texts = (rows) => rows.map(([, cells]) => cells.map((cell) => cell?.text ?? ""));
const tokensOf = (old, fresh) => {
  const rows = Object.fromEntries(changeRows(old, old, fresh)), width = rows.unchanged.length;
  const ids = (name, { targetTokens, targetIds }) => {
    const cells = rows[name] ?? Array(width).fill(null);
    return cells.map((cell) => (cell ? targetIds[shownTokens(targetTokens).indexOf(cell.text)] : 0));
  };
  return [ids("unchanged", old), ids("changed", fresh)];
};

test("of changed tokens those stand under one another that read the same words", () => {
  const old = traceOf([1, 2, 3, 4], { reads: [0, 1, 2, 4] });
  assert.deepEqual(tokensOf(old, traceOf([7, 8, 4], { reads: [1, 2, 4] })), [[1, 2, 3, 4], [0, 7, 8, 4]]);
  const [above, below] = tokensOf(old, traceOf([7, 8, 9, 4], { reads: [3, 1, 3, 4] }));
  assert.deepEqual([above.at(-1), below.at(-1)], [4, 4]);
  assert.equal(below[above.indexOf(2)], 8);
  assert.equal(below[above.indexOf(3)], 0);
});

test("a table has log P of both runs, none of what was given, and no row twice", () => {
  const before = { ...TRACE, numForced: 1, targetProbabilities: Float32Array.of(0.01, 0.5, 0.25) };
  const forced = { targetProbabilities: Float32Array.of(0.02, 0.6, 0.05) };
  const tokens = ["▁keine", "▁Katze", "<script>"];
  const after = {
    ...before, targetIds: [20, 21, 7], targetTokens: tokens, targetProbabilities: Float32Array.of(0.9, 0.6, 0.9),
  };
  const rows = changeRows(before, forced, after);
  assert.deepEqual(texts(rows), [
    ["keine", "Katze", "⟨end⟩"], ["", "−0.69", "−1.39"], ["", "−0.51", "−3.00"], ["keine", "Katze", "<script>"],
    ["", "−0.51", "−0.11"],
  ]);
  const [, gained, lost] = rows[2][1];
  assert.deepEqual([gained.css, lost.css, lost.shade], ["gained", "lost", 1]);
  assert.ok(Math.abs(gained.shade - Math.log(0.6 / 0.5) / Math.log(0.25 / 0.05)) < 1e-6);
  assert.deepEqual(rows[3][1].map(({ css }) => css), ["token", "token", "token turned"]);
  const names = (forced) => changeRows(before, forced, before).map(([name]) => name);
  assert.deepEqual(names(before), ["unchanged", "log P"]);
  assert.deepEqual(names(forced), ["unchanged", "log P", "log P, changed"]);
});

test("of a longer new translation every token has its log P", () => {
  const after = traceOf([20, 21, 4, 5, 3], { targetProbabilities: new Float32Array(5).fill(0.25) });
  const [name, cells] = changeRows(TRACE, TRACE, after).at(-1);
  assert.deepEqual([name, cells.filter((cell) => cell?.text === "−1.39").length], ["log P, new", 5]);
});

test("a given translation has ranks, and below a token that is not the first candidate that candidate", () => {
  const own = traceOf([20, 21, 7], {
    numForced: 1, targetTokens: ["de", "▁a", "<i>"], targetProbabilities: Float32Array.of(0.001, 0.5, 0.0625),
    targetRanks: [70, 1, 1030], candidateTokens: [["fr", "de"], ["▁a", "▁z"], ["<b>", "▁z"]],
    candidateIds: [9, 20, 21, 8, 6, 8], candidateProbabilities: Float32Array.of(0.9, 0.001, 0.5, 0.25, 0.625, 0.25),
  });
  const model = traceOf([20, 21], { numForced: 1, targetTokens: ["de", "▁a"] });
  const rows = ownRows(own, model);
  assert.deepEqual(texts(rows), [
    ["de", "a", "<i>"], ["", "−0.69", "−2.77"], ["", "1", "1,030"], ["", "", "<b>\n62.5 %"], ["de", "a", ""],
    ["", "−1.39", ""],
  ]);
  assert.deepEqual(rows[0][1].map(({ css }) => css), ["token", "token", "token turned"]);
  assert.deepEqual(rows[1][1].slice(1).map(({ shade }) => shade.toFixed(2)), ["0.25", "1.00"]);
  assert.deepEqual(texts(ownRows(model, own)).at(-1).slice(1), ["−0.69", "−2.77"], "the model's may be longer");
});

const HEADS = [["cross", 2, 3], ["encoder", 0, 1], ["decoder", 1, 0], ["cross", 0, 0]].map(([kind, layer, head]) => {
  return { kind, layer, head };
});

test("the outcome says whether the translation stays, how likely it is, and what log P did", () => {
  const forced = { targetProbabilities: Float32Array.of(0.9, 0.25 / 9, 0.6) };
  const same = storyOf({ before: TRACE, forced, after: TRACE, change: { off: HEADS.slice(0, 1) } });
  assert.deepEqual(same.line, { lead: "Without cross-attention layer 3, head 4: ", text: "keine Katze" });
  assert.equal(same.finding.headline, "The translation stays the same, 9.0 times less likely.");
  assert.equal(same.finding.more, "Without cross-attention layer 3, head 4, log P of the old translation falls by " +
    "2.20 nats: it goes from −2.00 to −4.20: “▁Katze” loses most, 2.20 nats.");
  const after = traceOf([20, 3], { targetText: " " }), change = { off: HEADS };
  const other = storyOf({ before: TRACE, forced: TRACE, after, change });
  assert.deepEqual(other.line, { lead: "Without 4 heads: ", text: "(nothing: the model ended the sentence at once)" });
  assert.equal(other.finding.headline, "Another translation! The old one is now about as likely as before.");
  assert.match(other.finding.more, /head 1; cross-attention layer 1, head 1, log P of the old .* stays at −2\.00\. /);
  assert.match(other.finding.more, / The new one has log P −1\.49 under the same change\.$/);
});

test("a rewriting says what was done to which weights in which rows", () => {
  const said = (action, heads, rows, key = null) => changeText({ action, heads, rows, key }, TRACE);
  const all = { kind: "cross", layer: null, head: null }, every = { first: 0, last: null };
  assert.equal(said("forbid", all, every, 2), "With “▁no” (position 3) hidden from all heads of the " +
    "cross-attention in every row that may attend to it");
  assert.equal(said("focus", { ...all, layer: 1 }, { first: 1, last: null }, 1), "With all weight of all heads of " +
    "cross-attention layer 2 on “▁cat” from step 2, input token “▁keine” on");
  assert.equal(said("shift", HEADS[1], { first: 1, last: 1 }), "With the weights of encoder self-attention layer 1, " +
    "head 2 shifted by one token in the row of “▁cat” alone");
  assert.match(said("uniform", HEADS[2], every), /^With uniform weights in masked decoder .* in every row$/);
  assert.match(said("given", HEADS[2], every), /^With these weights in .* that may attend to their tokens$/);
  assert.match(said("forbid", HEADS[2], every, 1), /^With “▁keine” hidden from/);
  assert.equal(leadText(null), "With these weights: ");
  const unchanged = storyOf({ before: TRACE, forced: TRACE, after: TRACE, change: null });
  assert.match(unchanged.finding.headline, /^Nothing has changed yet/);
});

test("losses are told by the token that moved most the way of the whole, and by all others together", () => {
  const tokens = ["a", "b", "a"];
  assert.equal(movedText([0.5, -0.1, 0]), "falls by 0.40 nats");
  assert.equal(movedText([-1, 0, 0]), "rises by 1.00 nats");
  const share = (losses) => shareText(losses, tokens), first = ": “a” (output token 1) loses most, ";
  assert.equal(share([0.5, -0.1, 0]), `${first}0.50 nats, and all others together gain 0.10`);
  assert.equal(share([0, -2, 0]), ": “b” gains most, 2.00 nats");
  assert.equal(share([0.3, -0.3, 0]), `${first}0.30 nats, and all others together gain 0.30`);
  assert.equal(share([0.001, 0.002, 0]), "");
  assert.deepEqual(distinct([1.0001, 1.0002]), ["1.0001", "1.0002"]);
  const likely = [0, 0.5, -3, 8, 30].map((loss) => likelihoodText([loss]));
  assert.deepEqual(likely, [
    "about as likely as before", "1.6 times less likely", "20 times more likely", "3,000 times less likely",
    "over 10,000 times less likely",
  ]);
});

test("the parts of a loss make up the whole", () => {
  const sizes = (text) => [...text.matchAll(/(lose|gain)s? (?:most, )?(\d+\.\d+)/g)].map(([, way, size]) => {
    return Number(size) * (way === "lose" ? 1 : -1);
  });
  for (let round = 0; round < 500; round++) {
    const losses = Array.from({ length: 1 + Math.random() * 8 }, () => 4 * (Math.random() - 0.5) ** 3);
    const whole = losses.reduce((sum, each) => sum + each, 0), text = shareText(losses, losses.map(String));
    const [most, rest = 0] = sizes(text);
    if (most === undefined) continue; // no token moved by what two digits show
    assert.ok(Math.abs(most + rest - whole) < 0.0151, `${losses}: ${text}`);
    assert.ok(Math.abs(whole) < 0.005 || Math.sign(most) === Math.sign(whole), text);
    assert.ok(losses.some((each) => Math.abs(each - most) < 0.0051), text);
  }
});
