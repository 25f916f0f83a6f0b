// Losses of a translation without each head, and its change, as both components draw them.

import assert from "node:assert/strict";
import { test } from "node:test";

import { defaultHead, ranked, switchesOf } from "../../headlight/components/head_switches/story.js";
import { likelihoodText, movedText, shareText } from "../../headlight/components/lib/losses.js";
import { distinct, signed } from "../../headlight/components/lib/words.js";
import { shownTokens } from "../../headlight/components/lib/tokens.js";
import { changeRows, ownRows } from "../../headlight/components/translation_table/rows.js";
import { storyOf } from "../../headlight/components/translation_table/story.js";
import { changeText } from "../../headlight/components/translation_table/words.js";

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
  for (const part of ["layer 1, head 2", "4.5 times", "“▁Katze”", "1.00", "0.50"]) {
    assert.ok(cross.words[0][1].includes(part), part);
  }
  const beam = switchesOf(importanceOf("decoder.0.2"), { ...TRACE, targetRanks: [1, 2, 1] });
  assert.deepEqual(beam.kinds[1].turned, [[false, false, false]], "greedy decoding does not find this translation");
});

test("heads are ranked by loss, and the first to be off turns the translation if any does", () => {
  const name = ({ kind, layer, head }) => `${kind}.${layer}.${head}`;
  assert.equal(name(defaultHead(importanceOf())), "cross.0.1");
  assert.equal(name(defaultHead(importanceOf("encoder.0.0"))), "encoder.0.0");
  assert.deepEqual(ranked(importanceOf()).slice(0, 3).map(name), ["cross.0.1", "encoder.1.2", "encoder.0.0"]);
  const numbers = (importance, before = TRACE) => {
    const { finding: { headline, more } } = storyOf({ before, importance });
    return [headline, more].map((text) => text.match(/\d+(\.\d+)?/g));
  };
  const [turning, worst] = numbers(importanceOf("encoder.0.0"));
  assert.deepEqual([...turning, ...worst.slice(0, 3), ...worst.slice(-3)].map(Number), [1, 12, 1, 2, 1.5, 9, 12, 0.1]);
  assert.deepEqual(numbers(importanceOf(), { ...TRACE, targetRanks: [1, 2, 1] })[0], ["4.5"]);
});

const texts = (rows) => rows.map(([, cells]) => cells.map((cell) => cell?.text ?? ""));

test("of changed tokens those that read the same source words stand in one column", () => {
  const idsOf = (old, fresh) => {
    const rows = Object.fromEntries(changeRows(old, old, fresh));
    return [["unchanged", old], ["changed", fresh]].map(([name, { targetTokens, targetIds }]) => {
      return rows[name].map((cell) => (cell ? targetIds[shownTokens(targetTokens).indexOf(cell.text)] : 0));
    });
  };
  const old = traceOf([1, 2, 3, 4], { reads: [0, 1, 2, 4] });
  assert.deepEqual(idsOf(old, traceOf([7, 8, 4], { reads: [1, 2, 4] })), [[1, 2, 3, 4], [0, 7, 8, 4]]);
  const [above, below] = idsOf(old, traceOf([7, 8, 9, 4], { reads: [3, 1, 3, 4] }));
  assert.deepEqual([above.at(-1), below.at(-1), below[above.indexOf(2)], below[above.indexOf(3)]], [4, 4, 8, 0]);
});

