// Figures in a low window: the height that is left for them, which labels are written, and the diagram's boxes.

import assert from "node:assert/strict";
import { test } from "node:test";

import { sizeFor } from "../../headlight/components/architecture_diagram/layout.js";
import { everyOf, roomBelow } from "../../headlight/components/presenter/room.js";

test("a figure gets what is left below its top, unless that is too little to see anything", () => {
  assert.equal(roomBelow(200, 614), 404);
  assert.equal(roomBelow(433, 614), 171);
  assert.equal(roomBelow(435, 614), 0);
});

test("labels that would touch each other are left out, every second or two of three", () => {
  assert.equal(everyOf([10, 30, 50], [13, 13, 13]), 1);
  assert.equal(everyOf([10, 20, 30], [13, 13, 13]), 2);
  assert.equal(everyOf([30, 25, 20, 15], [13, 13, 13, 13]), 3);
  assert.equal(everyOf([7], [13]), 1);
});

test("the diagram's boxes share the height, and letters keep their size", () => {
  const roomy = sizeFor([700, 900], 10), low = sizeFor([428, 480], 10), phone = sizeFor([358, Infinity], 10);
  assert.deepEqual([roomy.high, roomy.gap, roomy.width], [40, 16, 640]);
  assert.ok(Math.abs(10 * (low.high + low.gap) - (480 - 118)) < 1e-9);
  assert.deepEqual([phone.high, phone.gap], [40, 16]);
  for (const { right, box, width } of [roomy, low, phone]) assert.ok(right + box + 10 <= width);
  assert.equal(sizeFor([428, 100], 10).high + sizeFor([428, 100], 10).gap, 24, "lower than this no label can be read");
});
