// Thumbnails of heads, and bars of weights.

import assert from "node:assert/strict";
import { test } from "node:test";

import { SvgPen } from "../../headlight/components/export/pen.js";
import {
  Thumbnails, arrange, cellIn, everyHead, largestOf, tileAt,
} from "../../headlight/components/lib/thumbnails.js";
import { redistributed, written } from "../../headlight/components/weight_bars/weights.js";

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
  const pen = new SvgPen();
  new Thumbnails().draw(pen, { ...map, full: 9 }, { x: 0, y: 0, wide: 2, high: 2 });
  assert.equal(pen.parts[0].attributes.transform, "translate(0 0) scale(1 1)", "a pixel per cell or more");
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
