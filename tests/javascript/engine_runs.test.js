import assert from "node:assert/strict";
import test from "node:test";
import { GivenUp, Runs } from "../../headlight/components/engine/runs.js";

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

test("runs come one after the other, and what they yield is handed on", async () => {
  const runs = new Runs(), notes = [], each = [];
  const first = runs.add(noting(notes, "a", 2), { each: ({ step }) => each.push(step) });
  assert.deepEqual(await Promise.all([first, runs.add(noting(notes, "b", 2))]), ["a", "b"]);
  assert.deepEqual(notes, ["a", "a", "b", "b"]);
  assert.deepEqual(each, [0, 1]);
});

test("a newer run gives up the older one of its lane and no other", async () => {
  const runs = new Runs(), notes = [];
  const asked = ["typing", null, "typing"].map((lane, at) => runs.add(noting(notes, at, 1), { lane }));
  const [first, ...others] = await Promise.allSettled(asked);
  assert.ok(first.reason instanceof GivenUp);
  assert.deepEqual(others.map(({ value }) => value), [1, 2]);
  assert.deepEqual(notes, [1, 2], "what is given up before its turn has never begun");
});

// A run that ends only when it is given up.
function* endless(notes, name) {
  for (;;) {
    notes.push(name);
    yield undefined;
  }
}

test("a run under way is given up at its next breath, and its generator is not gone on with", async () => {
  const runs = new Runs(), notes = [];
  const first = runs.add(() => endless(notes, "old"), { lane: "typing" });
  first.catch(() => {});
  while (!notes.length) await runs.breathe();
  const second = runs.add(noting(notes, "new", 1), { lane: "typing" });
  await assert.rejects(first, GivenUp);
  assert.equal(await second, "new");
  const after = notes.length;
  await runs.breathe();
  assert.equal(notes.length, after);
});

test("a run behind is set aside while another waits, and gone on with afterwards", async () => {
  const runs = new Runs(), notes = [];
  let isWanted = true;
  const behind = runs.add(function* () {
    while (isWanted) {
      notes.push("behind");
      yield undefined;
    }
    return "done";
  }, { background: true });
  while (!notes.length) await runs.breathe();
  assert.equal(await runs.add(noting(notes, "before", 3)), "before");
  isWanted = false;
  assert.equal(await behind, "done");
});

test("an error of one run leaves the next alone", async () => {
  const runs = new Runs();
  const bad = runs.add(() => { throw new RangeError("no head"); });
  const good = runs.add(noting([], "good", 1));
  await assert.rejects(bad, RangeError);
  assert.equal(await good, "good");
});
