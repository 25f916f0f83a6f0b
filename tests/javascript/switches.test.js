// Losses of a translation without each head, and its change, as both components draw them.

import assert from "node:assert/strict";
import { test } from "node:test";

import { defaultHead, ranked, switchesOf } from "../../headlight/components/head_switches/story.js";
import { shareText } from "../../headlight/components/lib/losses.js";
import { shownTokens } from "../../headlight/components/lib/tokens.js";
import { changeRows } from "../../headlight/components/translation_table/rows.js";

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
  const beam = switchesOf(importanceOf("decoder.0.2"), { ...TRACE, targetRanks: [1, 2, 1] });
  assert.deepEqual(beam.kinds[1].turned, [[false, false, false]], "greedy decoding does not find this translation");
});

test("heads are ranked by loss, and the first to be off turns the translation if any does", () => {
  const name = ({ kind, layer, head }) => `${kind}.${layer}.${head}`;
  assert.equal(name(defaultHead(importanceOf())), "cross.0.1");
  assert.equal(name(defaultHead(importanceOf("cross.0.2"))), "cross.0.2");
  assert.equal(name(defaultHead(importanceOf("encoder.0.0"))), "cross.0.1", "a head of cross-attention");
  assert.deepEqual(ranked(importanceOf()).slice(0, 3).map(name), ["cross.0.1", "encoder.1.2", "encoder.0.0"]);
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
