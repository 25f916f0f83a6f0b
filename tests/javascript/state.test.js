// What is chosen in the explorer: by clicks, from the address and back, and which heads fit.

import assert from "node:assert/strict";
import { test } from "node:test";

import {
  ExplorerState, axesText, findHeads, headsTitle, inOrder, limitOf, notes,
} from "../../headlight/components/attention_explorer/state.js";
import { Attention } from "../../headlight/components/attention_explorer/weights.js";
import { exampleBytes } from "./example.js";

const attention = new Attention(exampleBytes());
const head = (written) => ({ layer: Number(written[0]) - 1, head: Number(written[2]) - 1 });
const heads = (...written) => written.map(head);

function start(address = {}) {
  const choice = new ExplorerState(() => choice.changes++);
  choice.changes = 0;
  choice.parse({ ...choice.serialize(), ...address });
  return choice;
}

test("the first choice is what an empty address means", () => {
  assert.deepEqual(start().serialize(), {
    kind: "cross", view: "map", heads: "1.1", tokens: "", rows: "predicted", words: "pieces", specials: "shown",
    top: "100", together: "mean", scale: "0 to 1", kinds: "one", label: "all", sort: "layer", least: "0",
  });
});

test("what is read from an address is written there again", () => {
  const address = {
    kind: "decoder", view: "lines", heads: "1.2-3.8", tokens: "k2-4", rows: "fed", words: "words",
    specials: "renormalised", top: "60", together: "sum", scale: "per map", kinds: "all three", label: "none",
    sort: "entropy", least: "35",
  };
  const choice = start(address);
  assert.deepEqual(choice.serialize(), address);
  assert.deepEqual([choice.heads, choice.side, choice.tokens], [heads("1.2", "3.8"), "keys", [1, 3]]);
  assert.deepEqual([choice.top, choice.least, choice.changes], [60, 35, 0]);
  const reversed = Object.fromEntries(Object.entries(address).reverse());
  assert.equal(inOrder(reversed), inOrder(address));
});

test("a click takes a head alone, shift takes several and gives back", () => {
  const choice = start();
  choice.takeHeads("cross", heads("2.3"), false);
  choice.takeHeads("cross", heads("1.4"), true);
  assert.equal(choice.serialize().heads, "2.3-1.4");
  assert.ok(choice.has("cross", head("1.4")) && !choice.has("encoder", head("1.4")));
  choice.takeHeads("cross", heads("2.3"), true);
  assert.equal(choice.serialize().heads, "1.4");
  choice.takeHeads("cross", heads("1.4"), true);
  assert.equal(choice.serialize().heads, "1.4", "one is always left");
  choice.takeHeads("cross", heads("1.4", "2.4"), true);
  assert.equal(choice.serialize().heads, "1.4-2.4");
  assert.equal(choice.changes, 5);
});

test("without a shift key a button lets clicks add", () => {
  const choice = start();
  choice.several = true;
  choice.takeHeads("cross", heads("2.1"), false);
  choice.takeTokens("queries", [3], false);
  choice.takeTokens("queries", [1], false);
  assert.deepEqual([choice.serialize().heads, choice.serialize().tokens], ["1.1-2.1", "q2-4"]);
});

test("another kind keeps the heads that it has, and no token", () => {
  const choice = start({ heads: "1.2-3.1", tokens: "q1" });
  choice.takeKind("encoder", { layers: 2, heads: 2 });
  assert.deepEqual([choice.kind, choice.serialize().heads, choice.tokens], ["encoder", "1.2", []]);
  choice.takeKind("decoder", { layers: 2, heads: 1 });
  assert.equal(choice.serialize().heads, "1.1");
  choice.takeHeads("cross", heads("2.2"), true);
  assert.deepEqual([choice.kind, choice.serialize().heads], ["cross", "2.2"]);
});

test("tokens of a word are taken and left together", () => {
  const choice = start();
  choice.takeTokens("queries", [4, 5], false);
  assert.equal(choice.serialize().tokens, "q5-6");
  choice.takeTokens("queries", [1], true);
  assert.equal(choice.serialize().tokens, "q2-5-6");
  choice.takeTokens("queries", [4, 5], true);
  assert.equal(choice.serialize().tokens, "q2");
  choice.takeTokens("queries", [1], false);
  assert.equal(choice.serialize().tokens, "");
  choice.takeTokens("keys", [0], true);
  assert.equal(choice.serialize().tokens, "k1");
  assert.ok(choice.holds("keys", [0, 1]) && !choice.holds("queries", [0]));
});

test("Escape leaves first the tokens, then all heads but the first", () => {
  const choice = start({ heads: "1.1-2.2", tokens: "q1" });
  choice.clear();
  assert.deepEqual([choice.serialize().tokens, choice.serialize().heads], ["", "1.1-2.2"]);
  choice.clear();
  choice.clear();
  assert.deepEqual([choice.serialize().heads, choice.changes], ["1.1", 2]);
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
  const title = (...written) => headsTitle(attention, "cross", heads(...written), "mean of ");
  assert.equal(title("2.1"), "Cross-attention: layer 2, head 1");
  assert.equal(title("1.1", "1.2", "2.1", "2.2"), "Cross-attention: mean of all 4 heads");
  assert.equal(title("2.1", "2.2"), "Cross-attention: mean of the 2 heads of layer 2");
  assert.equal(title("1.2", "2.2"), "Cross-attention: mean of head 2 of all layers");
  assert.equal(title("1.2", "2.1"), "Cross-attention: mean of 2 heads");
});

test("axes and what was done to the weights are said", () => {
  assert.equal(axesText("encoder", "fed"), "Rows (queries): source tokens. Columns (keys): source tokens.");
  assert.equal(
    axesText("decoder", "fed"),
    "Rows (queries): decoder steps, labelled by input token. Columns (keys): decoder input tokens.",
  );
  const choice = start();
  assert.equal(notes(1, choice), "");
  Object.assign(choice, { top: 60, together: "sum" });
  assert.equal(
    notes(3, choice),
    "Of each row only the largest weights that together hold 60 % of it are kept. " +
      "This is the sum of 3 heads: a whole row would sum to 3.",
  );
});
