// Numbers and tokens in words.

import { MINUS } from "./format.js";

export const LEAST_SHOWN = 0.005; // nats, or a share: two digits do not show less

export const quoted = (token) => `“${token}”`;

// A token with its number, from 1, where another one reads the same: “▁no” (query 3).
export function quotedAt(tokens, place, noun) {
  const isTwice = tokens.indexOf(tokens[place]) !== tokens.lastIndexOf(tokens[place]);
  return quoted(tokens[place]) + (isTwice ? ` (${noun} ${place + 1})` : "");
}

export const sentenceCase = (text) => text.slice(0, 1).toUpperCase() + text.slice(1);
export const grouped = (count) => count.toLocaleString("en");

// A number with a true minus sign, none for what rounds to 0.
export function signed(value, digits) {
  const text = value.toFixed(digits);
  return /[1-9]/.test(text) ? text.replace("-", MINUS) : text.replace("-", "");
}

// Numbers with so many decimals, or more where fewer would make two different ones look equal.
export function distinct(values, digits = 2) {
  const texts = values.map((value) => signed(value, digits));
  return digits < 7 && new Set(texts).size < new Set(values).size ? distinct(values, digits + 1) : texts;
}

// A share in whole percent, never rounded to all or to nothing.
export function percent(share) {
  if (share > 0 && share < 0.01) return "under 1 %";
  return share >= 0.995 && share < 1 ? "over 99 %" : `${Math.round(share * 100)} %`;
}

// In a small cell, where 0 % and 100 % may be rounded.
export const percentInCell = (share) => `${Math.round(share * 100)} %`;

// A probability in percent with one decimal, small ones with one digit; never rounded to all or to nothing.
export function chanceText(probability) {
  if (probability > 0.999) return "> 99.9 %";
  if (probability < 1e-6) return "< 0.0001 %";
  return `${(probability * 100).toFixed(probability >= 0.001 ? 1 : -Math.floor(Math.log10(probability)) - 2)} %`;
}
