// Arrays as they travel and numbers as they are written.

import assert from "node:assert/strict";
import { test } from "node:test";

import { decodeFacts } from "../../headlight/components/lib/facts.js";
import { Grid, number, tiny } from "../../headlight/components/lib/format.js";

const base64 = (array) => Buffer.from(array.buffer).toString("base64");

test("arrays survive the way as they are, and names become those of JavaScript", () => {
  const array = (dtype, values) => ({ dtype, shape: [2, values.length / 2], base64: base64(values) });
  const facts = {
    both_ways: [array("float32", Float32Array.of(0, -1.5)), array("uint16", Uint16Array.of(1, 65535))],
    line: { ...array("int32", Int32Array.of(-7, 3)), shape: [2] },
  };
  const expected = {
    bothWays: [
      { shape: [2, 1], weights: Float32Array.of(0, -1.5) }, { shape: [2, 1], weights: Uint16Array.of(1, 65535) },
    ],
    line: Int32Array.of(-7, 3),
  };
  assert.deepEqual(decodeFacts(facts), expected);
  assert.deepEqual(decodeFacts(decodeFacts(facts)), expected);
});

test("half precision is read as IEEE 754 has it", () => {
  const bits = Uint16Array.of(0x0000, 0x3c00, 0xc000, 0x3555, 0x7bff, 0x0001, 0x0400, 0xfc00, 0x7c00, 0x7e00);
  const expected = [0, 1, -2, 0.333251953125, 65504, 2 ** -24, 2 ** -14, -Infinity, Infinity, NaN];
  assert.deepEqual([...decodeFacts({ dtype: "float16", shape: [10], base64: base64(bits) })], expected);
});

test("a grid is row by row, and its limit is its largest finite number", () => {
  const grid = new Grid(2, 3, Float32Array.of(1, -7, 2, NaN, Infinity, 4));
  assert.equal(grid.at(0, 1), -7);
  assert.equal(grid.at(1, 2), 4);
  assert.deepEqual([...grid.row(0)], [1, -7, 2]);
  assert.deepEqual([...grid.columnsFrom(1, 2).values], [-7, 2, Infinity, 4]);
  assert.equal(grid.limit, 7);
  assert.equal(new Grid(1, 1, Float32Array.of(-Infinity)).limit, 0);
});

test("a number has its digits and a true minus", () => {
  assert.equal(number(-0.12345), "−0.1235");
  assert.equal(number(2, 0), "2");
  assert.equal(number(123456.789, 2), "1.23e+5");
  assert.equal(number(-Infinity), "−∞");
  assert.equal(number(NaN), "not a number");
});

test("of a small difference its size is written", () => {
  assert.equal(tiny(0), "0");
  assert.equal(tiny(2.7e-8), "3·10⁻⁸");
  assert.equal(tiny(1), "1·10⁰");
  assert.equal(tiny(4.4e12), "4·10¹²");
});
