import assert from "node:assert/strict";
import { test } from "node:test";

import {
  headAddress, headsAddress, numbersAddress, parseHead, parseHeads, parseNumbers, parseSelection, selectionAddress,
} from "../../headlight/components/lib/selection.js";

const SHAPES = { encoder: [2, 3], decoder: [1, 3], cross: [1, 3] };

test("an address is parsed to its head", () => {
  for (const layer of [null, 0, 11]) {
    for (const head of [null, 0, 6]) {
      const one = { kind: "cross", layer, head };
      assert.deepEqual(parseHead(headAddress(one)), one);
    }
  }
  assert.equal(headAddress({ kind: "cross", layer: 2, head: 3 }), "cross.3.4");
});

test("any other text has no head", () => {
  const texts = ["", "cross", "cross.1", "cross.0.1", "cross.1.0", "cross.-1.2", "sideways.1.1", "cross.1.1.1"];
  for (const text of [...texts, undefined]) assert.equal(parseHead(text), null);
});

test("several heads are those that a model has, each once", () => {
  const heads = [{ kind: "cross", layer: 0, head: 1 }, { kind: "encoder", layer: 1, head: 2 }];
  assert.equal(headsAddress(heads), "cross.1.2-encoder.2.3");
  assert.deepEqual(parseHeads("cross.1.2-encoder.2.3-cross.1.2", SHAPES), heads);
  for (const text of ["", "none", "cross.2.1", "decoder.1.4", "cross.all.1"]) {
    assert.deepEqual(parseHeads(text, SHAPES), []);
  }
});

test("numbers count from 1 in an address, and what is not there is left out", () => {
  assert.deepEqual(parseNumbers("2.5.2", 5), [1, 4]);
  assert.equal(numbersAddress([1, 4]), "2.5");
  assert.deepEqual(parseNumbers("5.9.0.2", 5), [1, 4]);
  for (const text of ["", "q1", "1.", "-1", undefined]) assert.deepEqual(parseNumbers(text, 5), []);
});

const SIZES = { encoder: [2, 3, 4, 4], decoder: [1, 3, 5, 5], cross: [1, 3, 5, 4] };
const START = { kind: "cross", layer: 0, head: 2 };

test("a selection is read from an address and written again", () => {
  const address = { head: "encoder.1.2-encoder.2.3", query: "2.4", key: "" };
  const selection = parseSelection(address, SIZES, START);
  assert.deepEqual(selectionAddress(selection), address);
  assert.ok(Object.isFrozen(selection));
  assert.deepEqual(parseSelection({ query: "5", key: "5" }, SIZES, START), { heads: [START], queries: [4], keys: [] });
});

test("all heads of a layer are selected one by one, invalid heads are those to begin with", () => {
  const heads = (head) => headsAddress(parseSelection({ head }, SIZES, START).heads);
  assert.equal(heads("encoder.2.all"), "encoder.2.1-encoder.2.2-encoder.2.3");
  assert.equal(heads("encoder.all.1"), "encoder.1.1-encoder.2.1");
  for (const text of ["cross.2.1", "cross.1.1-encoder.1.1", "cross.1.1-", "x"]) assert.equal(heads(text), "cross.1.3");
});
