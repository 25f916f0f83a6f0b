// What the steps of one attention block show, as headlight/views/inside/steps_content.py says it: its words come from
// there (`words`), the numbers from engine/stages.js (`stages`).

import { filled, fixed, percent, quotedAt, signed } from "./text.js";

// view: {kind, layer, head, queries, keys, predicted, scaled, positioned, normalised}; names: of the kinds.
export function stepsPayload(stages, view, words, names) {
  const isPre = stages.norm === "pre", dropped = isPre ? "norm_last" : "norm_first";
  const order = Object.keys(words.steps).filter((name) => name !== dropped);
  const block = { stages, view, words, fields: fieldsOf(stages, view, words, isPre ? "X′" : "X") };
  return {
    id: `${view.kind} ${view.layer} 0`,
    block: `${names[view.kind]}, layer ${view.layer + 1}, head ${view.head + 1}`,
    queries: view.queries, keys: view.keys, predicts: view.predicted ?? null, own: view.kind !== "cross",
    arrays: arraysOf(stages, view),
    steps: order.map((name, at) => stepOf(name, order[at - 1], block)),
    head: view.head, heads: stages.heads, d_k: stages.d_k, epsilon: stages.epsilon,
    editable: false, whose: "The model",
  };
}

// Some of a head's columns of an array of rows, or all of them.
function columns(array, wide, first, count) {
  const rows = array.length / wide, made = new Float32Array(rows * count);
  for (let row = 0; row < rows; row++) {
    made.set(array.subarray(row * wide + first, row * wide + first + count), row * count);
  }
  return made;
}

function arraysOf(stages, { head }) {
  const { whole, maps, learned, unmasked, queries, keys, heads, d_k } = stages, d = heads * d_k;
  const packed = (array, wide) => {
    return { rows: array.length / wide, columns: wide, half: false, bytes: base64([Float32Array.from(array)]) };
  };
  const own = (name) => columns(whole[name], d, head * d_k, d_k);
  const map = (name) => mapOf(maps[name], head, queries, keys);
  const made = Object.fromEntries(Object.entries(whole).map(([name, array]) => [name, packed(array, d)]));
  for (const name of ["query", "key", "value"]) {
    made[`head_${name}`] = packed(own(name), d_k);
    made[`w_${name}`] = packed(learned[`w_${name}`], d_k);
    made[`b_${name}`] = packed(learned[`b_${name}`], d_k);
  }
  for (const name of ["products", "scores", "weights"]) made[name] = packed(map(name), keys);
  made.open = packed(unmasked, keys);
  made.head_output = packed(own("concatenated"), d_k);
  for (const name of ["w_output", "b_output", "gamma", "beta"]) made[name] = packed(learned[name], d);
  return made;
}

const mapOf = (maps, head, queries, keys) => maps.subarray(head * queries * keys, (head + 1) * queries * keys);

function stepOf(name, before, { stages, view, words, fields }) {
  const step = words.steps[name], cross = view.kind === "cross", { symbols, memory } = words;
  const makes = name === "input" && cross ? [...step.makes, memory] : step.makes;
  const takes = words.takes[name] ?? (before ? words.steps[before].makes : []);
  const gaps = makes.map(({ array }) => stages.gaps[array.replace(/^head_/, "")]).filter((gap) => gap !== undefined);
  const named = (panel) => ({ ...panel, symbol: symbols[panel.array] });
  return {
    name, title: step.title, formula: filled(step.formula, fields), shape: shapeOf(makes, stages, symbols),
    why: filled(step.purpose, fields), see: FINDINGS[name]?.(stages, view) ?? "",
    gap: gaps.length ? Math.max(...gaps) : null,
    panels: makes.map(named),
    inputs: takes.filter(({ array }) => cross || array !== "memory").map(named),
  };
}

function fieldsOf({ heads, d_k }, view, { inputs, masks, no_mask: noMask }, x) {
  const cross = view.kind === "cross", when = (is, text) => (is ? text : "");
  const added = `${when(view.scaled, ", times √d_model")}${when(view.positioned, ", plus the positions")}`;
  const embeddings = `the embeddings${added}${when(view.normalised, ", after a LayerNorm")}`;
  return {
    inputs: cross ? "X, M" : "X",
    input: inputs[view.kind]
      ?? `One vector a token, a row: ${view.layer ? "the output of the layer below" : embeddings}.`,
    x, memory: cross ? "M" : x,
    head: view.head + 1, first: view.head * d_k + 1, last: (view.head + 1) * d_k,
    heads: heads > 1 ? `[O<sub>1</sub> … O<sub>${heads}</sub>]` : "O<sub>1</sub>",
    mask: masks[view.kind] ?? noMask,
  };
}

// The shape of what a step makes, each axis by its name; of several matrices, each shape by its letters.
function shapeOf(makes, { queries, keys, heads, d_k }, symbols) {
  const sizes = { queries, keys, model: heads * d_k, head: d_k }, names = { model: "d_model", head: "d_k" };
  const shapes = new Map();
  for (const { array, rows, columns: across } of makes) {
    const ofHeads = across === "model" ? [] : [["heads", heads]];
    const axes = [["batch", 1], ...ofHeads, ...[rows, across].map((axis) => [axis, sizes[axis]])];
    const text = axes.map(([axis, size]) => `${names[axis] ?? axis} ${size}`).join(" · ");
    shapes.set(text, [...(shapes.get(text) ?? []), symbols[array.replace(/^head_/, "")]]);
  }
  const told = ([text, letters]) => (makes.length > 1 ? `${letters.join(" and ")}: ${text}` : text);
  return [...shapes].map(told).join("; ");
}

// ---- what is to be seen in the numbers of this example ----

