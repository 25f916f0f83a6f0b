// Numbers and tokens in words.

import { MINUS } from "./format.js";
import { LANGUAGE, local } from "./language.js";

export const LEAST_SHOWN = 0.005; // nats, or a share: two digits do not show less

export const quoted = (token) => LANGUAGE.quotes.join(token);

// A token with its number, from 1, where another one reads the same: “▁no” (query 3). noun: of LANGUAGE.places.
export function quotedAt(tokens, place, noun) {
  const isTwice = tokens.indexOf(tokens[place]) !== tokens.lastIndexOf(tokens[place]);
  return quoted(tokens[place]) + (isTwice ? ` (${LANGUAGE.places[noun] ?? noun} ${place + 1})` : "");
}

export const sentenceCase = (text) => text.slice(0, 1).toUpperCase() + text.slice(1);
export const grouped = (count) => local(count.toLocaleString("en"));

// A number with a true minus sign, none for what rounds to 0.
export function signed(value, digits) {
  const text = value.toFixed(digits);
  return local(/[1-9]/.test(text) ? text.replace("-", MINUS) : text.replace("-", ""));
}

// Numbers with so many decimals, or more where fewer would make two different ones look equal.
export function distinct(values, digits = 2) {
  const texts = values.map((value) => signed(value, digits));
  return digits < 7 && new Set(texts).size < new Set(values).size ? distinct(values, digits + 1) : texts;
}

// A share in whole percent, never rounded to all or to nothing.
export function percent(share) {
  if (share > 0 && share < 0.01) return LANGUAGE.under;
  return share >= 0.995 && share < 1 ? LANGUAGE.over : percentInCell(share);
}

// In a small cell, where 0 % and 100 % may be rounded.
export const percentInCell = (share) => local(`${Math.round(share * 100)} %`);

// A probability in percent with one decimal, small ones with one digit; never rounded to all or to nothing.
export function chanceText(probability) {
  if (probability > 0.999) return local("> 99.9 %");
  if (probability < 1e-6) return local("< 0.0001 %");
  const digits = probability >= 0.001 ? 1 : -Math.floor(Math.log10(probability)) - 2;
  return local(`${(probability * 100).toFixed(digits)} %`);
}
