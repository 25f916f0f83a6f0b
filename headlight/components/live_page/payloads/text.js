// Numbers, tokens and heads in words, to the letter as headlight/plots (numbers, tokens, names) writes them.

import { MINUS } from "../../lib/format.js";

export const LEAST_SHOWN = 0.005; // nats, or a share: two digits do not show less
const EXACT = 30; // decimals more: enough to see whether a number lies halfway between two

// A number with so many decimals as Python writes it: what lies halfway becomes the even one, not the greater.
export function fixed(value, digits) {
  const text = value.toFixed(digits), more = value.toFixed(digits + EXACT), rest = more.slice(-EXACT);
  if (rest[0] !== "5" || /[1-9]/.test(rest.slice(1))) return text;
  const below = more.slice(0, -EXACT).replace(/\.$/, "");
  return Number(below.at(-1)) % 2 ? text : below;
}

// The nearest whole number, of two equally near ones the even one.
export function rint(value) {
  const below = Math.floor(value), rest = value - below;
  if (rest === 0.5) return below % 2 ? below + 1 : below;
  return rest < 0.5 ? below : below + 1;
}

export function signed(value, digits) {
  const text = fixed(value, digits);
  return /[1-9]/.test(text) ? text.replace("-", MINUS) : text.replace("-", "");
}

// Numbers with so many decimals, or more where fewer would make two different ones look equal.
export function distinct(values, digits = 2, most = 7) {
  const different = new Set(values).size;
  while (digits < most && new Set(values.map((value) => signed(value, digits))).size < different) digits++;
  return values.map((value) => signed(value, digits));
}

const grouped = (count) => String(count).replace(/\B(?=(\d{3})+$)/g, ",");
export const pluralize = (count, noun) => `${grouped(count)} ${noun}${count === 1 ? "" : "s"}`;
export const quoted = (token) => `“${token}”`;

export function quotedAt(tokens, place, noun = "position") {
  const twice = tokens.indexOf(tokens[place]) !== tokens.lastIndexOf(tokens[place]);
  return quoted(tokens[place]) + (twice ? ` (${noun} ${place + 1})` : "");
}

const headName = (layer, head) => `layer ${layer + 1}, head ${head + 1}`;

// names: those of the kinds of attention.
export function kindHeadName(names, { kind, layer, head }) {
  return `${names[kind].slice(0, 1).toLowerCase()}${names[kind].slice(1)} ${headName(layer, head)}`;
}
