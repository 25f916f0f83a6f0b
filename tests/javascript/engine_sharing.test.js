import assert from "node:assert/strict";
import test from "node:test";
import { GivenUp } from "../../headlight/components/engine/runs.js";
import { Sharing } from "../../headlight/components/engine/sharing.js";

const PARTS = [0, 1, 2, 3, 4, 5].map((layer) => ({ kind: "cross", layer, heads: [0, 1] }));

// A model whose losses are told by hand: answer() answers the oldest part that was asked for.
class Told {
  constructor() {
    this.asked = [];
    this.isEnded = false;
  }

  ask(verb, given) {
    if (verb === "headParts") return Promise.resolve({ source: [5, 3], parts: PARTS.map((part) => part) });
    if (verb === "packed") return Promise.resolve(new Uint8Array(4));
    return new Promise((resolve, reject) => this.asked.push({ part: given[2], resolve, reject }));
  }

  answer() {
    const { part, resolve } = this.asked.shift();
    resolve({ each: part.heads.map((head) => ({ head: `${part.kind}.${part.layer}.${head}` })), logs: [-1] });
    return settled();
  }

  giveUp() {}

  end() {
    this.isEnded = true;
  }
}

const settled = () => new Promise((resolve) => setImmediate(resolve));
const ALL = PARTS.flatMap(({ kind, layer, heads }) => heads.map((head) => `${kind}.${layer}.${head}`));

function begun(hire, lane = "losses") {
  const own = new Told(), heads = [], sharing = new Sharing(own, hire);
  return { own, heads, sharing, run: sharing.measure("a", [4, 3], ({ head }) => heads.push(head), lane) };
}

test("a helper takes what is left, each part is measured once, and it leaves when all is done", async (context) => {
  context.mock.timers.enable({ apis: ["setTimeout"] });
  const helper = new Told(), { own, heads, run } = begun(() => Promise.resolve(helper));
  await settled();
  for (const who of [helper, helper, own, helper, own, helper]) await who.answer();
  assert.deepEqual(await run, [-1]);
  assert.deepEqual([...heads].sort(), ALL);
  assert.deepEqual([own.asked.length, helper.asked.length, helper.isEnded], [0, 0, false]);
  context.mock.timers.tick(60_000);
  await settled();
  assert.ok(helper.isEnded);
});

test("without a helper, or with one that cannot come, the model does all by itself", async () => {
  for (const hire of [null, () => Promise.resolve(null), () => Promise.reject(new Error("no memory"))]) {
    const { own, heads, run } = begun(hire);
    await settled();
    for (let part = 0; part < PARTS.length; part++) await own.answer();
    assert.deepEqual(await run, [-1]);
    assert.deepEqual(heads, ALL);
  }
});

test("a newer run of the same lane gives up the older one, whose answers nobody hears", async () => {
  const { own, heads, sharing, run } = begun(null);
  await settled();
  await own.answer();
  const isGivenUp = assert.rejects(run, GivenUp), newer = [];
  const second = sharing.measure("b", [4, 3], ({ head }) => newer.push(head), "losses");
  await own.answer(); // of the older run
  await isGivenUp;
  assert.equal(heads.length, 2);
  for (let part = 0; part < PARTS.length; part++) await own.answer();
  await second;
  assert.deepEqual(newer, ALL);
});

test("what a helper cannot measure fails the run", async () => {
  const helper = new Told(), { own, run } = begun(() => Promise.resolve(helper));
  await settled();
  const fails = assert.rejects(run, RangeError);
  helper.asked[0].reject(new RangeError("no head"));
  for (let part = 0; part < PARTS.length - 1; part++) await own.answer();
  await fails;
});
