// Arrays as they travelled, in base64, and numbers as people read them.

import { local } from "./language.js";

// By a loop: a function per letter takes twenty times as long, half a second for a page of 6 MB.
export function bytes(text) {
  const letters = atob(text), all = new Uint8Array(letters.length);
  for (let at = 0; at < letters.length; at++) all[at] = letters.charCodeAt(at);
  return all;
}

// A matrix of numbers, row by row.
export class Grid {
  constructor(rows, columns, values) {
    Object.assign(this, { rows, columns, values });
  }

  // These columns alone.
  columnsFrom(first, count) {
    const rows = Array.from({ length: this.rows }, (_, row) => [...this.row(row).subarray(first, first + count)]);
    return new Grid(this.rows, count, Float32Array.from(rows.flat()));
  }

  at(row, column) {
    return this.values[row * this.columns + column];
  }

  column(index) {
    return Array.from({ length: this.rows }, (_, row) => this.at(row, index));
  }

  row(index) {
    return this.values.subarray(index * this.columns, (index + 1) * this.columns);
  }

  // The largest absolute value that is a number: what full colour stands for.
  get limit() {
    return this.values.reduce((most, value) => (Number.isFinite(value) ? Math.max(most, Math.abs(value)) : most), 0);
  }
}

// A weight in a small cell, in whole percent without the sign, as percent_in_cell of headlight/plots/numbers.py: "94".
export const shortWeight = (weight) => String(Math.round(100 * weight));

export const MINUS = "\u2212";

export function number(value, digits = 4) {
  if (Number.isNaN(value)) return "not a number";
  if (!Number.isFinite(value)) return value < 0 ? `${MINUS}∞` : "∞";
  const text = Math.abs(value) >= 1e5 ? value.toExponential(digits) : value.toFixed(digits);
  return local(text.replace("-", MINUS));
}

const SUPERSCRIPTS = { "-": "⁻", 0: "⁰", 1: "¹", 2: "²", 3: "³", 4: "⁴", 5: "⁵", 6: "⁶", 7: "⁷", 8: "⁸", 9: "⁹" };

// A difference: its size matters, not its digits.
export function tiny(value) {
  if (!value) return "0";
  const [digit, power] = value.toExponential(0).split("e");
  return `${digit}·10${[...String(Number(power))].map((sign) => SUPERSCRIPTS[sign]).join("")}`;
}
