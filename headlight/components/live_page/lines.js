// Numbers over whole numbers from 0 as lines, which only join them.

import { element, setAttributes, svgElement } from "../lib/canvas.js";

const HIGH = 300, LEFT = 36, RIGHT = 10, TOP = 8, BELOW = 36, ROOM_FOR_A_NUMBER = 34; // pixels

// series: [{ name, values, colour, dashed }]; low, high: the ends of what is drawn; ticks: [[value, text]]; below: what
// the numbers below are; label: all in words; width: in pixels.
export function drawLines({ series, low, high, ticks, below, label }, width) {
  const count = series[0].values.length, wide = Math.max(1, width - LEFT - RIGHT);
  const x = (at) => LEFT + (at / Math.max(1, count - 1)) * wide;
  const y = (value) => TOP + ((high - value) / (high - low)) * (HIGH - TOP - BELOW);
  const viewBox = `0 0 ${LEFT + wide + RIGHT} ${HIGH}`;
  const picture = svgElement("svg", { viewBox, role: "img", "aria-label": label });
  const write = (text, at, under, anchor) => svgElement("text", { x: at, y: under, "text-anchor": anchor }, text);
  for (const [value, text] of ticks) {
    const ends = { x1: LEFT, y1: y(value), x2: LEFT + wide, y2: y(value) };
    picture.append(svgElement("line", { class: "grid", ...ends }), write(text, LEFT - 6, y(value) + 4, "end"));
  }
  const every = [1, 2, 4, 8, 16, 32].find((step) => (step * wide) / count >= ROOM_FOR_A_NUMBER) ?? count;
  for (let at = 0; at < count; at += every) picture.append(write(String(at), x(at), HIGH - BELOW + 16, "middle"));
  picture.append(write(below, LEFT + wide / 2, HIGH - 4, "middle"));
  for (const { values, colour, dashed } of series) {
    const points = Array.from(values, (value, at) => `${x(at).toFixed(1)},${y(value).toFixed(1)}`).join(" ");
    const line = svgElement("polyline", { points, class: dashed ? "dashed" : "solid" });
    setAttributes(line, { stroke: colour });
    picture.append(line);
  }
  const key = series.filter(({ name }) => name).map(({ name, colour, dashed }) => {
    const made = element("span", dashed ? "dashed" : "", name);
    made.style.borderColor = colour;
    return made;
  });
  return [picture, ...(key.length ? [element("p", "key_of_lines", ...key)] : [])];
}
