// One head of an attention block, stage by stage, and its parameters: see `Stages` and `BlockParameters` of
// transformer/interpret/attention_block.py.

import { EPSILON, stackOf } from "./engine.js";
import { replay } from "./decoding.js";
import { outputsOf } from "./weights.js";

const PARTS = ["query", "key", "value"];

// Record a head in the pass over a translation, ids: the facts of attention_steps/story.js without the tokens.
export function recordStages(engine, source, target, { kind, layer, head }) {
  const { config } = engine, { d_model: d, num_heads: heads, norm: place } = config, headSize = d / heads;
  const owner = engine[stackOf(kind)]?.[layer];
  if (!owner || !(head >= 0 && head < heads)) throw new RangeError(`no head ${kind}.${layer}.${head}`);
  const block = kind === "cross" ? owner.cross : owner.attention;
  const norm = kind === "cross" ? owner.crossNorm : owner.attentionNorm;
  const whole = recordPass(engine, norm, [source, target], kind, layer);
  const stages = withMaps(engine, whole, kind, layer, target.length)
  const parameters = { norm, isPre: place === "pre", heads };
  PARTS.forEach((name, at) => (parameters[name] = matrixOf(outputsOf(block.all, at * d, (at + 1) * d))));
  parameters.output = matrixOf(block.output);
  const computed = compute(stages, parameters, kind === "cross");
  const { scale_embeddings: scaled, positions, embedding_norm: normalised } = config;
  return {
    kind, layer, head, sentence: 0, batch: 1, heads, headSize, toy: false, norm: place, normType: "layer",
    epsilon: EPSILON, divided: true, embedding: { scaled, positioned: positions !== "none", normalised },
    gaps: differences(stages, computed),
    arrays: { ...arraysOf(stages, head), ...parametersOf(parameters, head, headSize) },
  };
}

const matrix = (weights, width) => ({ shape: [weights.length / width, width], weights });

// The stages of one sentence, of the head alone where they have maps.
function arraysOf({ whole, maps, unmasked, queries, keys }, head) {
  const cells = queries * keys, arrays = { unmasked: matrix(unmasked, keys) };
  for (const [name, values] of Object.entries(whole)) {
    arrays[name] = matrix(values, whole.residual.length / queries);
  }
  for (const [name, values] of Object.entries(maps)) {
    arrays[name] = matrix(values.slice(head * cells, (head + 1) * cells), keys);
  }
  return arrays;
}

// Run the pass over a translation to its end with methods in place of the engine's.
export function watched(engine, source, target, methods) {
  engine.encoded = null; // so that the encoder is run, whatever was run before
  Object.assign(engine, methods);
  try {
    for (const pass = replay(engine, source, target); !pass.next().done;);
  } finally {
    for (const name of Object.keys(methods)) delete engine[name]; // to restore that of the class
  }
}

// Run a pass to its end and record input and output of the residual connection with this norm.
function recordPass(engine, norm, pass, kind, layer) {
  const { d_model: d } = engine.config, recorded = {}, { residual } = engine;
  const record = (each, rows, sublayer) => {
    if (each !== norm) return residual.call(engine, each, rows, sublayer);
    const rowsOf = (array, stride, first, count = rows) => columns(array, count, stride, first, d);
    recorded.residual = rowsOf(engine.x, d, 0);
    residual.call(engine, each, rows, (x) => {
      recorded.x = rowsOf(x, d, 0);
      sublayer(x);
      const isCross = kind === "cross", keys = isCross ? engine.memoryKeys[layer] : engine.projected;
      const [stride, first] = isCross ? [2 * d, 0] : [3 * d, d], count = isCross ? engine.sourceLength : rows;
      recorded.query = rowsOf(engine.projected, isCross ? d : 3 * d, 0);
      recorded.key = rowsOf(keys, stride, first, count);
      recorded.value = rowsOf(keys, stride, first + d, count);
      recorded.memory = isCross ? rowsOf(engine.memory, d, 0, count) : recorded.x;
      recorded.concatenated = rowsOf(engine.mixed, d, 0);
      recorded.output = rowsOf(engine.result, d, 0);
    });
    recorded.total = recorded.residual.map((value, at) => value + recorded.output[at]);
    recorded.result = rowsOf(engine.x, d, 0);
  };
  watched(engine, ...pass, { residual: record });
  return recorded;
}

// Some columns of an array of rows: [count, width].
function columns(array, count, stride, first, width) {
  const result = new Float32Array(count * width);
  for (let row = 0; row < count; row++) {
    const from = row * stride + first;
    result.set(array.subarray(from, from + width), row * width);
  }
  return result;
}

function withMaps(engine, whole, kind, layer, target) {
  const { weights: all, shape: [, heads, queries, keys] } = engine.mapsOf(kind, target);
  const cells = heads * queries * keys, weights = all.slice(layer * cells, (layer + 1) * cells);
  const products = Float32Array.from(productsOf(whole.query, whole.key, heads, queries, keys));
  const root = Math.sqrt(engine.config.d_model / heads), scores = products.map((value) => value / root);
  const unmasked = Uint8Array.from({ length: queries * keys }, (_, at) => {
    return Number(kind !== "decoder" || at % keys <= Math.floor(at / keys));
  });
  return { whole, maps: { products, scores, weights }, unmasked, queries, keys };
}

