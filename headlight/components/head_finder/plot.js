// Ranges, ticks and shapes of the plot of heads, and the dot that an arrow key leads to.

import { signed } from "../lib/words.js";

const MARGIN = 0.05; // of the range, on both sides
const OUTLINES = [
  [], // a circle
  polygon([-0.9, -0.9], [0.9, -0.9], [0.9, 0.9], [-0.9, 0.9]),
  polygon([0, -1.1], [1.05, 0.85], [-1.05, 0.85]),
  polygon([0, -1.3], [1.1, 0], [0, 1.3], [-1.1, 0]),
  polygon([0, 1.1], [1.05, -0.85], [-1.05, -0.85]),
  polygon(...[0, 1, 2, 3].flatMap((turn) => [[0.4, 1.2], [0.4, 0.4]].map((at) => turned(at, turn)))),
  polygon(...Array.from({ length: 10 }, (_, at) => onCircle(at / 10, at % 2 ? 0.55 : 1.3))),
  polygon(...Array.from({ length: 6 }, (_, at) => onCircle(at / 6, 1.15))),
];
const SHAPES = OUTLINES.length;

function polygon(...corners) {
  return corners;
}

function onCircle(share, radius) {
  return [radius * Math.sin(2 * Math.PI * share), -radius * Math.cos(2 * Math.PI * share)];
}

function turned([x, y], quarters) {
  return quarters ? turned([-y, x], quarters - 1) : [x, y];
}

// The path of a layer's shape around a point; after eight layers they come again, hollow.
export function shapeAt(layer, x, y, radius) {
  const corners = OUTLINES[layer % SHAPES], at = (value) => Number(value.toFixed(1));
  if (!corners.length) {
    const half = (across) => `a${radius} ${radius} 0 1 0 ${across} 0`;
    return `M${at(x - radius)} ${at(y)}${half(2 * radius)}${half(-2 * radius)}Z`;
  }
  return `M${corners.map(([right, down]) => `${at(x + radius * right)} ${at(y + radius * down)}`).join("L")}Z`;
}

export const isHollow = (layer) => layer >= SHAPES;

// From the least to the greatest of some values, with a margin; null without any.
export function rangeOf(values) {
  const known = values.filter((value) => value !== null);
  if (!known.length) return null;
  const low = Math.min(...known), high = Math.max(...known), margin = MARGIN * (high - low) || 0.5;
  return [low - margin, high + margin];
}

// Round numbers within a range, at most so many.
export function ticksOf([low, high], most) {
  const rough = (high - low) / most, power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find((each) => each * power >= rough);
  const digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9)), ticks = [];
  for (let at = Math.ceil(low / step - 1e-9); at * step <= high + 1e-9 * step; at++) {
    ticks.push({ value: at * step, text: signed(at * step, digits) });
  }
  return ticks;
}

// The dot {x, y} that an arrow leads to from another one: the nearest, what lies aside counting double; of dots in one
// place the next. Null where there is none.
export function nextDot(dots, from, [down, right]) {
  const start = dots[from], order = right + down;
  let best = null, least = Infinity;
  dots.forEach((dot, at) => {
    const x = dot.x - start.x, y = dot.y - start.y;
    const along = x * right + y * down, across = Math.abs(x * down + y * right);
    const isSame = Math.abs(x) < 0.5 && Math.abs(y) < 0.5;
    if (at === from || (isSame ? (at - from) * order < 0 : along < 0.5)) return;
    const cost = isSame ? Math.abs(at - from) / 1000 : along + 2 * across;
    if (cost < least) [best, least] = [at, cost];
  });
  return best;
}

// The dot nearest to a point, if one is within a reach.
export function dotAt(dots, x, y, reach) {
  const distance = (dot) => Math.hypot(dot.x - x, dot.y - y);
  const best = dots.reduce((one, dot, at) => (one < 0 || distance(dot) < distance(dots[one]) ? at : one), -1);
  return best >= 0 && distance(dots[best]) <= reach ? best : null;
}
