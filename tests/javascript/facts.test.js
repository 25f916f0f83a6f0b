import assert from "node:assert/strict";
import { test } from "node:test";

import { unpackFacts } from "../../headlight/components/lib/facts.js";

function packed(facts, numbers) {
  const text = new TextEncoder().encode(JSON.stringify(facts)), padded = text.length + (text.length % 2);
  const bytes = new Uint8Array(4 + padded + 2 * numbers.length).fill(32);
  new DataView(bytes.buffer).setUint32(0, padded, true);
  bytes.set(text, 4);
  bytes.set(new Uint8Array(Uint16Array.from(numbers).buffer), 4 + padded);
  return bytes;
}

test("bytes become facts and arrays, wherever the header ends and the bytes begin", () => {
  for (const some_text of ["a", "ab"]) { // headers of odd and of even length
    const whole = packed({ some_text, arrays: { one: [1, 2], two: [2] } }, [1, 2, 3, 65_535]);
    const within = new Uint8Array(whole.length + 3);
    within.set(whole, 3);
    for (const bytes of [whole, within.subarray(3)]) {
      const { someText, one, two } = unpackFacts(bytes);
      assert.deepEqual([someText, one.shape, two.shape], [some_text, [1, 2], [2]]);
      assert.deepEqual([[...one.weights], [...two.weights]], [[1, 2], [3, 65_535]]);
    }
  }
});
