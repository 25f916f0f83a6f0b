// Texts of the steps of an attention block; `block` is that of story.js. Formulas have tags of HTML and no token.

import { KIND_NAMES } from "../lib/names.js";
import { percent, signed } from "../lib/words.js";

const RMS = "RMSNorm divides each vector by its root mean square and scales each dimension by a learned γ. LayerNorm " +
  "would also subtract the mean and add a β; Zhang and Sennrich 2019 find that models do as well without.";
const NORMS = {
  layer: {
    name: "LayerNorm",
    formula: "(z − mean(z)) / √(variance(z) + ε) · γ + β",
    first: "With pre-norm the block reads the vectors after LayerNorm, and the residual connection carries its " +
      "input past it unchanged (Xiong et al. 2020).",
    last: "Each vector alone is normalised to mean 0 and standard deviation 1, then scaled by γ and shifted by β, " +
      "one learned number per dimension.",
  },
  rms: {
    name: "RMSNorm", formula: "z / √(mean(z²) + ε) · γ", first: `${RMS} It comes first, with pre-norm.`, last: RMS,
  },
};
const UNDIVIDED = " The paper would divide these products by √d_k; this model does not: T5 begins its training with " +
  "queries that are smaller by that factor.";
const CROSS_INPUT = "X are the decoder's vectors after its masked self-attention, one for each input token; the " +
  "memory M is the output of the encoder's last layer for the source. Queries come from X, keys and values from M.";
const TOY_INPUT = "One made-up vector per token, each a row. In a model these are the embeddings plus the positions.";

// The letters of each matrix.
export function symbolsOf({ divided, arrays, norm, normType }) {
  const products = "S", scaled = divided ? "S / √d<sub>k</sub>" : products;
  return {
    residual: "X", x: letter({ norm }), memory: "M", query: "Q", key: "K", value: "V", headQuery: "Q<sub>h</sub>",
    headKey: "K<sub>h</sub>", headValue: "V<sub>h</sub>", headOutput: "O<sub>h</sub>", products, divided: scaled,
    bias: "b<sub>h</sub>", scores: arrays.bias ? `${scaled} + b<sub>h</sub>` : scaled, weights: "A",
    concatenated: "O", output: "Y", total: "Z", result: `${NORMS[normType].name}(Z)`,
  };
}

export function blockName({ toy, kind, layer, head }) {
  return `${toy ? "Self-attention over made-up numbers" : `${KIND_NAMES[kind]}, layer ${layer + 1}`}, head ${head + 1}`;
}

export const ownerText = ({ toy }) => (toy ? "The float32 number here has" : "The model has");

function inputText({ toy, kind, layer, embedding, arrays }) {
  if (toy) return TOY_INPUT;
  if (kind === "cross") return CROSS_INPUT;
  const { scaled, positioned, normalised } = embedding;
  const parts = ["the embeddings", scaled && ", times √d_model", positioned && ", plus the positions"];
  parts.push(arrays.bias && "; no position is added: the scores get a bias by distance");
  parts.push(normalised && ", after a LayerNorm");
  const origin = layer ? "the output of the layer below" : parts.filter(Boolean).join("");
  return `One vector per token, each a row: ${origin}.`;
}

function maskText({ editable, toy, kind }) {
  if (editable) {
    return "Choose a cell, or go there with the arrow keys and press Enter, to mask it or to unmask it again.";
  }
  if (kind === "decoder" && !toy) {
    return "A query may attend to its own token and those before it: later ones are what it is to predict.";
  }
  return "Padding would be masked here; a sentence alone has none, and every token of it may be attended to.";
}

const letter = ({ norm }) => (norm === "pre" ? "X′" : "X");
const memoryLetter = (block) => (block.kind === "cross" ? "M" : letter(block));
const plusBias = ({ arrays }, name) => (arrays.bQuery ? ` + b<sub>${name}</sub>` : "");
const projection = (block, [product, of]) => `${product} = ${of} W<sub>${product}</sub>${plusBias(block, product)}`;

