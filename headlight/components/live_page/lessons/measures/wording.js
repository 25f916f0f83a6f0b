// What measures share, as headlight/lessons/measures/wording.py: options made of tokens, heads and numbers in words.

import { headName, quoted, quotedAt, signed } from "../../payloads/text.js";

export const words = (text) => text.split(/\s+/).filter(Boolean);
export const largestFirst = (values) => [...values.keys()].sort((one, other) => values[other] - values[one]);
export const indexOfMost = (values) => values.reduce((best, value, at) => (value > values[best] ? at : best), 0);
export const most = (values) => values.reduce((best, value) => Math.max(best, value), -Infinity);
export const meanOf = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;

// The values of a list with each of them once, in order.
export const once = (values) => [...new Set(values)];

// How far the largest value of a row is ahead of the second.
export function leadOf(row) {
  if (row.length < 2) return 0;
  const [first, second] = largestFirst(row);
  return row[first] - row[second];
}

export function tokenOptions(tokens, places, told, count, noun = "position") {
  return once(places).slice(0, count).map((place) => [String(place), quotedAt(tokens, place, noun), told(place)]);
}

export function headNames({ layer, head }) {
  return { layer: String(layer + 1), head: String(head + 1), head_name: headName(layer, head) };
}

// The head of an address, from 0; null where it names no single one.
export function headIn({ layer = "", head = "" }) {
  return /^\d+$/.test(layer) && /^\d+$/.test(head) ? { layer: layer - 1, head: head - 1 } : null;
}

export const readable = (tokens) => tokens.map((token) => (token === "▁" ? "␣" : token));

export function listed(texts) {
  return [texts.slice(0, -1).join(", "), ...texts.slice(-1)].filter(Boolean).join(" and ");
}

export const quotedAll = (texts) => listed(texts.map(quoted));

export function moved(run, loss) {
  const digits = signed(Math.abs(loss), 2), say = run.say("wording.moved");
  return digits === "0.00" ? say("said") : say("said 2", loss > 0 ? "falls" : "rises", digits);
}
