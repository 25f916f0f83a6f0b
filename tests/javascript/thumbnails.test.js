// Where the thumbnails of many heads go, and what is under a point.

import assert from "node:assert/strict";
import { test } from "node:test";

import { arrange, cellIn, everyHead, heightOf, largestOf, tileAt } from "../../headlight/components/lib/thumbnails.js";

const size = { layers: 2, heads: 3, rows: 8, columns: 10 };
const found = everyHead(size);

test("every head, layer by layer", () => {
  assert.deepEqual(found.map(({ layer, head }) => `${layer}.${head}`), ["0.0", "0.1", "0.2", "1.0", "1.1", "1.2"]);
});

test("a thumbnail has its map's shape, within limits", () => {
  assert.equal(heightOf(50, { rows: 8, columns: 10 }), 40);
  assert.equal(heightOf(40, { rows: 90, columns: 10 }), 50);
  assert.equal(heightOf(40, { rows: 1, columns: 10 }), 16);
});

test("layers go below one another, heads side by side, with a name for each", () => {
  const { tiles, names, bottom } = arrange({ ...size, found, sorted: false, captions: 1 }, 222, 2);
  assert.deepEqual(tiles.map(({ x, y }) => [x, y]), [[46, 18], [104, 18], [162, 18], [46, 80], [104, 80], [162, 80]]);
  assert.deepEqual([tiles[0].wide, tiles[0].high, bottom], [50, 40, 142]);
  assert.deepEqual(names.map(({ text }) => text), ["head 1", 2, 3, "layer 1", "layer 2"]);
  assert.deepEqual(names[1].heads.map(({ layer, head }) => [layer, head]), [[0, 1], [1, 1]]);
  assert.deepEqual(names[4].heads.map(({ layer }) => layer), [1, 1, 1]);
});

test("sorted heads follow one another, as many in a line as fit", () => {
  const sorted = [...found].reverse();
  const { tiles, names } = arrange({ ...size, found: sorted, sorted: true, captions: 3 }, 200, 2);
  assert.deepEqual([tiles[0].layer, tiles[0].head, tiles[0].line], [1, 2, 6]);
  assert.deepEqual(names, []);
  assert.ok(tiles.every(({ x, wide }) => x + wide <= 200));
});

test("thumbnails too small for captions leave them out", () => {
  const high = (width) => arrange({ ...size, found, sorted: false, captions: 1 }, width, 2).bottom;
  assert.equal(high(48 + 3 * 44) - high(48 + 3 * 43), 2 * (heightOf(36, size) - heightOf(35, size) + 14));
});

test("a point belongs to a thumbnail, half of the gap around it included", () => {
  const { tiles } = arrange({ ...size, found, sorted: false, captions: 0 }, 222, 2);
  assert.equal(tileAt(tiles, 46 - 4, 18 - 4), tiles[0]);
  assert.equal(tileAt(tiles, 46 + 54, 20), tiles[1]);
  assert.equal(tileAt(tiles, 41, 20), null);
});

test("within a thumbnail a point is a cell, in the gap it is none", () => {
  const tile = { x: 46, y: 18, wide: 50, high: 40 };
  assert.deepEqual(cellIn(tile, size, 46, 18), { row: 0, column: 0 });
  assert.deepEqual(cellIn(tile, size, 46 + 26, 18 + 39), { row: 7, column: 5 });
  assert.equal(cellIn(tile, size, 45, 20), null);
  assert.equal(cellIn(tile, size, 97, 20), null);
});

test("cells that share a pixel show the largest of them, masked ones nothing", () => {
  const values = Uint16Array.of(1, 2, 3, 4, 9, 5, 6, 7, 8);
  const map = { values, rows: 3, columns: 3, causal: false };
  assert.equal(largestOf(map, 1, 1, 0), 4);
  assert.equal(largestOf(map, 2, 0, 0), 9);
  assert.equal(largestOf(map, 2, 0, 1), 5, "the last block is narrower");
  assert.equal(largestOf(map, 2, 1, 1), 8);
  assert.equal(largestOf({ ...map, causal: true }, 1, 0, 1), NaN);
  assert.equal(largestOf({ ...map, causal: true }, 1, 1, 1), 9);
});
