// A histogram of values from 0 to 1.

import { svgElement } from "../lib/canvas.js";
import { local } from "../lib/language.js";
import { say } from "./texts.toml";

const WIDE = 260, HIGH = 74, BASE = 58, TOP = 4, APART = 1; // of the drawing

// The bars of counts: {x, y, wide, high}, as high as their share of the greatest.
export function barsOf(counts) {
  const most = Math.max(...counts, 1), step = WIDE / counts.length;
  return counts.map((count, at) => {
    const high = ((BASE - TOP) * count) / most;
    return { x: at * step, y: BASE - high, wide: step - APART, high };
  });
}

export function histogram({ title, counts, borders, says }) {
  const bars = barsOf(counts).map(({ x, y, wide, high }, at) => {
    const words = say("bar", { from: at / counts.length, to: (at + 1) / counts.length, heads: counts[at] });
    return svgElement("rect", { x, y, width: wide, height: high }, svgElement("title", {}, words));
  });
  const lines = borders.map((border) => {
    return svgElement("line", { x1: border * WIDE, x2: border * WIDE, y1: TOP, y2: BASE });
  });
  const ends = [["0", 0, "start"], [local(".5"), WIDE / 2, "middle"], ["1", WIDE, "end"]].map(([text, x, anchor]) => {
    return svgElement("text", { x, y: HIGH - 2, "text-anchor": anchor }, text);
  });
  const base = svgElement("line", { x1: 0, x2: WIDE, y1: BASE, y2: BASE, class: "base" });
  const look = { viewBox: `0 0 ${WIDE} ${HIGH}`, class: "histogram", role: "img", "aria-label": `${title}: ${says}` };
  return svgElement("svg", look, ...bars, base, ...lines, ...ends);
}
