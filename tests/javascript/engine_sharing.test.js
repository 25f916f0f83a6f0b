// Losses of all heads, measured part by part by the model and a helper.

import assert from "node:assert/strict";
import test from "node:test";
import { GivenUp } from "../../headlight/components/engine/runs.js";
import { Sharing } from "../../headlight/components/engine/sharing.js";

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

test("an error of the helper fails the run", async () => {
  const helper = new ManualModel(), { model, run } = begun(() => Promise.resolve(helper));
  await settled();
  const fails = assert.rejects(run, RangeError);
  helper.pending[0].reject(new RangeError("no head"));
  for (let part = 0; part < PARTS.length - 1; part++) await model.answer();
  await fails;
});
