// Where a heatmap's cells lie, what is under a point, and where the arrow keys lead.

import assert from "node:assert/strict";
import { test } from "node:test";

import { cellNumber, geometryOf, tinyNumber } from "../../headlight/components/attention_steps/panels.js";
import {
  Raster, blue, labelColor, opacity, paintCells, shade, shortened,
} from "../../headlight/components/lib/canvas.js";
import {
  Geometry, Heatmap, cellText, fitUpright, labelEvery, rowLabelsWidth, slantedHeight,
} from "../../headlight/components/lib/heatmap.js";

const geometry = new Geometry({ rows: 3, columns: 5, left: 40, top: 20, wide: 10, high: 8, after: 7, below: 4 });

test("labels, cells and what stands beside them make up the size", () => {
  assert.deepEqual([geometry.right, geometry.bottom, geometry.width, geometry.height], [90, 44, 97, 48]);
  assert.equal(new Geometry({ rows: 2, columns: 2, left: 0, top: 0, wide: 9, after: 0, below: 0 }).high, 9);
});

test("a point is in the cell that it is in, its edges included once", () => {
  assert.deepEqual(geometry.cellAt(40, 20), { row: 0, column: 0 });
  assert.deepEqual(geometry.cellAt(49.9, 27.9), { row: 0, column: 0 });
  assert.deepEqual(geometry.cellAt(50, 28), { row: 1, column: 1 });
  assert.deepEqual(geometry.cellAt(89.9, 43.9), { row: 2, column: 4 });
  for (const [x, y] of [[39, 25], [90, 25], [45, 19], [45, 44]]) assert.equal(geometry.cellAt(x, y), null);
});

test("beside the cells a label is its row or its column", () => {
  assert.deepEqual(geometry.cellOrLabelAt(45, 30), { row: 1, column: 0 });
  assert.deepEqual(geometry.cellOrLabelAt(3, 30), { row: 1 });
  assert.deepEqual(geometry.cellOrLabelAt(75, 3), { column: 3 });
  for (const [x, y] of [[3, 3], [95, 30], [95, 3], [45, 46]]) assert.equal(geometry.cellOrLabelAt(x, y), null);
});

test("arrows go from cell to cell and stay within", () => {
  assert.deepEqual(geometry.moved(null, [0, 1]), { row: 0, column: 0 });
  assert.deepEqual(geometry.moved({ row: 1, column: 1 }, [1, 0]), { row: 2, column: 1 });
  assert.deepEqual(geometry.moved({ row: 2, column: 4 }, [1, 0]), { row: 2, column: 4 });
  assert.deepEqual(geometry.moved({ row: 0, column: 0 }, [0, -1]), { row: 0, column: 0 });
  assert.deepEqual(geometry.moved({ column: 2 }, [0, 1]), { row: 0, column: 3 });
});

test("labels take the room of the longest, within limits", () => {
  assert.equal(rowLabelsWidth(["ab", "abcd"]), 40);
  assert.equal(rowLabelsWidth(["a".repeat(30)]), 96);
  assert.equal(slantedHeight(["abcd"]), 0.87 * 28 + 14);
  assert.equal(slantedHeight(["a".repeat(30)]), 84);
  assert.equal(fitUpright(["abc"], 29), true);
  assert.equal(fitUpright(["abc"], 28), false);
  assert.equal(shortened("twelve chars"), "twelve chars");
  assert.equal(shortened("thirteen char"), "thirteen ch…");
});

test("a cell says its weight, or that it is masked", () => {
  assert.equal(cellText("“my”", "meine", 0.25), "“my” looks at “meine”: 25 %");
  assert.equal(cellText("“my”", "meine", null), "“my” may not look at “meine”, which comes later");
});

