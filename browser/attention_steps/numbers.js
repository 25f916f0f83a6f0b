// Arrays as they travelled, and numbers as people read them.

class Grid {
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
  get reach() {
    let most = 0;
    for (const value of this.values) if (Number.isFinite(value)) most = Math.max(most, Math.abs(value));
    return most;
  }
}

// IEEE half precision, sixteen bits a number (older browsers have no Float16Array): what each pattern of bits stands for.
const HALVES = Float32Array.from({ length: 65536 }, (_, bits) => {
  const sign = bits & 0x8000 ? -1 : 1, exponent = (bits >> 10) & 31, fraction = bits & 1023;
  if (!exponent) return sign * fraction * 2 ** -24;
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
});

function halves(text) {
  const bits = sixteenBits(text), made = new Float32Array(bits.length);
  for (let index = 0; index < bits.length; index++) made[index] = HALVES[bits[index]];
  return made;
}

const MINUS = "\u2212";
const written = (text) => text.replace("-", MINUS);
const number = (value, digits = 4) => {
  if (Number.isNaN(value)) return "not a number";
  if (!Number.isFinite(value)) return value < 0 ? `${MINUS}∞` : "∞";
  return written(Math.abs(value) >= 1e5 ? value.toExponential(digits) : value.toFixed(digits));
};

// A difference: its size matters, not its digits.
const SUPERSCRIPTS = { "-": "⁻", 0: "⁰", 1: "¹", 2: "²", 3: "³", 4: "⁴", 5: "⁵", 6: "⁶", 7: "⁷", 8: "⁸", 9: "⁹" };
const tiny = (value) => {
  if (!value) return "0";
  const [digit, power] = value.toExponential(0).split("e");
  return `${digit}·10${[...String(Number(power))].map((sign) => SUPERSCRIPTS[sign]).join("")}`;
};

// A formula of ours in a place: its <sub> and <sup> become elements, all else is text.
function formula(place, text) {
  const parts = text.split(/(<su[bp]>.*?<\/su[bp]>)/).map((part) => {
    const found = /^<(su[bp])>(.*)<\/su[bp]>$/.exec(part);
    return found ? element(found[1], "", found[2]) : document.createTextNode(part);
  });
  place.replaceChildren(...parts);
}

