// The maps of a training replay, and the strip below its slider.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Snapshots, SnapshotStrip } from "../../headlight/components/replay_player/snapshots.js";

// Two snapshots, one layer, two heads, two queries and two keys.
const WEIGHTS = [0, 1, 2, 3, 10, 11, 12, 13, 20, 21, 22, 23, 30, 31, 32, 33].map((value) => value * 1000);
const DATA = {
  layers: 1, heads: 2, queries: ["<s>", "▁tu"], predicts: ["▁tu", "</s>"], keys: ["<s>", "▁tu"], causal: true,
  attention: { shape: [2, 1, 2, 2, 2], weights: Uint16Array.from(WEIGHTS) },
};

test("a map is found by snapshot, layer and head", () => {
  const snapshots = new Snapshots(DATA);
  const { values, rows, columns, full, causal } = snapshots.map(1, { layer: 0, head: 1 });
  assert.deepEqual([...values], [30_000, 31_000, 32_000, 33_000]);
  assert.deepEqual([rows, columns, full, causal], [2, 2, 65535, true]);
  assert.equal(snapshots.weight(0, { layer: 0, head: 1 }, 1, 0), 12_000 / 65535);
});

test("a cell says who reads what, and what is masked", () => {
  const snapshots = new Snapshots(DATA), where = { layer: 0, head: 1 };
  assert.equal(
    snapshots.cellText(1, { ...where, row: 1, column: 0 }),
    "Layer 1, head 2: to write “</s>” after “▁tu”, it looks at “<s>”: 49 %",
  );
  assert.equal(
    snapshots.cellText(1, { ...where, row: 0, column: 1 }),
    "Layer 1, head 2: to write “▁tu” after “<s>”, it may not look at “▁tu”, which comes later",
  );
  const encoder = new Snapshots({ ...DATA, predicts: null, causal: false });
  assert.match(encoder.cellText(0, { ...where, row: 0, column: 1 }), /^Layer 1, head 2: “<s>” looks at “▁tu”:/);
});

test("a place on the strip is the snapshot that stands there", () => {
  const strip = new SnapshotStrip({}, () => {});
  strip.measure(11, 330);
  assert.deepEqual([strip.frames, strip.room, strip.edge], [11, 30, 15]);
  assert.deepEqual([15, 29, 31, 165, 315].map((x) => strip.snapshotAt(x)), [0, 0, 1, 5, 10]);
  strip.measure(100, 300);
  assert.equal(strip.frames, 10, "as many as there is room for");
  strip.measure(1, 300);
  assert.deepEqual([strip.frames, strip.snapshotAt(200)], [1, 0]);
});
