// Facts that Python wrote (headlight/app/facts.py), with the names and types of the engine's own (engine/headlight.js).

import { bytes } from "./format.js";

const READERS = {
  float32: (buffer) => new Float32Array(buffer),
  float16: (buffer) => Float32Array.from(new Uint16Array(buffer), half),
  uint16: (buffer) => new Uint16Array(buffer),
  int32: (buffer) => new Int32Array(buffer),
};

// Decode a value: names become camelCase, an array of one dimension a typed array, one of more { shape, weights }. A
// decoded value stays as it is.
export function decodeFacts(value) {
  if (Array.isArray(value)) return value.map(decodeFacts);
  if (value === null || typeof value !== "object" || ArrayBuffer.isView(value)) return value;
  if (typeof value.base64 === "string") return decodeArray(value);
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [camelCase(name), decodeFacts(each)]));
}

function decodeArray({ dtype, shape, base64 }) {
  const weights = READERS[dtype](bytes(base64).buffer);
  return shape.length === 1 ? weights : { shape, weights };
}

// Decode bytes: a header with facts, and behind it arrays of sixteen bits, each { shape, weights }.
export function unpackFacts(data) {
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength), length = view.getUint32(0, true);
  const { arrays, ...facts } = JSON.parse(new TextDecoder().decode(data.subarray(4, 4 + length)));
  const numbers = new Uint16Array(data.slice(4 + length).buffer);
  let at = 0;
  const unpacked = Object.entries(arrays).map(([name, shape]) => {
    const start = at, size = shape.reduce((product, side) => product * side, 1);
    at += size;
    return [name, { shape, weights: numbers.subarray(start, at) }];
  });
  return { ...decodeFacts(facts), ...Object.fromEntries(unpacked) };
}

const camelCase = (name) => name.replace(/_([a-z])/g, (_, letter) => letter.toUpperCase());

// IEEE half precision, sixteen bits per number: older browsers have no Float16Array.
function half(bits) {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 31, fraction = bits & 1023;
  if (!exponent) return sign * fraction * 2 ** -24;
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}
