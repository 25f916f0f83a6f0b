import assert from "node:assert/strict";
import test from "node:test";
import { sampler } from "../../headlight/components/engine/decoding.js";

const LOGITS = [9, 1, 0, Math.log(2), Math.log(4), -30]; // of tokens 0, which is never chosen, to 5
const ENGINE = { vocab: 6, never: [0], logits: Float32Array.from([7, ...LOGITS]) };
const draw = (options, number) => {
  const choose = sampler(ENGINE, options);
  return Array.from({ length: number }, () => choose(1));
};

test("the same seed draws the same, another one something else", () => {
  assert.deepEqual(draw({ seed: 5 }, 50), draw({ seed: 5 }, 50));
  assert.notDeepEqual(draw({ seed: 5 }, 50), draw({ seed: 6 }, 50));
});

test("tokens are drawn as often as softmax says", () => {
  for (const temperature of [1, 0.5, 2]) {
    const drawn = draw({ temperature, seed: 3 }, 20_000);
    const shares = LOGITS.map((logit, id) => (id === 0 ? 0 : Math.exp(logit / temperature)));
    const all = shares.reduce((a, b) => a + b);
    shares.forEach((share, id) => {
      const found = drawn.filter((each) => each === id).length / drawn.length;
      assert.ok(Math.abs(found - share / all) < 0.015, `${id} at ${temperature}: ${found}, not ${share / all}`);
    });
  }
});

test("of the most probable alone, and never what may not be chosen", () => {
  assert.deepEqual([...new Set(draw({ topK: 2 }, 500))].sort(), [1, 4]);
  assert.deepEqual([...new Set(draw({ topK: 1 }, 50))], [4]);
  assert.ok(!draw({ temperature: 100 }, 2000).includes(0));
  for (const wrong of [{ temperature: 0 }, { topK: -1 }]) assert.throws(() => sampler(ENGINE, wrong), RangeError);
});