test("colour grows with the weight, up to the full one", () => {
  assert.equal(blue(0), "rgba(31, 119, 224, 0.030)");
  assert.equal(blue(0.25), "rgba(31, 119, 224, 0.375)");
  assert.equal(blue(0.5), "rgba(31, 119, 224, 0.720)");
  assert.equal(blue(0.75), "rgba(20, 84, 166, 0.860)");
  assert.equal(blue(1), "rgba(8, 48, 107, 1.000)");
  assert.equal(blue(1, true), "rgba(158, 202, 255, 1.000)", "light on a dark page");
  for (const dark of [false, true]) assert.equal(blue(7, dark), blue(1, dark));
  assert.equal(opacity(1), opacity(7));
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

test("full weight stands out from the page, and digits from every cell", () => {
  const pages = [[1, 1, 1], [14 / 255, 17 / 255, 23 / 255]], own = [[0.19, 0.2, 0.25], [0.98, 0.98, 0.98]];
  const inks = { "#000": [0, 0, 0], "#fff": [1, 1, 1] };
  pages.forEach((page, number) => {
    let before = 0;
    for (let hundredth = 0; hundredth <= 100; hundredth++) {
      const weight = hundredth / 100, [r, g, b, opaque] = shade(weight, number === 1);
      const cell = [r, g, b].map((part, at) => opaque * (part / 255) + (1 - opaque) * page[at]);
      const ink = labelColor(weight, number === 1, "own");
      assert.ok(contrast(cell, inks[ink] ?? own[number]) >= 4.5, `${weight} on page ${number} with ${ink}`);
      assert.ok(contrast(cell, page) > before, "more weight stands out more");
      before = contrast(cell, page);
    }
    assert.ok(before >= 7, `${before}`);
  });
  assert.deepEqual([labelColor(1, false, ""), labelColor(1, true, "")], ["#fff", "#000"]);
});

test("letters do not shrink, they are left out", () => {
  assert.deepEqual([40, 12, 11, 6, 5].map(labelEvery), [1, 1, 2, 2, 3]);
});

test("cells of a step fill the width, square between tokens, low where rows are many", () => {
  const keys = ["I", "love", "my", "teacher"];
  const square = geometryOf({ rows: 4, columns: 4 }, keys, 60, 0, { width: 300 });
  assert.deepEqual([square.wide, square.high], [44, 44]);
  assert.equal(square.top, slantedHeight(keys));
  const upright = geometryOf({ rows: 4, columns: 4 }, ["a", "b", "c", "d"], 60, 0, { width: 300 });
  assert.equal(upright.top, 20, "labels fit upright");
  const narrow = geometryOf({ rows: 4, columns: 20 }, Array(20).fill("a"), 60, 0, { width: 362 });
  assert.deepEqual([narrow.wide, narrow.high], [15, 15]);
  const dimensions = geometryOf({ rows: 4, columns: 100 }, null, 60, 74, { width: 536 });
  assert.deepEqual([dimensions.wide, dimensions.high, dimensions.top, dimensions.width], [4, 18, 16, 536]);
  assert.equal(geometryOf({ rows: 30, columns: 100 }, null, 60, 0, { width: 536 }).high, 10);
  assert.equal(geometryOf({ rows: 60, columns: 100 }, null, 60, 0, { width: 536 }).high, 8);
  const scrolls = geometryOf({ rows: 4, columns: 512 }, null, 60, 0, { width: 300 });
  assert.equal(scrolls.wide, 2, "wider than the page: it scrolls");
  const small = geometryOf({ rows: 4, columns: 512 }, null, 60, 0, { width: 300, leastColumn: 1, row: 14 });
  assert.deepEqual([small.wide, small.high], [1, 14], "small, it need not");
  assert.equal(geometryOf({ rows: 10, columns: 4 }, keys, 60, 0, { width: 300, most: 260 }).high, 26, "on one screen");
  const many = geometryOf({ rows: 90, columns: 4 }, keys, 60, 0, { width: 300, most: 260 });
  assert.equal(many.high, 16, "not below a line");
});

test("a cell's number is as short as its cell", () => {
  assert.equal(cellNumber(-1.266, "signed", false), "−1.27");
  assert.equal(cellNumber(-1.266, "signed", true), "−1.3");
  assert.equal(cellNumber(0.266, "weights", true), ".27");
  assert.equal(cellNumber(0.266, "weights", false), "0.27");
});

test("in a cell of twenty pixels a number is as long as it fits, and never another number", () => {
  assert.deepEqual([1.26, -1.26, 0.34, -0.34, 0.04, -0.04, -9.96, 12.4].map((value) => tinyNumber(value, 25)), [
    "1.3", "−1.3", ".3", "−.3", "0", "0", "−10", "12",
  ]);
  assert.deepEqual([1.26, -1.26, 0.34, -0.34, -12.4].map((value) => tinyNumber(value, 19)), [
    "1", "−1", ".3", "−.3", "−12",
  ]);
  assert.equal(tinyNumber(-123.4, 19), "", "rather none than one that runs into its neighbour");
});

test("an image has a pixel a cell, blank where the cell is, in the colour of its sign", (t) => {
  const pen = {
    createImageData: (width, height) => ({ data: new Uint8ClampedArray(4 * width * height) }),
    putImageData: () => {},
  };
  globalThis.document = { createElement: () => ({ getContext: () => pen }) };
  t.after(() => delete globalThis.document);
  const raster = new Raster(2, 2), box = { x: 0, y: 0, wide: 2, high: 2 };
  const drawn = { drawImage: () => {}, onDark: true };
  const paint = (values, signed) => {
    const share = (row, column) => values[row][column];
    paintCells(drawn, { rows: 2, columns: 2, share, signed }, box, raster);
    return [0, 4, 8, 12].map((at) => [...raster.image.data.slice(at, at + 4)]);
  };
  assert.deepEqual(paint([[1, -1], [NaN, 0]], true), [
    [0, 133, 122, 184], [150, 96, 47, 184], [31, 119, 224, 0], [0, 133, 122, 8],
  ]);
  assert.deepEqual(paint([[1, 0.25], [NaN, 0.5]], false), [
    [158, 202, 255, 255], [31, 119, 224, 96], [31, 119, 224, 0], [31, 119, 224, 184],
  ]);
});

test("pointer and keys point at cells and choose them", () => {
  const heard = [], canvas = { setAttribute: () => {} }, target = canvas;
  const heatmap = new Heatmap(canvas, {
    point: (found) => heard.push(found && [found.row, found.column]),
    choose: (found, more) => heard.push(["chosen", found.row, found.column, more]),
  });
  const key = (name, shiftKey = false) => canvas.onkeydown({ key: name, shiftKey, preventDefault: () => {} });
  canvas.onpointermove({ target, offsetX: 45, offsetY: 25 });
  heatmap.geometry = geometry;
  key("Enter");
  assert.deepEqual(heard, [], "before anything is drawn or pointed at");
  for (const offsetX of [45, 46, 55, 200]) canvas.onpointermove({ target, offsetX, offsetY: 25 });
  assert.deepEqual(heard.splice(0), [[0, 0], [0, 1], null], "once a cell");
  canvas.onclick({ target, offsetX: 55, offsetY: 25, shiftKey: true });
  canvas.onclick({ target, offsetX: 5, offsetY: 25 });
  assert.deepEqual(heard.splice(0), [["chosen", 0, 1, true]]);
  canvas.currentCSSZoom = 1.5;
  canvas.onclick({ target, offsetX: 82, offsetY: 37, shiftKey: true });
  assert.deepEqual(heard.splice(0), [["chosen", 0, 1, true]], "shown larger by half, it counts the screen's pixels");
  for (const name of ["ArrowDown", "ArrowDown", "ArrowRight"]) key(name);
  key(" ", true);
  canvas.onblur();
  assert.deepEqual(heard.splice(0), [[0, 0], [1, 0], [1, 1], ["chosen", 1, 1, true], null]);
  canvas.onpointerdown({ target, offsetX: 67, offsetY: 37 });
  canvas.onpointerleave({ pointerType: "touch" });
  assert.deepEqual(heard, [[0, 0]], "a tapped cell stays");
});