test("a table has log P of both runs, none of forced tokens, and no row twice", () => {
  const before = { ...TRACE, numForced: 1, targetProbabilities: Float32Array.of(0.01, 0.5, 0.25) };
  const forced = { targetProbabilities: Float32Array.of(0.02, 0.6, 0.05) };
  const after = {
    ...before, targetIds: [20, 21, 7], targetTokens: ["▁keine", "▁Katze", "<script>"],
    targetProbabilities: Float32Array.of(0.9, 0.6, 0.9),
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
  assert.deepEqual([before, forced].map(names), [["unchanged", "log P"], ["unchanged", "log P", "log P, changed"]]);
  const longer = traceOf([20, 21, 4, 5, 3], { targetProbabilities: new Float32Array(5).fill(0.25) });
  assert.equal(texts(changeRows(TRACE, TRACE, longer)).at(-1).filter((text) => text === "−1.39").length, 5);
});

test("the visitor's translation has ranks, and the first candidate below a token that is not the first", () => {
  const yours = traceOf([20, 21, 7], {
    numForced: 1, targetTokens: ["de", "▁a", "<i>"], targetProbabilities: Float32Array.of(0.001, 0.5, 0.0625),
    targetRanks: [70, 1, 1030], candidateTokens: [["fr", "de"], ["▁a", "▁z"], ["<b>", "▁z"]],
    candidateIds: [9, 20, 21, 8, 6, 8], candidateProbabilities: Float32Array.of(0.9, 0.001, 0.5, 0.25, 0.625, 0.25),
  });
  const model = traceOf([20, 21], { numForced: 1, targetTokens: ["de", "▁a"] }), rows = ownRows(yours, model);
  assert.deepEqual(texts(rows), [
    ["de", "a", "<i>"], ["", "−0.69", "−2.77"], ["", "1", "1,030"], ["", "", "<b>\n62.5 %"], ["de", "a", ""],
    ["", "−1.39", ""],
  ]);
  assert.deepEqual(rows[0][1].map(({ css }) => css), ["token", "token", "token turned"]);
  assert.deepEqual(rows[1][1].slice(1).map(({ shade }) => shade.toFixed(2)), ["0.25", "1.00"]);
});

test("the outcome names the change, the likelihood and log P before and after", () => {
  const off = [["cross", 2, 3], ["encoder", 0, 1]].map(([kind, layer, head]) => ({ kind, layer, head }));
  const forced = { targetProbabilities: Float32Array.of(0.9, 0.25 / 9, 0.6) };
  const same = storyOf({ before: TRACE, forced, after: TRACE, change: { off: off.slice(0, 1) } });
  assert.deepEqual(same.line, { lead: "Without cross-attention layer 3, head 4: ", text: "keine Katze" });
  const more = "falls by 2.20 nats: it goes from −2.00 to −4.20: “▁Katze” loses most, 2.20 nats.";
  assert.ok(same.finding.headline.includes("9.0 times less") && same.finding.more.endsWith(more));
  const after = traceOf([20, 3], { targetText: " " });
  const other = storyOf({ before: TRACE, forced: TRACE, after, change: { off } });
  assert.equal(other.line.lead, "Without 2 heads: ");
  assert.deepEqual(other.finding.more.match(/−\d\.\d\d/g), ["−2.00", "−1.49"]);
  assert.notEqual(storyOf({ before: TRACE, forced: TRACE, after: TRACE, change: null }).finding.headline, "");
});

test("a rewriting names its action, its heads, its token and its rows", () => {
  const all = { kind: "cross", layer: null, head: null }, every = { first: 0, last: null };
  const one = { kind: "encoder", layer: 0, head: 1 }, masked = { kind: "decoder", layer: 1, head: 0 };
  for (const [action, heads, rows, key, ...parts] of [
    ["forbid", all, every, 2, "“▁no” (position 3) hidden", "all heads of the cross-attention in every row"],
    ["focus", { ...all, layer: 1 }, { first: 1, last: null }, 1, "layer 2 on “▁cat”", "from step 2,", "“▁keine” on"],
    ["shift", one, { first: 1, last: 1 }, null, "layer 1, head 2 shifted", "the row of “▁cat” alone"],
    ["uniform", masked, every, null, "uniform", "layer 2, head 1"], ["given", masked, every, null, "these weights"],
    ["forbid", masked, every, 1, "“▁keine” hidden"],
  ]) {
    const text = changeText({ action, heads, rows, key }, TRACE);
    for (const part of parts) assert.ok(text.includes(part), `${part}: ${text}`);
  }
});

test("losses are worded by their sum, the token that moved most its way, and all others", () => {
  assert.deepEqual([[0.5, -0.1, 0], [-1, 0, 0]].map(movedText), ["falls by 0.40 nats", "rises by 1.00 nats"]);
  const share = (losses) => shareText(losses, ["a", "b", "a"]), first = ": “a” (output token 1) loses most, ";
  assert.equal(share([0.5, -0.1, 0]), `${first}0.50 nats, and all others together gain 0.10`);
  assert.equal(share([0, -2, 0]), ": “b” gains most, 2.00 nats");
  assert.equal(share([0.3, -0.3, 0]), `${first}0.30 nats, and all others together gain 0.30`);
  assert.equal(share([0.001, 0.002, 0]), "");
  assert.deepEqual(distinct([1.0001, 1.0002]), ["1.0001", "1.0002"]);
  assert.deepEqual([-1.234, 0.5, -0.001].map((value) => signed(value, 2)), ["−1.23", "0.50", "0.00"]);
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