// [title, formula, purpose] of each step.
const TEXTS = {
  input: (block) => ["Input X", block.kind === "cross" ? "X, M" : "X", inputText(block)],
  norm_first: ({ normType }) => {
    const { name, formula, first } = NORMS[normType];
    return [`${name} first`, `X′ = ${formula}`, first];
  },
  project: (block) => [
    "Queries, keys and values",
    [["Q", letter(block)], ["K", memoryLetter(block)], ["V", memoryLetter(block)]]
      .map((each) => projection(block, each)).join(", \u2002"),
    "Three learned matrices make three vectors of each token: the query, what it looks for; the key, what it is " +
      "found by; the value, what it hands over. The chosen head's columns are framed.",
  ],
  split: ({ head, headSize }) => [
    "Split into heads",
    `h = ${head + 1}: columns ${head * headSize + 1} to ${(head + 1) * headSize} of Q, K and V`,
    "Nothing is computed here: each head takes its own columns, and works alone until the heads are concatenated.",
  ],
  products: ({ divided }) => [
    "Every query times every key",
    "S = Q<sub>h</sub> K<sub>h</sub><sup>T</sup>",
    "How well does each key match each query? A dot product: large where both point the same way." +
      (divided ? "" : UNDIVIDED),
  ],
  scale: () => [
    "Divided by √d_k",
    "S / √d<sub>k</sub>",
    "Longer vectors make larger products, and softmax would give one key all. So they are divided by √d_k, their " +
      "standard deviation for random vectors (paper, 3.2.1); see “why √d_k”.",
  ],
  bias: (block) => [
    "Plus the bias of the distance",
    `${symbolsOf(block).divided} + b<sub>h</sub>(bucket of j − i)`,
    "No position was added to the embeddings: here order comes in. How far key j stands from query i chooses one of " +
      "a few learned numbers of this head, the same in all layers of the stack, and it is added to the score. Near " +
      "distances have a number each, far ones share one: a bucket of distances.",
  ],
  mask: (block) => ["The mask", "s<sub>ij</sub> = −∞ where query i may not attend to key j", maskText(block)],
  softmax: () => [
    "Softmax: scores become weights",
    "a<sub>ij</sub> = exp(s<sub>ij</sub>) / Σ<sub>n</sub> exp(s<sub>in</sub>)",
    "Each row becomes shares that sum to 1. One much larger score takes nearly all.",
  ],
  values: () => [
    "Weights times values",
    "O<sub>h</sub> = A V<sub>h</sub>",
    "Each query gets the average of the values, weighted by its row: the only place where information moves from one " +
      "token to another.",
  ],
  concatenate: ({ heads, isSquare }) => [
    "Concatenate heads",
    `O = ${heads > 1 ? `[O<sub>1</sub> … O<sub>${heads}</sub>]` : "O<sub>1</sub>"}`,
    "Every head has written its own columns; " +
      (isSquare ? "together they are as wide as the input." : "W_O makes vectors as wide as the input of them."),
  ],
  output: (block) => [
    "Output projection W_O",
    projection(block, ["Y", "O"]).replaceAll("<sub>Y</sub>", "<sub>O</sub>"),
    "A last learned matrix combines the heads, so that each can write anywhere into the vector.",
  ],
  residual: () => [
    "Residual connection",
    "Z = X + Y",
    "The block does not replace the vectors, it adds to them (paper, 5.4). Dropout, which is for training only, " +
      "comes before this sum.",
  ],
  norm_last: ({ normType }) => [NORMS[normType].name, NORMS[normType].formula, NORMS[normType].last],
};

export function stepText(name, block) {
  const [title, formula, purpose] = TEXTS[name](block);
  return { title, formula, purpose };
}