// Q K^T of each head: [heads, queries, keys].
function productsOf(query, key, heads, queries, keys) {
  const d = query.length / queries, width = d / heads, result = new Float64Array(heads * queries * keys);
  for (let at = 0; at < result.length; at++) {
    const j = at % keys, i = Math.floor(at / keys) % queries, first = Math.floor(at / (queries * keys)) * width;
    for (let c = first; c < first + width; c++) result[at] += query[i * d + c] * key[j * d + c];
  }
  return result;
}

// A linear map as X W + b: W is [inputs, outputs].
function matrixOf({ weight, scales, bias, inputs, outputs }) {
  const w = new Float32Array(inputs * outputs);
  for (let row = 0; row < outputs; row++) {
    for (let i = 0; i < inputs; i++) w[i * outputs + row] = weight[row * inputs + i] * scales[row];
  }
  return { w, b: Float32Array.from(bias), outputs };
}

function parametersOf({ output, norm, ...projections }, head, width) {
  const row = (values) => matrix(Float32Array.from(values), values.length), first = head * width;
  const recorded = { wOutput: matrix(output.w, output.outputs), bOutput: row(output.b) };
  for (const name of PARTS) {
    const { w, b, outputs } = projections[name], suffix = name[0].toUpperCase() + name.slice(1);
    recorded[`w${suffix}`] = matrix(columns(w, outputs, outputs, first, width), width);
    recorded[`b${suffix}`] = row(b.slice(first, first + width));
  }
  return { ...recorded, gamma: row(norm.gain), beta: row(norm.bias) };
}

// All stages in double precision, from what comes in (paper, eq. 1, 3.2.2 and 5.4).
function compute({ whole: { residual, memory }, unmasked, queries, keys }, parameters, isCross) {
  const { isPre, norm, heads } = parameters, d = residual.length / queries;
  const x = isPre ? normalised(residual, d, norm) : Float64Array.from(residual);
  const from = isCross ? memory : x, project = (input, name) => projected(input, d, parameters[name]);
  const query = project(x, "query"), key = project(from, "key"), value = project(from, "value");
  const products = productsOf(query, key, heads, queries, keys);
  const scores = products.map((each) => each / Math.sqrt(d / heads));
  const weights = softmax(scores, unmasked, keys);
  const concatenated = mix(weights, value, heads, queries, keys, d), output = project(concatenated, "output");
  const total = output.map((each, at) => residual[at] + each), result = isPre ? total : normalised(total, d, norm);
  const whole = { residual, x, memory: from, query, key, value, concatenated, output, total, result };
  return { whole, maps: { products, scores, weights } };
}

function projected(input, d, { w, b, outputs }) {
  const rows = input.length / d, result = new Float64Array(rows * outputs);
  for (let row = 0; row < rows; row++) {
    const to = row * outputs;
    for (let i = 0; i < d; i++) {
      const value = input[row * d + i], from = i * outputs;
      for (let o = 0; o < outputs; o++) result[to + o] += value * w[from + o];
    }
    for (let o = 0; o < outputs; o++) result[to + o] += b[o];
  }
  return result;
}

function softmax(scores, unmasked, keys) {
  const result = new Float64Array(scores.length);
  for (let from = 0; from < scores.length; from += keys) {
    const open = (key) => unmasked[(from + key) % unmasked.length];
    let peak = -Infinity, sum = 0;
    for (let key = 0; key < keys; key++) if (open(key)) peak = Math.max(peak, scores[from + key]);
    for (let key = 0; key < keys; key++) if (open(key)) sum += result[from + key] = Math.exp(scores[from + key] - peak);
    for (let key = 0; key < keys; key++) result[from + key] /= sum;
  }
  return result;
}

// Weights times values, head after head: [queries, d_model].
function mix(weights, value, heads, queries, keys, d) {
  const result = new Float64Array(queries * d), width = d / heads;
  for (let head = 0; head < heads; head++) {
    for (let row = 0; row < queries; row++) {
      for (let key = 0; key < keys; key++) {
        const weight = weights[(head * queries + row) * keys + key];
        for (let c = head * width; c < (head + 1) * width; c++) result[row * d + c] += weight * value[key * d + c];
      }
    }
  }
  return result;
}

function normalised(x, d, { gain, bias }) {
  const result = new Float64Array(x.length);
  for (let from = 0; from < x.length; from += d) {
    const row = x.subarray(from, from + d), mean = row.reduce((sum, value) => sum + value, 0) / d;
    const deviation = Math.sqrt(row.reduce((sum, value) => sum + (value - mean) ** 2, 0) / d + EPSILON);
    row.forEach((value, i) => (result[from + i] = ((value - mean) / deviation) * gain[i] + bias[i]));
  }
  return result;
}

function differences(stages, computed) {
  const largest = (one, other) => one.reduce((most, value, at) => Math.max(most, Math.abs(value - other[at])), 0);
  const all = ["whole", "maps"].flatMap((part) => Object.entries(stages[part]).map(([name, values]) => {
    return [name, largest(values, computed[part][name])];
  }));
  return Object.fromEntries(all);
}
