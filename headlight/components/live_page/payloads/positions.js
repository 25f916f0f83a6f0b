// What positions do, as headlight/views/positions/content.py says it: its words come from there, the numbers from
// engine/positions.js.

import { tiny } from "../../lib/format.js";
import { isWord } from "./patterns.js";
import { filled, fixed, grouped, quoted, signed } from "./text.js";

const MOST_SCALED = 99; // percent of the values of a sum that the scale of its colours spans

// The first positions of a table that a formula made. config: the model's; table: [max_length x d_model].
export function encodingOf({ d_model: d, positions, position_base, first_position: first }, table, count) {
  const base = positions === "multiplied" ? 1 / 10000 : position_base, length = Math.min(count, table.length / d);
  const frequencies = Array.from({ length: d / 2 }, (_, pair) => base ** ((-2 * pair) / d));
  return { d, base, first, length, table: table.subarray(0, length * d), frequencies };
}

export const hasFormula = ({ positions }) => positions === "sinusoidal" || positions === "multiplied";

export function describeSize({ d, base, length }, words) {
  const written = base >= 1 ? grouped(fixed(base, 0)) : `1 / ${grouped(fixed(1 / base, 0))}`;
  return filled(words.size, { d_model: d, last: length - 1, base: written });
}

// The dimensions of an address such as "8.9.24" that there are, in their order; without any, those to begin with.
export function dimensionsIn(text, { d }, usual) {
  const asked = (text ?? "").split(/[^\d]+/).filter(Boolean).map(Number);
  const known = [...new Set(asked.length ? asked : usual.map(Number))].filter((each) => each < d);
  return (known.length ? known : [0, 1]).sort((one, other) => one - other);
}

export function describeCurves({ frequencies }, dimensions, words) {
  const ends = [...new Set([dimensions[0], dimensions.at(-1)])];
  const wave = (dimension) => waveText((2 * Math.PI) / frequencies[Math.floor(dimension / 2)]);
  const told = ends.map((dimension) => {
    return filled(words.wave, { whose: words.in_model, dimension, wave: wave(dimension) });
  });
  const [headline, ...others] = [...told, words.ahead];
  return { headline, more: others.join(" ") };
}

function waveText(wavelength) {
  if (wavelength < 1) return String(Number(wavelength.toPrecision(2)));
  return wavelength < 100 ? fixed(wavelength, 1) : grouped(fixed(wavelength, 0));
}

// least: how much the values of a column that changes differ at the least.
export function describeMatrix({ d, base, length, table }, least, words) {
  const range = (column) => {
    let low = Infinity, high = -Infinity;
    for (let at = column; at < table.length; at += d) {
      low = Math.min(low, table[at]);
      high = Math.max(high, table[at]);
    }
    return Math.fround(high - low);
  };
  const still = Array.from({ length: d }, (_, column) => range(column)).filter((each) => each < least).length;
  const but = base < 1 ? words.but_faster : "";
  return {
    headline: filled(words.still, { still, d_model: d, least }),
    more: filled(words.still_over, { last: length - 1, beside: "", but }),
  };
}

// PE(p) · PE(q) of all positions: [length x length].
export function dotProducts({ d, length, table }) {
  return Float64Array.from({ length: length * length }, (_, at) => {
    const p = Math.floor(at / length) * d, q = (at % length) * d;
    let sum = 0;
    for (let i = 0; i < d; i++) sum += table[p + i] * table[q + i];
    return sum;
  });
}

// The mean of each distance: [length].
export function distanceMeans(products) {
  const length = Math.sqrt(products.length), sums = new Float64Array(length), counts = new Float64Array(length);
  products.forEach((value, at) => {
    sums[distanceOf(at, length)] += value;
    counts[distanceOf(at, length)] += 1;
  });
  return sums.map((sum, at) => sum / counts[at]);
}

const distanceOf = (at, length) => Math.abs(Math.floor(at / length) - (at % length));

export function describeProducts(products, words) {
  const means = distanceMeans(products), { length } = means, distance = (at) => distanceOf(at, length);
  const deviation = products.reduce((most, value, at) => Math.max(most, Math.abs(value - means[distance(at)])), 0);
  const lost = means.findIndex((value) => value < 0.5 * means[0]);
  const fading = lost < 0
    ? filled(words.half_remains, { distance: length - 1 }) : filled(words.half_lost, { distance: lost });
  const told = { deviation: tiny(deviation), beside: "", half: fixed(means[0], 0), fading };
  return { headline: words.products, more: filled(words.products_more, told) };
}

