// What a token's chip says.

import assert from "node:assert/strict";
import { test } from "node:test";

import { chipText } from "../../headlight/components/lib/tokens.js";

test("a word stands without its mark, a part of one as it is, and the mark alone stays", () => {
  assert.deepEqual(["▁teacher", "er", ".", "▁"].map((token) => chipText(token, false)), ["teacher", "er", ".", "▁"]);
});

test("a special token is a glyph, and one that only looks like one is text", () => {
  assert.deepEqual(["</s>", "<s>", "deu_Latn"].map((token) => chipText(token, true)), ["⟨end⟩", "⟨start⟩", "deu_Latn"]);
  assert.equal(chipText("</s>", false), "</s>");
});
