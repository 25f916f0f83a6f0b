// The browser's engine: sampling, kernels, the queue of runs, and losses shared with a helper.

import assert from "node:assert/strict";
import fs from "node:fs";
import { test } from "node:test";

import { decode, sampler } from "../../headlight/components/engine/decoding.js";
import { plainKernel, simdKernel } from "../../headlight/components/engine/kernel.js";
import { GivenUp, Runs } from "../../headlight/components/engine/runs.js";
import { Sharing } from "../../headlight/components/engine/sharing.js";

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
      assert.ok(step.value.results().targetRanks.every((rank) => rank === 2), "below a token that is never chosen");
    }
  }
});

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
      row[at] = -Infinity; // a forbidden token
      near(kernel.tally(row, at, count, peak).sum, sum - shares[0], 3e-6 * sum, "sum without the first");
    }
  });
}

// A run of so many steps that notes each; its name is its result.
function noting(notes, name, steps) {
  return function* () {
    for (let step = 0; step < steps; step++) {
      notes.push(name);
      yield { name, step };
    }
    return name;
  };
}

test("runs come one after the other, what they yield is handed on, and an error fails one run alone", async () => {
  const runs = new Runs(), notes = [], each = [];
  const first = runs.add(noting(notes, "a", 2), { each: ({ step }) => each.push(step) });
  const bad = runs.add(() => { throw new RangeError("no head"); });
  const last = runs.add(noting(notes, "b", 2));
  await assert.rejects(bad, RangeError);
  assert.deepEqual(await Promise.all([first, last]), ["a", "b"]);
  assert.deepEqual([notes, each], [["a", "a", "b", "b"], [0, 1]]);
});

test("a newer run gives up the waiting run of its lane and no other", async () => {
  const runs = new Runs(), notes = [];
  const added = ["typing", null, "typing"].map((lane, at) => runs.add(noting(notes, at, 1), { lane }));
  const [first, ...others] = await Promise.allSettled(added);
  assert.ok(first.reason instanceof GivenUp);
  assert.deepEqual([others.map(({ value }) => value), notes], [[1, 2], [1, 2]], "the first has never begun");
});

test("a run under way is given up between two steps, and its generator goes no further", async () => {
  const runs = new Runs(), notes = [], isOld = (name) => name === "old";
  const first = runs.add(noting(notes, "old", Infinity), { lane: "typing" });
  first.catch(() => {});
  while (!notes.length) await runs.breathe();
  const second = runs.add(noting(notes, "new", 1), { lane: "typing" });
  await assert.rejects(first, GivenUp);
  assert.equal(await second, "new");
  const after = notes.filter(isOld).length;
  await runs.breathe();
  assert.equal(notes.filter(isOld).length, after);
});

test("a background run is set aside while another waits, and continued afterwards", async () => {
  const runs = new Runs(), notes = [];
  let goesOn = true;
  const behind = runs.add(function* () {
    while (goesOn) {
      notes.push("behind");
      yield undefined;
    }
    return "done";
  }, { background: true });
  while (!notes.length) await runs.breathe();
  assert.equal(await runs.add(noting(notes, "before", 3)), "before");
  goesOn = false;
  assert.equal(await behind, "done");
});

const PARTS = [0, 1, 2, 3, 4, 5].map((layer) => ({ kind: "cross", layer, heads: [0, 1] }));
const ALL = PARTS.flatMap(({ kind, layer, heads }) => heads.map((head) => `${kind}.${layer}.${head}`));
const settled = () => new Promise((resolve) => setImmediate(resolve));

// A model that answers the oldest pending part when the test calls answer().
class ManualModel {
  constructor() {
    this.pending = [];
    this.isEnded = false;
  }

  ask(verb, [, , part]) {
    if (verb === "headParts") return Promise.resolve({ source: [5, 3], parts: [...PARTS] });
    if (verb === "packed") return Promise.resolve(new Uint8Array(4));
    return new Promise((resolve, reject) => this.pending.push({ part, resolve, reject }));
  }

  answer() {
    const { part, resolve } = this.pending.shift();
    resolve({ each: part.heads.map((head) => ({ head: `${part.kind}.${part.layer}.${head}` })), logs: [-1] });
    return settled();
  }

  giveUp() {}

  end() {
    this.isEnded = true;
  }
}

function begun(hire) {
  const model = new ManualModel(), heads = [], sharing = new Sharing(model, hire);
  return { model, heads, sharing, run: sharing.measure("a", [4, 3], ({ head }) => heads.push(head), "losses") };
}

test("a helper shares the parts, each is measured once, and it leaves a while after the last", async (context) => {
  context.mock.timers.enable({ apis: ["setTimeout"] });
  const helper = new ManualModel(), { model, heads, run } = begun(() => Promise.resolve(helper));
  await settled();
  for (const each of [helper, helper, model, helper, model, helper]) await each.answer();
  assert.deepEqual(await run, [-1]);
  assert.deepEqual([...heads].sort(), ALL);
  assert.deepEqual([model.pending.length, helper.pending.length, helper.isEnded], [0, 0, false]);
  context.mock.timers.tick(60_000);
  await settled();
  assert.ok(helper.isEnded);
});

test("without a helper, or where none can be opened, the model measures all parts", async () => {
  for (const hire of [null, () => Promise.resolve(null), () => Promise.reject(new Error("no memory"))]) {
    const { model, heads, run } = begun(hire);
    await settled();
    for (let part = 0; part < PARTS.length; part++) await model.answer();
    assert.deepEqual(await run, [-1]);
    assert.deepEqual(heads, ALL);
  }
});

test("a newer run of the same lane gives up the older one, whose answers are dropped", async () => {
  const { model, heads, sharing, run } = begun(null);
  await settled();
  await model.answer();
  const isGivenUp = assert.rejects(run, GivenUp), newer = [];
  const second = sharing.measure("b", [4, 3], ({ head }) => newer.push(head), "losses");
  await model.answer(); // of the older run
  await isGivenUp;
  assert.equal(heads.length, 2);
  for (let part = 0; part < PARTS.length; part++) await model.answer();
  await second;
  assert.deepEqual(newer, ALL);
});
