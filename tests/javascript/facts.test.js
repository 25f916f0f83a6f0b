// Facts as they travel, grids, and numbers as they are written.

import assert from "node:assert/strict";
import { test } from "node:test";

import { decodeFacts, unpackFacts } from "../../headlight/components/lib/facts.js";
import { Grid, number, tiny } from "../../headlight/components/lib/format.js";

const base64 = (array) => Buffer.from(array.buffer).toString("base64");

test("arrays are decoded once, and names become those of JavaScript", () => {
  const array = (dtype, shape, values) => ({ dtype, shape, base64: base64(values) });
  const facts = {
    both_ways: [
      array("float32", [2, 1], Float32Array.of(0, -1.5)), null, array("uint16", [1, 2], Uint16Array.of(1, 65535)),
    ],
    line: array("int32", [2], Int32Array.of(-7, 3)),
  };
  const expected = {
    bothWays: [
      { shape: [2, 1], weights: Float32Array.of(0, -1.5) }, null, { shape: [1, 2], weights: Uint16Array.of(1, 65535) },
    ],
    line: Int32Array.of(-7, 3),
  };
  assert.deepEqual(decodeFacts(facts), expected);
  assert.deepEqual(decodeFacts(decodeFacts(facts)), expected);
});

test("half precision is decoded as in IEEE 754", () => {
  const bits = Uint16Array.of(0x0000, 0x3c00, 0xc000, 0x3555, 0x7bff, 0x0001, 0x0400, 0xfc00, 0x7c00, 0x7e00);
  const expected = [0, 1, -2, 0.333251953125, 65504, 2 ** -24, 2 ** -14, -Infinity, Infinity, NaN];
  assert.deepEqual([...decodeFacts({ dtype: "float16", shape: [10], base64: base64(bits) })], expected);
});

function packed(facts, numbers) {
  const text = new TextEncoder().encode(JSON.stringify(facts)), padded = text.length + (text.length % 2);
  const bytes = new Uint8Array(4 + padded + 2 * numbers.length).fill(32);
  new DataView(bytes.buffer).setUint32(0, padded, true);
  bytes.set(text, 4);
  bytes.set(new Uint8Array(Uint16Array.from(numbers).buffer), 4 + padded);
  return bytes;
}

test("bytes become facts and arrays, for headers of odd and even length and bytes at any offset", () => {
  for (const some_text of ["a", "ab"]) {
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

test("a grid is stored row by row, and its limit is its largest finite number", () => {
  const grid = new Grid(2, 3, Float32Array.of(1, -7, 2, NaN, Infinity, 4));
  assert.deepEqual([grid.at(0, 1), grid.at(1, 2), grid.limit], [-7, 4, 7]);
  assert.deepEqual([[...grid.row(0)], [...grid.columnsFrom(1, 2).values]], [[1, -7, 2], [-7, 2, Infinity, 4]]);
});

test("numbers have their digits and a true minus; of differences only the size is written", () => {
  const written = [number(-0.12345), number(2, 0), number(123456.789, 2), number(-Infinity), number(NaN)];
  assert.deepEqual(written, ["−0.1235", "2", "1.23e+5", "−∞", "not a number"]);
  assert.deepEqual([0, 2.7e-8, 1, 4.4e12].map(tiny), ["0", "3·10⁻⁸", "1·10⁰", "4·10¹²"]);
});