// The shape of a step's matrices, each axis by its name; of several matrices, each shape by its letters.
export function shapeText(matrices, block, symbols) {
  const { batch, heads, headSize, queries, keys, isSquare, width } = block;
  const sizes = {
    queries: ["queries", queries.length], keys: ["keys", keys.length], model: ["d_model", width],
    heads: [isSquare ? "d_model" : "heads · d_k", heads * headSize], head: ["d_k", headSize],
  };
  const shapes = new Map();
  for (const { stage, rows, columns, axis } of matrices) {
    const axes = [["batch", batch], ...(columns === "model" ? [] : [["heads", heads]]), sizes[rows], sizes[axis]];
    const text = axes.map((each) => each.join(" ")).join(" · ");
    shapes.set(text, [...(shapes.get(text) ?? []), symbols[stage]]);
  }
  const withLetters = ([text, letters]) => (matrices.length > 1 ? `${letters.join(" and ")}: ${text}` : text);
  return [...shapes].map(withLetters).join("; ");
}

export const gapText = (gap) => `Recomputed in float64 from X on: largest difference ${gap}.`;

// Sentences on the numbers of this example; tokens are quoted already.
const range = ([least, most]) => `${least.toFixed(1)} to ${most.toFixed(1)}`;
const pair = ({ query, key, value }) => `query ${query} and key ${key} (${signed(value, 2)})`;
const normsText = ({ before, after }) => `Norms from ${range(before)} become norms from ${range(after)}.`;
const bucketText = ({ value, bucket, distances }) => {
  return `${signed(value, 2)} (bucket ${bucket}: ${distancesText(distances)})`;
};

export const FINDINGS = {
  input: ({ high, low }) => {
    const [most, least] = [high, low].map(({ query, norm }) => `${query} (${norm.toFixed(1)})`);
    return `The longest vector is that of ${most}, the shortest that of ${least}.`;
  },
  norm_first: normsText,
  split: ({ head, query, key, value }) => {
    const [q, k, v] = [query, key, value].map((each) => each.toFixed(1));
    return `Mean norms in head ${head + 1}: ${q} of a query, ${k} of a key, ${v} of a value.`;
  },
  products: ({ high, low }) => `Best match: ${pair(high)}. Worst: ${pair(low)}.`,
  scale: ({ headSize, before, after }) => {
    const root = `√${headSize} = ${Math.sqrt(headSize).toFixed(4)}`;
    return `${root}: the standard deviation falls from ${before.toFixed(2)} to ${after.toFixed(2)}.`;
  },
  bias: ({ high, low, moved, queries }) => {
    return `This head's largest number here is ${bucketText(high)}, its smallest ${bucketText(low)}. Without them ` +
      `${moved} of ${queries} queries would have their largest score elsewhere.`;
  },
  mask: ({ masked, cells }) => {
    if (!masked) return `None of the ${cells} cells is masked.`;
    return `Masked: ${masked} of ${cells} cells; their scores were computed, and are discarded.`;
  },
  softmax: ({ low, high }) => {
    if (!low) return "No row has more than one unmasked key.";
    return `Most focused: ${low.query}, ${percent(low.weight)} on ${low.key}. Least: ${high.query}, as if spread ` +
      `evenly over ${Math.exp(high.entropy).toFixed(1)} keys.`;
  },
  concatenate: ({ head, heads, share }) => {
    return `Head ${head + 1} of ${heads} holds ${percent(share)} of the squared norm of O; an equal share would be ` +
      `${percent(1 / heads)}.`;
  },
  residual: ({ input, added, sum }) => {
    const [before, more, after] = [input, added, sum].map((each) => each.toFixed(1));
    return `Mean norms: ${before} of the input, ${more} of what is added, ${after} of their sum.`;
  },
  norm_last: normsText,
};

// Distances of one side, key minus query: "the token before", "3 to 4 tokens after".
function distancesText(distances) {
  const far = distances.map(Math.abs), least = Math.min(...far), most = Math.max(...far);
  if (!most) return "the token itself";
  const side = Math.max(...distances) > 0 ? "after" : "before";
  if (most === 1) return `the token ${side}`;
  return `${least === most ? least : `${least} to ${most}`} tokens ${side}`;
}
