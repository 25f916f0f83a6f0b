// What is chosen in the explorer: by clicks, from the address and back, and which heads fit.

import assert from "node:assert/strict";
import { test } from "node:test";

import { ExplorerState, findHeads, inOrder, limitOf } from "../../headlight/components/attention_explorer/state.js";
import { Attention } from "../../headlight/components/attention_explorer/weights.js";
import { axesText, headsTitle, notes } from "../../headlight/components/attention_explorer/words.js";
import { exampleFacts } from "./example.js";

const attention = new Attention(exampleFacts());
const head = (written, kind = "cross") => ({ kind, layer: Number(written[0]) - 1, head: Number(written[2]) - 1 });
const heads = (...written) => written.map((each) => head(each));

function start(address = {}) {
  const state = new ExplorerState(() => state.changes++);
  state.changes = 0;
  state.parse({ ...state.serialize(), ...address });
  return state;
}

test("the first state is what an empty address means", () => {
  assert.deepEqual(start().serialize(), {
    view: "map", head: "cross.1.1", query: "", key: "", rows: "both tokens", label: "all",
  });
});

test("what is read from an address is written there again", () => {
  const address = {
    view: "lines", head: "decoder.1.2-decoder.3.8", query: "", key: "2.4", rows: "input token", label: "none",
  };
  const state = start(address);
  assert.deepEqual(state.serialize(), address);
  assert.deepEqual(state.heads, [head("1.2", "decoder"), head("3.8", "decoder")]);
  assert.deepEqual([state.side, state.tokens], ["keys", [1, 3]]);
  assert.equal(state.changes, 0);
  const reversed = Object.fromEntries(Object.entries(address).reverse());
  assert.equal(inOrder(reversed), inOrder(address));
});

test("a click takes a head alone, shift takes several and gives back", () => {
  const state = start();
  state.takeHeads("cross", heads("2.3"), false);
  state.takeHeads("cross", heads("1.4"), true);
  assert.equal(state.serialize().head, "cross.2.3-cross.1.4");
  assert.ok(state.has("cross", head("1.4")) && !state.has("encoder", head("1.4")));
  state.takeHeads("cross", heads("2.3"), true);
  assert.equal(state.serialize().head, "cross.1.4");
  state.takeHeads("cross", heads("1.4"), true);
  assert.equal(state.serialize().head, "cross.1.4", "one is always left");
  state.takeHeads("cross", heads("1.4", "2.4"), true);
  assert.equal(state.serialize().head, "cross.1.4-cross.2.4");
  assert.equal(state.changes, 5);
});

test("without a shift key a button lets clicks add", () => {
  const state = start();
  state.several = true;
  state.takeHeads("cross", heads("2.1"), false);
  state.takeTokens("queries", [3], false);
  state.takeTokens("queries", [1], false);
  assert.deepEqual([state.serialize().head, state.serialize().query], ["cross.1.1-cross.2.1", "2.4"]);
});

test("another kind keeps the heads that it has, and no token", () => {
  const state = start({ head: "cross.1.2-cross.3.1", query: "1" });
  state.takeKind("encoder", { layers: 2, heads: 2 });
  assert.deepEqual([state.serialize().head, state.tokens], ["encoder.1.2", []]);
  state.takeKind("decoder", { layers: 2, heads: 1 });
  assert.equal(state.serialize().head, "decoder.1.1");
  state.takeHeads("cross", heads("2.2"), true);
  assert.deepEqual([state.kind, state.serialize().head], ["cross", "cross.2.2"]);
});

test("tokens of a word are taken and left together", () => {
  const state = start();
  state.takeTokens("queries", [4, 5], false);
  assert.equal(state.serialize().query, "5.6");
  state.takeTokens("queries", [1], true);
  assert.equal(state.serialize().query, "2.5.6");
  state.takeTokens("queries", [4, 5], true);
  assert.equal(state.serialize().query, "2");
  state.takeTokens("queries", [1], false);
  assert.equal(state.serialize().query, "");
  state.takeTokens("keys", [0], true);
  assert.equal(state.serialize().key, "1");
  assert.ok(state.holds("keys", [0, 1]) && !state.holds("queries", [0]));
});

test("Escape leaves first the tokens, then all heads but the first", () => {
  const state = start({ head: "cross.1.1-cross.2.2", query: "1" });
  state.clear();
  assert.deepEqual([state.serialize().query, state.serialize().head], ["", "cross.1.1-cross.2.2"]);
  state.clear();
  state.clear();
  assert.deepEqual([state.serialize().head, state.changes], ["cross.1.1", 2]);
});

test("heads are sorted by a measure, those without a value last, and filtered by it", () => {
  const found = (some) => findHeads(attention, "encoder", { label: "all", sort: "layer", least: 0, ...some });
  const names = (list) => list.map(({ layer, head }) => `${layer + 1}.${head + 1}`);
  assert.deepEqual(names(found({})), ["1.1", "1.2", "2.1", "2.2"]);
  assert.deepEqual(names(found({ sort: "confidence" })), ["1.2", "1.1", "2.2", "2.1"]);
  assert.deepEqual(names(found({ sort: "entropy" })), ["2.2", "1.1", "2.1", "1.2"]);
  const fits = (some) => names(found(some).filter((each) => each.fits));
  assert.deepEqual(fits({ sort: "confidence", least: 60 }), ["1.2", "1.1"]);
  assert.deepEqual(fits({ sort: "entropy", least: 50 }), ["2.2", "1.1", "2.1"], "at most half of the largest");
  assert.deepEqual(fits({ label: "previous" }), ["1.1", "2.1"]);
  assert.deepEqual(fits({ label: "none", sort: "entropy", least: 50 }), ["2.2"]);
  assert.equal(limitOf(attention, "encoder", { sort: "entropy", least: 75 }), 0.5);
  assert.equal(limitOf(attention, "encoder", { sort: "previous", least: 75 }), 0.75);
  assert.equal(limitOf(attention, "decoder", { sort: "previous", least: 75 }), null);
});

test("heads are named as what they are together", () => {
  const title = (...written) => headsTitle(attention.kind("cross"), "cross", heads(...written), "mean of ");
  assert.equal(title("2.1"), "Cross-attention: layer 2, head 1");
  assert.equal(title("1.1", "1.2", "2.1", "2.2"), "Cross-attention: mean of all 4 heads");
  assert.equal(title("2.1", "2.2"), "Cross-attention: mean of the 2 heads of layer 2");
  assert.equal(title("1.2", "2.2"), "Cross-attention: mean of head 2 of all layers");
  assert.equal(title("1.2", "2.1"), "Cross-attention: mean of 2 heads");
});

test("axes and what was done to the weights are said", () => {
  assert.equal(axesText("encoder", "input token"), "Rows (queries): source tokens. Columns (keys): source tokens.");
  assert.equal(
    axesText("decoder", "input token"),
    "Rows (queries): decoder steps, labelled by input token. Columns (keys): decoder input tokens.",
  );
  const state = start();
  assert.equal(notes(1, state), "");
  Object.assign(state, { top: 60, together: "sum" });
  assert.equal(
    notes(3, state),
    "Of each row only the largest weights that together hold 60 % of it are kept. " +
      "This is the sum of 3 heads: a whole row would sum to 3.",
  );
});
