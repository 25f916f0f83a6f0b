// Arrays as they travelled, in base64, and numbers as people read them.

export const floats = (text) => new Float32Array(bytes(text).buffer);
export const sixteenBits = (text) => new Uint16Array(bytes(text).buffer);

export function bytes(text) {
  const raw = atob(text), made = new Uint8Array(raw.length);
  for (let index = 0; index < raw.length; index++) made[index] = raw.charCodeAt(index);
  return made;
}

// A matrix of numbers, row by row.
export class Grid {
  constructor(rows, columns, values) {
    Object.assign(this, { rows, columns, values });
  }

  static from(data) {
    const values = data.half ? halves(data.bytes) : floats(data.bytes);
    return new Grid(data.rows, data.columns, values);
  }

  at(row, column) {
    return this.values[row * this.columns + column];
  }

  row(index) {
    return this.values.subarray(index * this.columns, (index + 1) * this.columns);
  }

  // The largest absolute value that is a number: what full colour stands for.
  get limit() {
    let most = 0;
    for (const value of this.values) if (Number.isFinite(value)) most = Math.max(most, Math.abs(value));
    return most;
  }
}

// IEEE half precision, sixteen bits a number (older browsers have no Float16Array): the number of each bit pattern,
// worked out once, when the first such array comes.
let numberOfBits = null;

function halves(text) {
  numberOfBits ??= Float32Array.from({ length: 65536 }, (_, bits) => half(bits));
  const bits = sixteenBits(text), made = new Float32Array(bits.length);
  for (let index = 0; index < bits.length; index++) made[index] = numberOfBits[bits[index]];
  return made;
}

function half(bits) {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 31, fraction = bits & 1023;
  if (!exponent) return sign * fraction * 2 ** -24;
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}

// A weight as in headlight/plots/numbers.py: two decimals without the leading zero: ".07", "1.00".
export const shortWeight = (weight) => weight.toFixed(2).replace(/^0/, "");

export const MINUS = "\u2212";

export function number(value, digits = 4) {
  if (Number.isNaN(value)) return "not a number";
  if (!Number.isFinite(value)) return value < 0 ? `${MINUS}∞` : "∞";
  const text = Math.abs(value) >= 1e5 ? value.toExponential(digits) : value.toFixed(digits);
  return text.replace("-", MINUS);
}

const SUPERSCRIPTS = { "-": "⁻", 0: "⁰", 1: "¹", 2: "²", 3: "³", 4: "⁴", 5: "⁵", 6: "⁶", 7: "⁷", 8: "⁸", 9: "⁹" };

// A difference: its size matters, not its digits.
export function tiny(value) {
  if (!value) return "0";
  const [digit, power] = value.toExponential(0).split("e");
  return `${digit}·10${[...String(Number(power))].map((sign) => SUPERSCRIPTS[sign]).join("")}`;
}
