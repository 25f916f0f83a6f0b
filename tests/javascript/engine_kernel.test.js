// Both kernels of the browser's engine against sums in double precision.

import assert from "node:assert/strict";
import fs from "node:fs";
import test from "node:test";
import { plainKernel, simdKernel } from "../../headlight/components/engine/kernel.js";

const BYTES = fs.readFileSync(new URL("../../headlight/components/engine/kernel.wasm", import.meta.url));
const KERNELS = [plainKernel(), simdKernel(BYTES, { bytes: 4_000_000, inputs: 256 })];

// Reproducible numbers of both signs.
const numbers = (kernel, count, scale = 1, phase = 0) => {
  const array = kernel.allocate(count);
  for (let at = 0; at < count; at++) array[at] = scale * Math.sin(phase + at * (at % 7 + 1));
  return array;
};

function near(actual, expected, within, message) {
  assert.ok(Math.abs(actual - expected) <= within, `${message}: ${actual} in place of ${expected}`);
}

for (const kernel of KERNELS) {
  test(`${kernel.name} multiplies rows of every number and width`, () => {
    const sizes = [[1, 16, 4], [1, 256, 8], [2, 32, 20], [3, 48, 12], [5, 32, 4], [7, 16, 9], [4, 5, 73], [1, 20, 8]];
    for (const [rows, inputs, outputs] of sizes) {
      const x = numbers(kernel, rows * inputs), scales = numbers(kernel, outputs, 0.01, 1);
      const bias = numbers(kernel, outputs), y = kernel.allocate(rows * outputs);
      const weight = kernel.keep(Int8Array.from({ length: outputs * inputs }, (_, at) => ((at * 37) % 255) - 127));
      kernel.multiply(x, rows, { weight, scales, bias, outputs, inputs }, y);
      for (let at = 0; at < rows * outputs; at++) {
        const row = Math.floor(at / outputs), output = at % outputs;
        let sum = bias[output];
        for (let i = 0; i < inputs; i++) sum += x[row * inputs + i] * weight[output * inputs + i] * scales[output];
        near(y[at], sum, 1e-5, `${rows} x ${inputs} to ${outputs}`);
      }
    }
  });

  test(`${kernel.name} sums up logits`, () => {
    for (const [count, scale] of [[4, 1], [12_000, 8], [12_000, 80], [73, 8]]) {
      const row = numbers(kernel, count + 4, scale), at = 4, part = Array.from(row.subarray(at, at + count));
      const peak = Math.max(...part), shares = part.map((logit) => Math.exp(logit - peak));
      assert.equal(kernel.peak(row, at, count), peak);
      const tally = kernel.tally(row, at, count, peak), sum = shares.reduce((a, b) => a + b);
      const weighted = part.reduce((before, logit, index) => before + shares[index] * (logit - peak), 0);
      near(tally.sum, sum, 2e-6 * sum, "sum");
      near(tally.weighted, weighted, 5e-6 * Math.abs(weighted), "weighted");
    }
  });

  test(`${kernel.name} gives forbidden tokens no share`, () => {
    const row = kernel.allocate(8);
    row.set([-Infinity, -Infinity, 1, 0, 0, 0, 0, 0]);
    assert.equal(kernel.peak(row, 0, 8), 1);
    near(kernel.tally(row, 0, 8, 1).sum, 1 + 5 * Math.exp(-1), 1e-6, "sum");
  });
}
