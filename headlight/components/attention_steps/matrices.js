// The matrices of an attention block and the steps that make them. A recipe is a cell's computation: see sums.js.

import { Grid } from "../lib/format.js";

// Rows and columns of each matrix, and the stage of transformer/interpret/attention_block.py that it belongs to, where
// that has another name.
const MATRICES = {
  residual: ["queries", "model"], x: ["queries", "model"], memory: ["keys", "model"],
  query: ["queries", "model"], key: ["keys", "model"], value: ["keys", "model"],
  headQuery: ["queries", "head", "query"], headKey: ["keys", "head", "key"], headValue: ["keys", "head", "value"],
  products: ["queries", "keys"], divided: ["queries", "keys", "scores"], bias: ["queries", "keys"],
  scores: ["queries", "keys"], weights: ["queries", "keys"], headOutput: ["queries", "head", "concatenated"],
  concatenated: ["queries", "model"], output: ["queries", "model"], total: ["queries", "model"],
  result: ["queries", "model"],
};
const OF_ALL_HEADS = new Set(["query", "key", "value", "concatenated"]);
const PARTS = ["Query", "Key", "Value"];

// The matrices of a block by name, with what is derived from those of its facts.
export function gridsOf({ arrays, head, headSize, divided }) {
  const grids = {};
  for (const [name, { shape: [rows, columns], weights }] of Object.entries(arrays)) {
    grids[name] = new Grid(rows, columns, weights);
  }
  const ofHead = (name) => grids[name].columnsFrom(head * headSize, headSize);
  for (const part of PARTS) grids[`head${part}`] = ofHead(part.toLowerCase());
  grids.headOutput = ofHead("concatenated");
  const { rows, columns, values } = grids.products, divisor = divided ? Math.sqrt(headSize) : 1;
  grids.divided = new Grid(rows, columns, values.map((value) => value / divisor));
  return grids;
}

function matrix(array, recipe = null) {
  const [rows, columns, stage = array] = MATRICES[array], scale = array === "weights" ? "weights" : "signed";
  return { array, rows, columns, stage, axis: OF_ALL_HEADS.has(array) ? "heads" : columns, scale, recipe };
}

// The steps in order: { name, makes, takes }, matrices in the order of the formula.
export function stepsOf(block) {
  const { norm, kind, divided, arrays } = block, isCross = kind === "cross", isPre = norm === "pre";
  const input = matrix("residual"), inputs = isCross ? [input, matrix("memory")] : [input];
  const projected = projectionsOf(block), cut = PARTS.map((part) => {
    return matrix(`head${part}`, { kind: "cut", of: part.toLowerCase() });
  });
  const weights = matrix("weights", { kind: "softmax", of: "scores" });
  const output = matrix("output", projection("concatenated", "Output", arrays, false));
  const scaled = arrays.bias ? "divided" : "scores", before = divided ? "divided" : "products";
  const steps = [
    ["input", inputs, []],
    isPre && ["norm_first", [matrix("x", { kind: "normalised", of: "residual" })], [input]],
    ["project", projected, [matrix("x"), ...inputs.slice(1)]],
    ["split", cut],
    ["products", [matrix("products", { kind: "dot", left: "headQuery", right: "headKey" })], cut.slice(0, 2)],
    divided && ["scale", [matrix(scaled, { kind: "divided", of: "products" })]],
    arrays.bias && ["bias", [matrix("scores", { kind: "biased", of: before })], [matrix(before), matrix("bias")]],
    ["mask", [matrix("scores", { kind: "masked", of: "scores" })]],
    ["softmax", [weights]],
    ["values", [matrix("headOutput", { kind: "weighted", left: "weights", right: "headValue" })], [weights, cut[2]]],
    ["concatenate", [matrix("concatenated", { kind: "placed", of: "headOutput" })]],
    ["output", [output]],
    ["residual", [matrix("total", { kind: "sum", of: ["residual", "output"] })], [input, output]],
    !isPre && ["norm_last", [matrix("result", { kind: "normalised", of: "total" })]],
  ].filter(Boolean);
  return steps.map(([name, makes, takes], at) => ({ name, makes, takes: takes ?? steps[at - 1][1] }));
}

function projectionsOf({ arrays }) {
  return PARTS.map((part) => {
    return matrix(part.toLowerCase(), projection(part === "Query" ? "x" : "memory", part, arrays, true));
  });
}

function projection(left, part, arrays, ofHead) {
  return { kind: "projected", left, right: `w${part}`, bias: arrays[`b${part}`] ? `b${part}` : null, ofHead };
}
