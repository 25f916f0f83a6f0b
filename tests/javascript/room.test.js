// Figures in a low window, boxes of the diagram, thumbnails of heads, and bars of weights.

import assert from "node:assert/strict";
import { test } from "node:test";

import { sizeFor } from "../../headlight/components/architecture_diagram/layout.js";
import { arrange, cellIn, everyHead, heightOf, largestOf, tileAt } from "../../headlight/components/lib/thumbnails.js";
import { everyOf, roomBelow } from "../../headlight/components/presenter/room.js";
import { redistributed, written } from "../../headlight/components/weight_bars/weights.js";

test("a figure gets the room below its top, and labels that would touch are left out", () => {
  assert.deepEqual([[200, 614], [434, 614], [435, 614]].map((each) => roomBelow(...each)), [404, 170, 0]);
  const every = [[10, 30, 50], [10, 20, 30], [30, 25, 20, 15], [7]].map((at) => everyOf(at, at.map(() => 13)));
  assert.deepEqual(every, [1, 2, 3, 1]);
});

test("the diagram's boxes share the height, and letters do not shrink", () => {
  const roomy = sizeFor([700, 900], 10), low = sizeFor([428, 480], 10), phone = sizeFor([358, Infinity], 10);
  assert.deepEqual([roomy.high, roomy.gap, roomy.width, phone.high, phone.gap], [40, 16, 640, 40, 16]);
  assert.ok(Math.abs(10 * (low.high + low.gap) - (480 - 118)) < 1e-9);
  for (const { right, box, width } of [roomy, low, phone]) assert.ok(right + box + 10 <= width);
  assert.equal(sizeFor([428, 100], 10).high + sizeFor([428, 100], 10).gap, 24, "lower than this no label can be read");
});

const SIZE = { layers: 2, heads: 3, rows: 8, columns: 10 }, members = everyHead(SIZE);
const GROUP = { ...SIZE, members, sorted: false, captions: 1 };
const arranged = (some, width, top = 2) => arrange({ ...GROUP, ...some }, width, top);

test("thumbnails lie in the grid of layers and heads, with a name for each", () => {
  const { tiles, names, bottom } = arranged({}, 222);
  assert.deepEqual(tiles.map(({ x, y }) => [x, y]), [[46, 18], [104, 18], [162, 18], [46, 80], [104, 80], [162, 80]]);
  assert.deepEqual([tiles[0].wide, tiles[0].high, bottom], [50, 40, 142]);
  assert.deepEqual(names.map(({ text }) => text), ["head 1", 2, 3, "layer 1", "layer 2"]);
  assert.deepEqual(names[1].heads.map(({ layer, head }) => [layer, head]), [[0, 1], [1, 1]]);
  assert.deepEqual(names[4].heads.map(({ layer }) => layer), [1, 1, 1]);
  const sorted = arranged({ members: [...members].reverse(), sorted: true, captions: 3 }, 200);
  assert.deepEqual([sorted.tiles[0].head, sorted.tiles[0].line, sorted.names], [2, 6, []]);
  assert.ok(sorted.tiles.every(({ x, wide }) => x + wide <= 200));
});

test("a thumbnail has its map's shape within limits, and captions only where it is large", () => {
  const heights = [[50, 8], [40, 90], [40, 1]].map(([wide, rows]) => heightOf(wide, { rows, columns: 10 }));
  assert.deepEqual(heights, [40, 50, 16]);
  const high = (width) => arranged({}, width).bottom;
  assert.equal(high(48 + 3 * 44) - high(48 + 3 * 43), 2 * (heightOf(36, SIZE) - heightOf(35, SIZE) + 14));
});

test("a point belongs to a thumbnail with half of the gap around it, and to one of its cells", () => {
  const { tiles } = arranged({ captions: 0 }, 222), at = (x, y) => tiles.indexOf(tileAt(tiles, x, y));
  assert.deepEqual([at(46 - 4, 18 - 4), at(46 + 54, 20), at(41, 20)], [0, 1, -1]);
  const cells = [[46, 18], [46 + 26, 18 + 39], [45, 20], [97, 20]].map(([x, y]) => cellIn(tiles[0], SIZE, x, y));
  assert.deepEqual(cells, [{ row: 0, column: 0 }, { row: 7, column: 5 }, null, null]);
});

test("cells that share a pixel show the largest of them, masked ones nothing", () => {
  const map = { values: Uint16Array.of(1, 2, 3, 4, 9, 5, 6, 7, 8), rows: 3, columns: 3, causal: false };
  const largest = [[1, 1, 0], [2, 0, 0], [2, 0, 1], [2, 1, 1]].map((each) => largestOf(map, ...each));
  assert.deepEqual(largest, [4, 9, 5, 8], "the last block is narrower");
  const causal = [[1, 0, 1], [1, 1, 1]].map((each) => largestOf({ ...map, causal: true }, ...each));
  assert.deepEqual(causal, [NaN, 9]);
});

test("one weight is set, the others keep their ratios, and all sum to 1", () => {
  for (const [weights, index, weight, expected] of [
    [[0.5, 0.3, 0.2], 0, 0.75, [0.75, 0.15, 0.1]], [[0.5, 0.3, 0.2], 2, 0, [0.625, 0.375, 0]],
    [[0.5, 0.3, 0.2], 1, 1, [0, 1, 0]], [[0, 1, 0], 1, 0.4, [0.3, 0.4, 0.3]], [[1], 0, 0.2, [1]],
  ]) {
    redistributed(weights, index, weight).forEach((each, at) => assert.ok(Math.abs(each - expected[at]) < 1e-12));
  }
  assert.equal(written([0.5, 1 / 3, 1 / 6, 0]), "0.5-0.3333-0.1667-0");
});