const rowOf = (table, d, at) => table.subarray(at * d, (at + 1) * d);
const dot = (one, other) => one.reduce((sum, value, at) => sum + value * other[at], 0);
export const norm = (row) => Math.sqrt(dot(row, row));
export const apart = (one, other) => norm(one.map((value, at) => value - other[at]));
const cosine = (one, other) => dot(one, other) / (norm(one) * norm(other) || 1);
const numbers = (count) => Array.from({ length: count }, (_, at) => at);

// The cosines of every two rows of a table that was learned: [length x length].
export function cosines(table, d) {
  const rows = numbers(table.length / d).map((at) => rowOf(table, d, at));
  return Float64Array.from(rows.flatMap((one) => rows.map((other) => cosine(one, other))));
}

// tables: { encoder, decoder }, their first rows; all: how many rows each has; similar: whether to tell how alike.
export function describeLearned(tables, d, all, similar, words) {
  const told = Object.entries(tables).map(([stack, table]) => {
    const rows = numbers(table.length / d).map((at) => Float64Array.from(rowOf(table, d, at)));
    if (!similar) {
      const norms = rows.map(norm), [least, most] = [Math.min(...norms), Math.max(...norms)];
      const ends = { least: fixed(least, 2), most: fixed(most, 2), longest: norms.indexOf(most) };
      return filled(words.norms, { stack, ...ends });
    }
    const gap = Math.max(1, Math.floor(rows.length / 2));
    const mean = (by) => {
      const found = rows.slice(by).map((row, at) => cosine(rows[at], row));
      return signed(found.reduce((sum, value) => sum + value, 0) / found.length, 2);
    };
    return filled(words.likeness, { stack, near: mean(1), gap, distant: mean(gap) });
  });
  const fields = { length: grouped(all), d_model: grouped(d), told: told.join(" ") };
  return { headline: words.learned, more: filled(words.learned_more, fields) };
}

// A text with its first and last word exchanged, a mark at its end left there; a single word backwards.
export function exchanged(text) {
  const whole = text.replace(/[.!?…]+$/u, ""), end = text.slice(whole.length);
  const [first = "", ...between] = whole.split(/\s+/u).filter(Boolean);
  if (!between.length) return [...whole].reverse().join("") + end;
  return [between.at(-1), ...between.slice(0, -1), first].join(" ") + end;
}

// Tokens of one sentence with their positions in another, occurrence by occurrence: { token, first, second, before,
// after }, the last two being how far apart the vectors are. Sums are as the engine's `entering` gives them.
export function sharedTokens(one, other) {
  const places = new Map(), d = one.total.length / one.tokens.length;
  other.tokens.forEach((token, at) => places.set(token, [...(places.get(token) ?? []), at]));
  return one.tokens.flatMap((token, first) => {
    const second = places.get(token)?.shift();
    if (second === undefined) return [];
    const between = (name) => apart(rowOf(one[name], d, first), rowOf(other[name], d, second));
    return [{ token, first, second, before: between("embeddings"), after: between("total") }];
  });
}

// Those that stand at two positions, words before punctuation.
export function plainest(copies) {
  const moved = copies.filter(({ first, second }) => first !== second);
  return moved.sort((one, other) => isWord(other.token) - isWord(one.token));
}

// one, other: sums; translations: of both; `withoutPositions` of the sums: the same without positions. none: whether
// the model adds no positions.
export function describeOrder(one, other, translations, none, words) {
  const shared = sharedTokens(one, other);
  let headline = words.order_same_vectors;
  if (shared.length < Math.max(one.tokens.length, other.tokens.length)) headline = words.order_other_tokens;
  else if (one.tokens.every((token, at) => token === other.tokens[at])) return { headline: words.order_same, more: "" };
  else if (one.withoutPositions === other.withoutPositions) headline = words.order_one_translation;
  const [chosen] = plainest(shared);
  if (!chosen) return { headline, more: words.order_none_moved };
  const { first, second } = chosen;
  const moved = filled(words.order_moved, { token: quoted(chosen.token), first, second });
  const [before, after] = [chosen.before, chosen.after].map((value) => fixed(value, 2));
  if (none) return { headline, more: filled(words.order_nothing_added, { moved, after }) };
  const same = translations[0] === translations[1] ? words.one_translation : words.two_translations;
  return { headline, more: filled(words.order_more, { moved, before, after, same }) };
}

// A few values are far larger than all others; as the end of the scale they would pale the positions.
export function scaleLimit(arrays) {
  const sorted = Float64Array.from(arrays.flatMap((array) => [...array].map(Math.abs))).sort();
  const at = ((sorted.length - 1) * MOST_SCALED) / 100, below = Math.floor(at);
  return sorted[below] + (at - below) * ((sorted[below + 1] ?? sorted[below]) - sorted[below]);
}