const sum = (values, of = (value) => value) => values.reduce((total, value) => total + of(value), 0);
const mean = (values) => sum(values) / values.length;
const norm = (row) => Math.sqrt(sum(row, (value) => value * value));
const placeOf = (values, better) => values.reduce((best, value, at) => (better(value, values[best]) ? at : best), 0);
const highest = (values) => placeOf(values, (one, other) => one > other);
const lowest = (values) => placeOf(values, (one, other) => one < other);
const query = ({ queries }, row) => quotedAt(queries, row, "query");
const key = ({ keys }, column) => quotedAt(keys, column, "key");

// The norms of an array's rows.
function norms(array, wide) {
  const rows = Array.from({ length: array.length / wide }, (_, row) => array.subarray(row * wide, (row + 1) * wide));
  return rows.map((row) => norm([...row]));
}

const wholeNorms = ({ whole, heads, d_k }, name) => norms(whole[name], heads * d_k);
const headNorms = ({ whole, heads, d_k }, name, head) => norms(columns(whole[name], heads * d_k, head * d_k, d_k), d_k);

function normalised(stages, before, after) {
  const [first, second] = [before, after].map((name) => wholeNorms(stages, name));
  const range = (values) => `${fixed(Math.min(...values), 1)} to ${fixed(Math.max(...values), 1)}`;
  return `Norms from ${range(first)} become norms from ${range(second)}.`;
}

function deviation(values) {
  const middle = mean(values);
  return Math.sqrt(sum(values, (value) => (value - middle) ** 2) / values.length);
}

const FINDINGS = {
  input(stages, view) {
    const found = wholeNorms(stages, "residual"), [high, low] = [highest(found), lowest(found)];
    const told = (row) => `${query(view, row)} (${fixed(found[row], 1)})`;
    return `The largest norm is that of ${told(high)}, the smallest that of ${told(low)}.`;
  },

  norm_first: (stages) => normalised(stages, "residual", "x"),

  split(stages, view) {
    const [q, k, v] = ["query", "key", "value"].map((name) => fixed(mean(headNorms(stages, name, view.head)), 1));
    return `Mean norms in head ${view.head + 1}: ${q} of a query, ${k} of a key, ${v} of a value.`;
  },

  products({ maps, queries, keys }, view) {
    const products = mapOf(maps.products, view.head, queries, keys);
    const told = (at) => {
      const names = `query ${query(view, Math.floor(at / keys))} and key ${key(view, at % keys)}`;
      return `${names} (${signed(products[at], 2)})`;
    };
    return `The largest product is that of ${told(highest(products))}, the smallest that of ${told(lowest(products))}.`;
  },

  scale({ maps, queries, keys, d_k }, view) {
    const [before, after] = ["products", "scores"].map((name) => {
      return fixed(deviation([...mapOf(maps[name], view.head, queries, keys)]), 2);
    });
    const root = `√${d_k} = ${fixed(Math.sqrt(d_k), 4)}`;
    return `${root}: the standard deviation is ${before} for this head's products, ${after} for its scores.`;
  },

  mask({ unmasked }) {
    const masked = unmasked.filter((open) => !open).length;
    if (!masked) return `None of the ${unmasked.length} cells is masked.`;
    return `Masked: ${masked} of ${unmasked.length} cells; their scores were computed, and are discarded.`;
  },

  softmax({ maps, unmasked, queries, keys }, view) {
    const weights = mapOf(maps.weights, view.head, queries, keys);
    const cut = (array, row) => [...array.subarray(row * keys, (row + 1) * keys)];
    const rows = Array.from({ length: queries }, (_, row) => row).filter((row) => sum(cut(unmasked, row)) > 1);
    if (!rows.length) return "No row has more than one unmasked key.";
    const entropy = (row) => -sum(cut(weights, row), (weight) => (weight > 0 ? weight * Math.log(weight) : 0));
    const entropies = rows.map(entropy), sharp = rows[lowest(entropies)], flat = rows[highest(entropies)];
    const values = cut(weights, sharp), most = highest(values);
    return (
      `Of the rows with more than one unmasked key, ${query(view, sharp)} has the lowest entropy ` +
      `(${fixed(values[most], 2)} on ${key(view, most)}), ${query(view, flat)} the highest: as if spread evenly over ` +
      `${fixed(Math.exp(Math.max(...entropies)), 1)} keys.`
    );
  },

  concatenate(stages, view) {
    const { heads } = stages, squares = (values) => sum(values, (value) => value * value);
    const whole = squares(wholeNorms(stages, "concatenated"));
    const own = squares(headNorms(stages, "concatenated", view.head));
    return (
      `Head ${view.head + 1} of ${heads} holds ${percent(whole ? own / whole : 0)} of the squared norm of O; an ` +
      `equal share would be ${percent(1 / heads)}.`
    );
  },

  residual(stages) {
    const names = ["residual", "output", "total"];
    const [before, added, after] = names.map((name) => fixed(mean(wholeNorms(stages, name)), 1));
    return `Mean norms: ${before} of the input, ${added} of what is added, ${after} of their sum.`;
  },

  norm_last: (stages) => normalised(stages, "total", "result"),
};

const AT_ONCE = 4096; // bytes that become letters in one call

// Float32Arrays one after the other, as lib/format.js reads them.
function base64(parts) {
  const letters = parts.flatMap((part) => {
    const bytes = new Uint8Array(part.buffer, part.byteOffset, part.byteLength);
    return Array.from({ length: Math.ceil(bytes.length / AT_ONCE) }, (_, run) => {
      return String.fromCharCode.apply(null, bytes.subarray(run * AT_ONCE, (run + 1) * AT_ONCE)); // faster than spread
    });
  });
  return btoa(letters.join(""));
}
