// The explorer's state: clicks, the address and back, and the order and filter of heads.

import assert from "node:assert/strict";
import { test } from "node:test";

import { ExplorerState, findHeads, inOrder, limitOf } from "../../headlight/components/attention_explorer/state.js";
import { Attention } from "../../headlight/components/attention_explorer/weights.js";
import { exampleFacts } from "./example.js";

const attention = new Attention(exampleFacts());
const heads = (...texts) => texts.map((text) => ({ layer: Number(text[0]) - 1, head: Number(text[2]) - 1 }));

function start(address = {}) {
  const state = new ExplorerState(() => state.changes++);
  state.changes = 0;
  state.parse({ ...state.serialize(), ...address });
  return state;
}

test("an address is parsed as it was serialised, in any order", () => {
  const empty = { view: "map", head: "cross.1.1", query: "", key: "", rows: "output token", label: "all" };
  assert.deepEqual(start().serialize(), empty);
  const address = {
    view: "lines", head: "decoder.1.2-decoder.3.8", query: "", key: "2.4", rows: "input token", label: "none",
  };
  const state = start(address);
  assert.deepEqual([state.serialize(), state.side, state.tokens, state.changes], [address, "keys", [1, 3], 0]);
  assert.equal(inOrder(Object.fromEntries(Object.entries(address).reverse())), inOrder(address));
});

test("a click takes a head alone, with shift in addition or not any more, and one is always left", () => {
  const state = start();
  for (const [texts, more, expected] of [
    [["2.3"], false, "cross.2.3"], [["1.4"], true, "cross.2.3-cross.1.4"], [["2.3"], true, "cross.1.4"],
    [["1.4"], true, "cross.1.4"], [["1.4", "2.4"], true, "cross.1.4-cross.2.4"],
  ]) {
    state.takeHeads("cross", heads(...texts), more);
    assert.equal(state.serialize().head, expected);
  }
  const [head] = heads("1.4");
  assert.deepEqual([state.changes, state.has("cross", head), state.has("encoder", head)], [5, true, false]);
  state.several = true; // a button in place of the shift key
  state.takeHeads("cross", heads("2.1"), false);
  for (const position of [3, 1]) state.takeTokens("queries", [position], false);
  assert.deepEqual([state.heads.length, state.tokens], [3, [1, 3]]);
});

test("another kind keeps the heads that it has, and no token", () => {
  const state = start({ head: "cross.1.2-cross.3.1", query: "1" });
  state.takeKind("encoder", { layers: 2, heads: 2 });
  assert.deepEqual([state.serialize().head, state.tokens], ["encoder.1.2", []]);
  state.takeKind("decoder", { layers: 2, heads: 1 });
  assert.equal(state.serialize().head, "decoder.1.1");
  state.takeHeads("cross", heads("2.2"), true);
  assert.equal(state.serialize().head, "cross.2.2");
});

test("tokens of a word are taken together, Escape clears first tokens, then all heads but the first", () => {
  const state = start({ head: "cross.1.1-cross.2.2" });
  for (const [positions, more, expected] of [
    [[4, 5], false, "5.6"], [[1], true, "2.5.6"], [[4, 5], true, "2"], [[1], false, ""], [[1], false, "2"],
  ]) {
    state.takeTokens("queries", positions, more);
    assert.equal(state.serialize().query, expected);
  }
  state.takeTokens("keys", [0], true);
  assert.deepEqual([state.serialize().query, state.serialize().key], ["", "1"]);
  assert.deepEqual([state.holds("keys", [0, 1]), state.holds("queries", [0])], [true, false]);
  state.changes = 0;
  const cleared = [1, 2, 3].map(() => state.clear() ?? [state.tokens.length, state.heads.length, state.changes]);
  assert.deepEqual(cleared, [[0, 2, 1], [0, 1, 2], [0, 1, 2]]);
});

test("heads are sorted by a measure, those without a value last, and filtered", () => {
  const names = (some, isFiltered) => {
    const all = findHeads(attention, "encoder", { label: "all", sort: "layer", least: 0, ...some });
    return all.filter(({ fits }) => fits || !isFiltered).map(({ layer, head }) => `${layer + 1}.${head + 1}`).join(" ");
  };
  assert.equal(names({}), "1.1 1.2 2.1 2.2");
  assert.equal(names({ sort: "confidence" }), "1.2 1.1 2.2 2.1");
  assert.equal(names({ sort: "entropy" }), "2.2 1.1 2.1 1.2");
  assert.equal(names({ sort: "confidence", least: 60 }, true), "1.2 1.1");
  assert.equal(names({ sort: "entropy", least: 50 }, true), "2.2 1.1 2.1", "at most half of the largest");
  assert.equal(names({ label: "previous" }, true), "1.1 2.1");
  assert.equal(names({ label: "none", sort: "entropy", least: 50 }, true), "2.2");
  const limits = [["encoder", "entropy"], ["encoder", "previous"], ["decoder", "previous"]];
  assert.deepEqual(limits.map(([kind, sort]) => limitOf(attention, kind, { sort, least: 75 })), [0.5, 0.75, null]);
});
