// Heads and selections in addresses.

import assert from "node:assert/strict";
import { test } from "node:test";

import {
  headAddress, headsAddress, numbersAddress, parseHead, parseHeads, parseNumbers, parseSelection, selectionAddress,
} from "../../headlight/components/lib/selection.js";

const SIZES = { encoder: [2, 3, 4, 4], decoder: [1, 3, 5, 5], cross: [1, 3, 5, 4] };
const START = { kind: "cross", layer: 0, head: 2 };

test("heads are parsed as they were written, and any other text has none", () => {
  for (const layer of [null, 0, 11]) {
    for (const head of [null, 0, 6]) {
      assert.deepEqual(parseHead(headAddress({ kind: "cross", layer, head })), { kind: "cross", layer, head });
    }
  }
  const texts = ["", "cross", "cross.1", "cross.0.1", "cross.1.0", "cross.-1.2", "sideways.1.1", "cross.1.1.1"];
  for (const text of [...texts, undefined]) assert.equal(parseHead(text), null);
  const heads = [{ kind: "cross", layer: 0, head: 1 }, { kind: "encoder", layer: 1, head: 2 }];
  assert.equal(headsAddress(heads), "cross.1.2-encoder.2.3");
  assert.deepEqual(parseHeads("cross.1.2-encoder.2.3-cross.1.2", SIZES), heads);
  for (const text of ["", "none", "cross.2.1", "decoder.1.4", "cross.all.1"]) {
    assert.deepEqual(parseHeads(text, SIZES), []);
  }
});

test("numbers count from 1 in an address, and those out of range are left out", () => {
  assert.equal(numbersAddress([1, 4]), "2.5");
  assert.deepEqual(["2.5.2", "5.9.0.1"].map((text) => parseNumbers(text, 5)), [[1, 4], [0, 4]]);
  for (const text of ["", "q1", "1.", "-1", undefined]) assert.deepEqual(parseNumbers(text, 5), []);
});

test("a selection is parsed as it was written, layers and heads are expanded, invalid heads replaced", () => {
  const address = { head: "encoder.1.2-encoder.2.3", query: "2.4", key: "" };
  assert.deepEqual(selectionAddress(parseSelection(address, SIZES, START)), address);
  assert.deepEqual(parseSelection({ query: "5", key: "5" }, SIZES, START), { heads: [START], queries: [4], keys: [] });
  const heads = (head) => headsAddress(parseSelection({ head }, SIZES, START).heads);
  assert.equal(heads("encoder.2.all"), "encoder.2.1-encoder.2.2-encoder.2.3");
  assert.equal(heads("encoder.all.1"), "encoder.1.1-encoder.2.1");
  for (const text of ["cross.2.1", "cross.1.1-encoder.1.1", "cross.1.1-", "x"]) assert.equal(heads(text), "cross.1.3");
});
