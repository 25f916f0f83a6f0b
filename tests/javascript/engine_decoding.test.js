// Sampling and the length limit of the browser's engine.

import assert from "node:assert/strict";
import test from "node:test";
import { decode, sampler } from "../../headlight/components/engine/decoding.js";

const LOGITS = [9, 1, 0, Math.log(2), Math.log(4), -30]; // of tokens 0, which is never chosen, to 5
const ENGINE = { vocab: 6, never: [0], logits: Float32Array.from([7, ...LOGITS]) };
const draw = (options, number) => {
  const choose = sampler(ENGINE, options);
  return Array.from({ length: number }, () => choose(1));
};

test("the same seed draws the same tokens, another seed other tokens", () => {
  assert.deepEqual(draw({ seed: 5 }, 50), draw({ seed: 5 }, 50));
  assert.notDeepEqual(draw({ seed: 5 }, 50), draw({ seed: 6 }, 50));
});

test("tokens are drawn with the probabilities of softmax", () => {
  for (const temperature of [1, 0.5, 2]) {
    const drawn = draw({ temperature, seed: 3 }, 20_000);
    const shares = LOGITS.map((logit, id) => (id === 0 ? 0 : Math.exp(logit / temperature)));
    const all = shares.reduce((a, b) => a + b);
    shares.forEach((share, id) => {
      const frequency = drawn.filter((each) => each === id).length / drawn.length;
      assert.ok(Math.abs(frequency - share / all) < 0.015, `${id} at ${temperature}: ${frequency}, not ${share / all}`);
    });
  }
});

test("only the most probable tokens are drawn, and never a forbidden one", () => {
  assert.deepEqual([...new Set(draw({ topK: 2 }, 500))].sort(), [1, 4]);
  assert.ok(!draw({ temperature: 100 }, 2000).includes(0));
  for (const wrong of [{ temperature: 0 }, { topK: -1 }]) assert.throws(() => sampler(ENGINE, wrong), RangeError);
});

// An engine that never writes the end of sentence.
function endless(maxLength) {
  return {
    ...ENGINE, config: { begin_id: 1, end_id: 5, max_length: maxLength },
    kernel: { tally: () => ({ sum: 1, weighted: 0 }) },
    begin() {}, advance() {}, eachLogits: (_, act) => act(0, 1),
  };
}

test("a translation without an end has as many tokens as its source and the model allow", () => {
  for (const maxLength of [1, 2, 7, 52, 53, 54, 200]) {
    for (const source of [[5], [3, 4, 5]]) {
      const run = decode(endless(maxLength), source);
      let step = run.next();
      while (!step.done) step = run.next();
      assert.equal(step.value.ids.length, Math.min(maxLength, source.length + 50));
    }
  }
});
