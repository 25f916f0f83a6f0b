// Cells of a heatmap, their colours, and pointer and keys on them.

import assert from "node:assert/strict";
import { test } from "node:test";

import { labelColor, shade } from "../../headlight/components/lib/canvas.js";
import { Geometry, Heatmap } from "../../headlight/components/lib/heatmap.js";

const geometry = new Geometry({ rows: 3, columns: 5, left: 40, top: 20, wide: 10, high: 8, after: 7, below: 4 });

test("the size is that of labels and cells, and a point belongs to one cell or to a label", () => {
  assert.deepEqual([geometry.right, geometry.bottom, geometry.width, geometry.height], [90, 44, 97, 48]);
  for (const [x, y, expected] of [
    [40, 20, [0, 0]], [49.9, 27.9, [0, 0]], [50, 28, [1, 1]], [89.9, 43.9, [2, 4]], [90, 25, null], [45, 44, null],
    [3, 30, [1, undefined]], [75, 3, [undefined, 3]], [3, 3, null], [95, 3, null],
  ]) {
    const { row, column } = geometry.cellOrLabelAt(x, y) ?? {};
    assert.deepEqual([row, column], expected ?? [undefined, undefined], `${x}, ${y}`);
    if (x < 40 || y < 20) assert.equal(geometry.cellAt(x, y), null);
  }
});

// Contrast as WCAG 2 defines it, here in floats of 0 to 1.
function contrast(one, other) {
  const light = (colour) => {
    const [r, g, b] = colour.map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const [low, high] = [light(one), light(other)].sort((a, b) => a - b);
  return (high + 0.05) / (low + 0.05);
}

test("more weight has more contrast to the page, and digits are legible on every cell", () => {
  const pages = [[1, 1, 1], [14 / 255, 17 / 255, 23 / 255]], others = [[0.19, 0.2, 0.25], [0.98, 0.98, 0.98]];
  const inks = { "#000": [0, 0, 0], "#fff": [1, 1, 1] };
  pages.forEach((page, number) => {
    let before = 0;
    for (let hundredth = 0; hundredth <= 100; hundredth++) {
      const weight = hundredth / 100, [r, g, b, opaque] = shade(weight, number === 1);
      const cell = [r, g, b].map((part, at) => opaque * (part / 255) + (1 - opaque) * page[at]);
      const ink = labelColor(weight, number === 1, "own");
      assert.ok(contrast(cell, inks[ink] ?? others[number]) >= 4.5, `${weight} on page ${number} with ${ink}`);
      assert.ok(contrast(cell, page) > before, `${weight} on page ${number}`);
      before = contrast(cell, page);
    }
    assert.ok(before >= 7, `${before}`);
  });
});

test("pointer and keys point at cells and choose them", () => {
  const events = [], canvas = { setAttribute: () => {} }, target = canvas;
  const heatmap = new Heatmap(canvas, {
    point: (cell) => events.push(cell && [cell.row, cell.column]),
    choose: (cell, more) => events.push(["chosen", cell.row, cell.column, more]),
  });
  const key = (name, shiftKey = false) => canvas.onkeydown({ key: name, shiftKey, preventDefault: () => {} });
  canvas.onpointermove({ target, offsetX: 45, offsetY: 25 });
  heatmap.geometry = geometry;
  key("Enter");
  assert.deepEqual(events, [], "before anything is drawn or pointed at");
  for (const offsetX of [45, 46, 55, 200]) canvas.onpointermove({ target, offsetX, offsetY: 25 });
  canvas.onclick({ target, offsetX: 55, offsetY: 25, shiftKey: true });
  canvas.onclick({ target, offsetX: 5, offsetY: 25 });
  assert.deepEqual(events.splice(0), [[0, 0], [0, 1], null, ["chosen", 0, 1, true]], "once per cell");
  for (const name of ["ArrowDown", "ArrowDown", "ArrowRight"]) key(name);
  key(" ", true);
  canvas.onblur();
  assert.deepEqual(events.splice(0), [[0, 0], [1, 0], [1, 1], ["chosen", 1, 1, true], null]);
  canvas.currentCSSZoom = 1.5; // of a presented page, in the screen's pixels
  canvas.onpointerdown({ target, offsetX: 82, offsetY: 37 });
  canvas.onpointerleave({ pointerType: "touch" });
  assert.deepEqual(events, [[0, 1]], "a tapped cell stays");
});
