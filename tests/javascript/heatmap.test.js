// Cells of a heatmap, their colours and numbers, and pointer and keys on them.

import assert from "node:assert/strict";
import { test } from "node:test";

import { cellNumber, geometryOf, tinyNumber } from "../../headlight/components/attention_steps/panels.js";
import { Raster, blue, labelColor, paintCells, shade, shortened } from "../../headlight/components/lib/canvas.js";
import {
  Geometry, Heatmap, cellText, fitUpright, labelEvery, rowLabelsWidth, slantedHeight,
} from "../../headlight/components/lib/heatmap.js";

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

test("arrows move from cell to cell and stay within", () => {
  for (const [from, direction, to] of [
    [null, [0, 1], [0, 0]], [[1, 1], [1, 0], [2, 1]], [[2, 4], [1, 0], [2, 4]], [[0, 0], [0, -1], [0, 0]],
    [[undefined, 2], [0, 1], [0, 3]],
  ]) {
    const cell = from && { row: from[0], column: from[1] }, { row, column } = geometry.moved(cell, direction);
    assert.deepEqual([row, column], to);
  }
});

test("labels take the room of the longest, within limits, and are left out rather than shrunk", () => {
  assert.deepEqual([["ab", "abcd"], ["a".repeat(30)]].map(rowLabelsWidth), [40, 96]);
  assert.deepEqual([["abcd"], ["a".repeat(30)]].map(slantedHeight), [0.87 * 28 + 14, 84]);
  assert.deepEqual([29, 28].map((wide) => fitUpright(["abc"], wide)), [true, false]);
  assert.deepEqual(["twelve chars", "thirteen char"].map(shortened), ["twelve chars", "thirteen ch…"]);
  assert.deepEqual([40, 12, 11, 6, 5].map(labelEvery), [1, 1, 2, 2, 3]);
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
  const pages = [[1, 1, 1], [14 / 255, 17 / 255, 23 / 255]], own = [[0.19, 0.2, 0.25], [0.98, 0.98, 0.98]];
  const inks = { "#000": [0, 0, 0], "#fff": [1, 1, 1] };
  pages.forEach((page, number) => {
    let before = 0;
    for (let hundredth = 0; hundredth <= 100; hundredth++) {
      const weight = hundredth / 100, [r, g, b, opaque] = shade(weight, number === 1);
      const cell = [r, g, b].map((part, at) => opaque * (part / 255) + (1 - opaque) * page[at]);
      const ink = labelColor(weight, number === 1, "own");
      assert.ok(contrast(cell, inks[ink] ?? own[number]) >= 4.5, `${weight} on page ${number} with ${ink}`);
      assert.ok(contrast(cell, page) > before, `${weight} on page ${number}`);
      before = contrast(cell, page);
    }
    assert.ok(before >= 7, `${before}`);
  });
  assert.deepEqual([0, 0.25, 0.5, 0.75, 1, 7].map((weight) => blue(weight)), [
    "rgba(31, 119, 224, 0.030)", "rgba(31, 119, 224, 0.375)", "rgba(31, 119, 224, 0.720)", "rgba(20, 84, 166, 0.860)",
    "rgba(8, 48, 107, 1.000)", "rgba(8, 48, 107, 1.000)",
  ]);
});

test("cells of a step fill the width, square between tokens, low where rows are many", () => {
  const words = ["I", "love", "my", "teacher"], letters = ["a", "b", "c", "d"], many = Array(20).fill("a");
  for (const [rows, columns, labels, notes, room, wide, high, top] of [
    [4, 4, words, 0, { width: 300 }, 44, 44, slantedHeight(words)], [4, 4, letters, 0, { width: 300 }, 44, 44, 20],
    [4, 20, many, 0, { width: 362 }, 15, 15], [4, 100, null, 74, { width: 536 }, 4, 18, 16],
    [30, 100, null, 0, { width: 536 }, 4.74, 10], [60, 100, null, 0, { width: 536 }, 4.74, 8],
    [4, 512, null, 0, { width: 300 }, 2, 18], // wider than the page: it scrolls
    [4, 512, null, 0, { width: 300, leastColumn: 1, row: 14 }, 1, 14],
    [10, 4, words, 0, { width: 300, most: 260 }, 26, 26], [90, 4, words, 0, { width: 300, most: 260 }, 16, 16],
  ]) {
    const it = geometryOf({ rows, columns }, labels, 60, notes, room);
    assert.deepEqual([it.wide, it.high, it.top], [wide, high, top ?? it.top], `${rows} x ${columns}`);
  }
});

test("a number is as short as its cell, and never another number", () => {
  assert.deepEqual([[-1.266, "signed", false], [-1.266, "signed", true], [0.266, "weights", true],
    [0.266, "weights", false]].map((each) => cellNumber(...each)), ["−1.27", "−1.3", ".27", "0.27"]);
  const tiny = (wide, ...values) => values.map((value) => tinyNumber(value, wide)).join(" ");
  assert.equal(tiny(25, 1.26, -1.26, 0.34, -0.34, 0.04, -0.04, -9.96, 12.4), "1.3 −1.3 .3 −.3 0 0 −10 12");
  assert.equal(tiny(19, 1.26, -1.26, 0.34, -0.34, -12.4), "1 −1 .3 −.3 −12");
  assert.equal(tiny(19, -123.4), "", "rather none than one that runs into its neighbour");
  assert.ok(cellText("“my”", "meine", 0.25).endsWith(" 25 %"));
});

test("an image has a pixel per cell, in the colour of its weight or its sign, blank for NaN", (t) => {
  const pen = {
    createImageData: (width, height) => ({ data: new Uint8ClampedArray(4 * width * height) }),
    putImageData: () => {},
  };
  globalThis.document = { createElement: () => ({ getContext: () => pen }) };
  t.after(() => delete globalThis.document);
  const raster = new Raster(2, 2), box = { x: 0, y: 0, wide: 2, high: 2 };
  for (const [signed, values, expected] of [
    [true, [[1, -1], [NaN, 0]], [[0, 133, 122, 184], [150, 96, 47, 184], [31, 119, 224, 0], [0, 133, 122, 8]]],
    [false, [[1, 0.25], [NaN, 0]], [[158, 202, 255, 255], [31, 119, 224, 96], [31, 119, 224, 0], [31, 119, 224, 8]]],
  ]) {
    const share = (row, column) => values[row][column];
    paintCells({ drawImage: () => {}, onDark: true }, { rows: 2, columns: 2, share, signed }, box, raster);
    assert.deepEqual([0, 4, 8, 12].map((at) => [...raster.image.data.slice(at, at + 4)]), expected);
  }
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
