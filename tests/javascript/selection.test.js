import assert from "node:assert/strict";
import { test } from "node:test";

import { headAddress, headsAddress, parseHead, parseHeads } from "../../headlight/components/lib/selection.js";

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
