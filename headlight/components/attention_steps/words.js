// Texts of the steps of an attention block; `block` is that of story.js.

import { KIND_NAMES } from "../lib/names.js";
import { say } from "./texts.toml";

const normText = ({ normType }, part) => say(`norm_${normType}_${part}`);

// The letters of each matrix.
export function symbolsOf(block) {
  const { divided, arrays } = block, products = "S", scaled = divided ? "S / √d<sub>k</sub>" : products;
  return {
    residual: "X", x: letter(block), memory: "M", query: "Q", key: "K", value: "V", headQuery: "Q<sub>h</sub>",
    headKey: "K<sub>h</sub>", headValue: "V<sub>h</sub>", headOutput: "O<sub>h</sub>", products, divided: scaled,
    bias: "b<sub>h</sub>", scores: arrays.bias ? `${scaled} + b<sub>h</sub>` : scaled, weights: "A",
    concatenated: "O", output: "Y", total: "Z", result: `${normText(block, "name")}(Z)`,
  };
}

export function blockName({ toy, kind, layer, head }) {
  if (toy) return say("toy_block", { head: head + 1 });
  return say("block", { kind: KIND_NAMES[kind], layer: layer + 1, head: head + 1 });
}

export const ownerText = ({ toy }) => say(toy ? "owner_toy" : "owner_model");

function inputText({ toy, kind, layer, embedding, arrays }) {
  if (toy) return say("input_toy");
  if (kind === "cross") return say("input_cross");
  if (layer) return say("input_below");
  const { scaled, positioned, normalised } = embedding;
  const changes = Object.entries({ scaled, positioned, biased: arrays.bias, normalised }).filter(([, has]) => has);
  return say("input_embeddings", { changes: changes.map(([name]) => say(`change_${name}`)) });
}

function maskText({ editable, toy, kind }) {
  if (editable) return say("mask_editable");
  return say(kind === "decoder" && !toy ? "mask_causal" : "mask_padding");
}

const letter = ({ norm }) => (norm === "pre" ? "X′" : "X");
const plusBias = ({ arrays }, name) => (arrays.bQuery ? ` + b<sub>${name}</sub>` : "");
const projection = (block, product, of) => `${product} = ${of} W<sub>${product}</sub>${plusBias(block, product)}`;

// The purposes that depend on the block.
const PURPOSES = {
  input: inputText, mask: maskText,
  norm_first: (block) => normText(block, "first"), norm_last: (block) => normText(block, "last"),
  products: ({ divided }) => say(divided ? "divided" : "undivided"),
  concatenate: ({ isSquare }) => say(isSquare ? "joined_square" : "joined"),
};

export function stepText(name, block) {
  const { kind, head, heads, headSize } = block, x = letter(block), memory = kind === "cross" ? "M" : x;
  const projections = [["Q", x], ["K", memory], ["V", memory]].map((each) => projection(block, ...each));
  const formula = say(`formula_${name}`, {
    inputs: kind === "cross" ? "X, M" : "X", norm: normText(block, "formula"),
    projections: projections.join(", \u2002"), head: head + 1, first: head * headSize + 1, last: (head + 1) * headSize,
    divided: symbolsOf(block).divided, heads: heads > 1 ? `[O<sub>1</sub> … O<sub>${heads}</sub>]` : "O<sub>1</sub>",
    output: projection(block, "Y", "O").replaceAll("<sub>Y</sub>", "<sub>O</sub>"),
  });
  const purpose = PURPOSES[name]?.(block) ?? say(`purpose_${name}`);
  return { title: say(`title_${name}`, { norm: normText(block, "name") }), formula, purpose };
}

// The shape of a step's matrices, each axis by its name; of several matrices, each shape by its letters.
export function shapeText(matrices, block, symbols) {
  const { batch, heads, headSize, queries, keys, isSquare, width } = block;
  const sizes = {
    queries: [say("axis_queries"), queries.length], keys: [say("axis_keys"), keys.length], model: ["d_model", width],
    heads: [isSquare ? "d_model" : say("all_heads"), heads * headSize], head: ["d_k", headSize],
  };
  const shapes = new Map();
  for (const { stage, rows, columns, axis } of matrices) {
    const parts = columns === "model" ? [] : [[say("axis_heads"), heads]];
    const axes = [[say("axis_batch"), batch], ...parts, sizes[rows], sizes[axis]];
    const text = axes.map((each) => each.join(" ")).join(" · ");
    shapes.set(text, [...(shapes.get(text) ?? []), symbols[stage]]);
  }
  const withLetters = ([shape, letters]) => (matrices.length > 1 ? say("shape", { letters, shape }) : shape);
  return [...shapes].map(withLetters).join("; ");
}

export const gapText = (gap) => say("gap", { gap });

// Sentences on the numbers of this example; tokens are quoted already.
const normsText = ({ before: [least, most], after: [leastAfter, mostAfter] }) => {
  return say("finding_norms", { least, most, least_after: leastAfter, most_after: mostAfter });
};
const bucketText = ({ value, bucket, distances }) => {
  return say("bucket", { value, bucket, distances: distancesText(distances) });
};

export const FINDINGS = {
  input: ({ high, low }) => {
    return say("finding_input", { longest: high.query, most: high.norm, shortest: low.query, least: low.norm });
  },
  norm_first: normsText,
  split: ({ head, query, key, value }) => say("finding_split", { head: head + 1, query, key, value }),
  products: ({ high: { query, key, value }, low }) => say("finding_products", {
    query, key, value, worst_query: low.query, worst_key: low.key, worst_value: low.value,
  }),
  scale: ({ headSize: size, before, after }) => say("finding_scale", { size, root: Math.sqrt(size), before, after }),
  bias: ({ high, low, moved, queries }) => {
    return say("finding_bias", { high: bucketText(high), low: bucketText(low), moved, queries });
  },
  mask: ({ masked, cells }) => say(masked ? "finding_masked" : "finding_unmasked", { masked, cells }),
  softmax: ({ low, high }) => {
    if (!low) return say("finding_single");
    const keys = Math.exp(high.entropy);
    return say("finding_softmax", { focused: low.query, weight: low.weight, key: low.key, even: high.query, keys });
  },
  concatenate: ({ head, heads, share }) => {
    return say("finding_concatenate", { head: head + 1, heads, share, equal: 1 / heads });
  },
  residual: ({ input, added, sum }) => say("finding_residual", { input, added, sum }),
  norm_last: normsText,
};

// Distances of one side, key minus query: "the token before", "3 to 4 tokens after".
function distancesText(distances) {
  const all = distances.map(Math.abs), least = Math.min(...all), most = Math.max(...all);
  if (!most) return say("distance_0");
  const far = least === most ? least : say("distances", { least, most });
  return say(Math.max(...distances) > 0 ? "distance_after" : "distance_before", { count: most, far });
}
