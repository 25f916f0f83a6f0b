// Facts that Python wrote (headlight/app/facts.py), with the names and types of the engine's own (engine/headlight.js).

import { bytes } from "./format.js";

const TYPES = { float32: Float32Array, uint16: Uint16Array, int32: Int32Array };

// Decode a value: names become camelCase, an array of one dimension a typed array, one of more { shape, weights }. A
// decoded value stays as it is.
export function decodeFacts(value) {
  if (Array.isArray(value)) return value.map(decodeFacts);
  if (value === null || typeof value !== "object" || ArrayBuffer.isView(value)) return value;
  if (typeof value.base64 === "string") return decodeArray(value);
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [camelCase(name), decodeFacts(each)]));
}

function decodeArray({ dtype, shape, base64 }) {
  const weights = new TYPES[dtype](bytes(base64).buffer);
  return shape.length === 1 ? weights : { shape, weights };
}

const camelCase = (name) => name.replace(/_([a-z])/g, (_, letter) => letter.toUpperCase());
