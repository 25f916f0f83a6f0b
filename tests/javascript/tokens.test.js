// The look of tokens, by the same list as in Python (tests/headlight/plots/test_shown_tokens.py).

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { chipText, inWords, shownToken, shownTokens, wordRanges } from "../../headlight/components/lib/tokens.js";

const CASES = JSON.parse(readFileSync(new URL("../shown_tokens.json", import.meta.url), "utf-8"));

for (const { what, tokens, chips, alone, together, words } of CASES) {
  test(`tokens look as in Python: ${what}`, () => {
    assert.deepEqual(shownTokens(tokens), together);
    if (!chips) return;
    assert.deepEqual(tokens.map(chipText), chips);
    assert.deepEqual(tokens.map(shownToken), alone);
    assert.deepEqual(wordRanges(tokens), words);
  });
}

test("a sentence that names tokens reads as in Python", () => {
  const sentences = JSON.parse(readFileSync(new URL("../sentences_in_words.json", import.meta.url), "utf-8"));
  for (const [written, shown] of sentences) assert.equal(inWords(written), shown);
});
