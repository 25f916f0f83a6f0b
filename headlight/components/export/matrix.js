// A heatmap as shapes, a box for each cell: lib/heatmap.js in the light theme, for a file.

import { around, inkOn, shade, shortened } from "../lib/canvas.js";
import { labelEvery } from "../lib/heatmap.js";
import { GREY, INK, painted, rounded, shape, write } from "./svg.js";

const LETTERS = 12, BESIDE = 6, SLANT = -60; // pixels, but for the angle
const ROOM_FOR_A_VALUE = 34, ROOM_FOR_A_SHORT_ONE = 28, HEIGHT_FOR_A_VALUE = 14, ABOVE_A_NUMBER = 34;

// The shapes of a picture as lib/heatmap.js has it. Besides, it may have titleOf(row, column), which a browser shows on
// pointing, and the `chosen` {row, column} that are framed, -1 for none.
export function heatmap(picture) {
  const parts = [cells(picture), outline(picture)];
  if (picture.masked) parts.push(...hatches(picture));
  parts.push(...rowLabels(picture), ...(picture.columns ? columnLabels(picture) : numbers(picture)));
  if (picture.chosen) parts.push(...frames(picture));
  return parts;
}

function cells({ geometry, share, signed, gap = 0, valueText, titleOf }) {
  const { rows, columns, left, top, wide, high } = geometry, found = [];
  const isWritten = valueText && wide >= ROOM_FOR_A_SHORT_ONE && high >= HEIGHT_FOR_A_VALUE;
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++) {
      const part = share(row, column), x = left + column * wide, y = top + row * high;
      if (Number.isNaN(part)) continue;
      const place = { x: rounded(x + gap / 2), y: rounded(y + gap / 2) };
      const size = { width: rounded(wide - gap), height: rounded(high - gap) };
      const box = shape("rect", { ...place, ...size, ...painted(signed ? around(part) : shade(part)) });
      const about = titleOf ? [shape("title", {}, titleOf(row, column))] : [];
      const look = { "text-anchor": "middle", fill: signed ? INK : inkOn(part, false, INK) };
      const digits = () => write(valueText(row, column, wide < ROOM_FOR_A_VALUE), x + wide / 2, y + high / 2 + 4, look);
      const more = isWritten ? [digits()] : [];
      found.push(about.length + more.length ? shape("g", {}, ...about, box, ...more) : box);
    }
  }
  return shape("g", { class: "cells", ...(gap ? {} : { "shape-rendering": "crispEdges" }) }, ...found);
}

const frameOf = ({ left, top, right, bottom }) => ({ x: left, y: top, width: right - left, height: bottom - top });

function outline({ geometry }) {
  return shape("rect", { ...rect(frameOf(geometry)), ...GREY });
}

const rect = (sides) => Object.fromEntries(Object.entries(sides).map(([side, value]) => [side, rounded(value)]));

function hatches({ geometry: { rows, columns, left, top, wide, high }, masked }) {
  const lines = [];
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++) {
      if (!masked(row, column)) continue;
      const x = left + column * wide, y = top + row * high;
      lines.push(`M${rounded(x + 2)} ${rounded(y + high - 2)}L${rounded(x + wide - 2)} ${rounded(y + 2)}`);
    }
  }
  if (!lines.length) return [];
  return [shape("path", { class: "masked", d: lines.join(""), ...GREY })];
}

function rowLabels({ geometry: { left, top, right, high }, rows, notes }) {
  const every = labelEvery(high), y = (row) => top + (row + 0.5) * high + LETTERS / 3;
  const shown = (texts) => [...texts.entries()].filter(([row]) => row % every === 0);
  const before = shown(rows).map(([row, text]) => {
    return write(shortened(text), left - BESIDE, y(row), { class: "row", "text-anchor": "end" });
  });
  return [...before, ...shown(notes ?? []).map(([row, text]) => write(text, right + BESIDE, y(row)))];
}

function columnLabels({ geometry: { left, top, wide }, columns, upright }) {
  const every = labelEvery(wide);
  return [...columns.entries()].filter(([column]) => column % every === 0).map(([column, text]) => {
    const middle = left + (column + 0.5) * wide, y = top - 5, x = rounded(middle + LETTERS / 3);
    if (upright) return write(shortened(text), middle, y, { class: "column", "text-anchor": "middle" });
    return write(shortened(text), x, y, { class: "column", transform: `rotate(${SLANT} ${x} ${rounded(y)})` });
  });
}

// As many numbers of columns as there is room for, and a frame around some of them.
function numbers({ geometry: { columns, left, top, bottom, wide }, first = 1, frame }) {
  const every = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512].find((step) => step * wide >= ABOVE_A_NUMBER) ?? columns;
  const parts = [];
  for (let column = 0; column < columns; column += every) {
    parts.push(write(first + column, left + (column + 0.5) * wide, top - 4, { "text-anchor": "middle" }));
  }
  if (!frame) return parts;
  const sides = { x: left + frame[0] * wide, y: top - 2, width: frame[1] * wide, height: bottom - top + 4 };
  return [...parts, shape("rect", { ...rect(sides), fill: "none", stroke: INK, "stroke-width": 1.5 })];
}

// Around the chosen row, and dashed around the chosen column.
function frames({ geometry, chosen: { row, column } }) {
  const { wide, high, top, left } = geometry, all = frameOf(geometry), found = [];
  const look = { class: "chosen", fill: "none", stroke: INK, "stroke-width": 2 };
  if (row >= 0) found.push(shape("rect", { ...rect({ ...all, y: top + row * high, height: high }), ...look }));
  const across = { x: left + column * wide, width: Math.max(2, wide) };
  if (column >= 0) {
    found.push(shape("rect", { ...rect({ ...all, ...across }), ...look, "stroke-dasharray": "3 2" }));
  }
  return found;
}
