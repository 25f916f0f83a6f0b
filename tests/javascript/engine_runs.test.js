// The queue of runs on one engine.

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
