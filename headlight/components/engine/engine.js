// Headlight's encoder-decoder Transformer ("Attention Is All You Need") with a sentence's every attention weight. Ids
// in, logits and maps out: one sentence at a time, no dependency, and the loops allocate no arrays.
//
// It computes the model of transformer/model/*.py with the names of transformer/interpret; layers, heads,
// rows and columns count from 0. decoding.js chooses tokens with it, steps.js reads its logits.

import { bytesOf } from "./kernel.js";
import { outputSize, packedBytes, readModel } from "./weights.js";

export const KINDS = ["encoder", "decoder", "cross"];
const LOGIT_ROWS = 24; // whose logits are there at once
export const EPSILON = 1e-5; // of torch.nn.LayerNorm
export const stackOf = (kind) => (kind === "encoder" ? "encoder" : "decoder");

// The arrays that hold what is computed, each for as many rows as the longest sentence has, by name.
function rooms(config) {
  const { d_model: d, d_ff, max_length: length, num_decoder_layers: layers } = config;
  return {
    x: length * d,
    normed: length * d,
    projected: length * 3 * d,
    mixed: length * d,
    result: length * d,
    hiddenUnits: length * d_ff,
    memory: length * d,
    memoryKeys: layers * length * 2 * d, // of each layer keys and values side by side
    logits: LOGIT_ROWS * outputSize(config),
  };
}

// The memory that the kernel of this model needs.
export function kernelNeeds(header) {
  const { config } = header, floats = [outputSize(config), ...Object.values(rooms(config))]; // the first: no bias
  return { bytes: bytesOf(floats, [packedBytes(header)]), inputs: Math.max(config.d_model, config.d_ff) };
}

export class Engine {
  // header: `config` and `tensors` as transformer/exchange/int8.py writes them; bytes: its weights, a Uint8Array.
  constructor(header, bytes, kernel) {
    const { config } = header, { d_model: d, max_length: length, num_heads: heads } = config;
    this.packed = kernel.keep(bytes);
    Object.assign(this, { config, kernel, vocab: outputSize(config) }, readModel(header, this.packed, kernel));
    for (const [name, size] of Object.entries(rooms(config))) this[name] = kernel.allocate(size);
    const size = length * 2 * d;
    this.memoryKeys = this.decoder.map((_, at) => this.memoryKeys.subarray(at * size, (at + 1) * size));
    this.activate = ACTIVATIONS[config.activation];
    const { pad_id, begin_id, end_id } = config;
    this.never = [...new Set([pad_id, begin_id])].filter((id) => id !== end_id); // what decoding never chooses
    // Keys and values of the tokens fed so far, a slot each, by layer; a search has several translations in them.
    this.selfKeys = this.decoder.map(() => new Float32Array(0));
    this.reserve(length);
    const count = (kind) => this[stackOf(kind)].length * heads;
    const byKind = (make) => Object.fromEntries(KINDS.map((kind) => [kind, make(kind)]));
    // Maps of the sentence at hand; rows and columns at their places for the longest sentence.
    this.maps = byKind((kind) => new Float32Array(count(kind) * length * length));
    this.off = byKind((kind) => new Uint8Array(count(kind))); // heads whose result is zero
    this.nothingHidden = new Uint8Array(length);
    this.hidden = new Uint8Array(length); // source positions that no cross-attention reads
    this.scores = new Float64Array(length);
    this.sums = new Float64Array(d / heads);
    this.identity = Int32Array.from({ length }, (_, at) => at);
    this.run = 0; // how many sentences were begun
    this.sourceLength = 0;
  }

  // Room for the keys of so many tokens.
  reserve(slots) {
    const size = slots * 2 * this.config.d_model;
    if (this.selfKeys[0].length < size) this.selfKeys = this.selfKeys.map(() => new Float32Array(size));
  }

  // Begin a sentence: ids with the end of sentence. off: addresses of heads, "cross.3.5", whose result is zero from
  // now on; hidden: source positions that no head of cross-attention may read. Throws RangeError for a head or a
  // position that is not there.
  begin(source, { off = [], hidden = [] } = {}) {
    const { max_length: length } = this.config;
    if (!(source.length > 0 && source.length <= length)) throw new RangeError(`a source has 1 to ${length} ids`);
    this.turnOff(off);
    this.hidden.fill(0);
    for (const position of hidden) {
      if (!(position >= 0 && position < source.length)) throw new RangeError(`no source position ${position}`);
      this.hidden[position] = 1;
    }
    this.run++;
    // Runs over one sentence mostly change only what its decoder does.
    const encoded = `${source} ${this.off.encoder}`;
    if (encoded !== this.encoded) this.encode(source);
    this.encoded = encoded;
  }

  // Take addresses of the heads whose result is zero, counted from 1: "encoder.1.4".
  turnOff(heads) {
    const { num_heads } = this.config;
    KINDS.forEach((kind) => this.off[kind].fill(0));
    for (const each of heads) {
      const [kind, ...numbers] = each.split("."), [layer, head] = numbers.map((number) => number - 1);
      const at = layer * num_heads + head, isThere = layer >= 0 && head >= 0 && head < num_heads;
      if (!isThere || !(at < this.off[kind]?.length)) throw new RangeError(`no head ${each}`);
      this.off[kind][at] = 1;
    }
  }

  // noted(kind, layer) is called in each attention, once its heads are in `mixed`, `x` still being what it read.
  encode(source, noted) {
    this.sourceLength = source.length;
    this.embed("encoder", source, this.identity);
    this.runEncoder({ ...this.copies(1, source.length), places: this.identity }, { noted });
  }

  // The plan for `attend` with copies of a sentence of so many rows.
  copies(count, rows) {
    const slots = Array.from({ length: count }, (_, copy) => this.identity.map((at) => copy * rows + at));
    const each = Array.from({ length: count * rows }, (_, row) => slots[Math.floor(row / rows)]);
    return { rows: count * rows, counts: new Int32Array(count * rows).fill(rows), slots: each, places: null };
  }

  // All layers, their input in `x`; or from an attention on with `replaced` heads, { kind, layer, fill(mixed) }, whose
  // input is in `x`.
  runEncoder(plan, { replaced, noted } = {}) {
    const { d_model: d } = this.config, { length } = this.encoder, { rows } = plan;
    for (let number = replaced?.layer ?? 0; number < length; number++) {
      const layer = this.encoder[number], { attention } = layer;
      this.attention("encoder", number, layer.attentionNorm, attention.output, rows, { replaced, noted }, (x) => {
        this.kernel.multiply(x, rows, attention.all, this.projected);
        this.attend("encoder", number, 3 * d, this.projected, 3 * d, d, plan, this.nothingHidden);
      });
      this.feedForward(layer, rows);
    }
    this.memory.set(this.x.subarray(0, rows * d));
    if (this.lastNorms.encoder) normalize(this.memory, this.memory, rows, d, this.lastNorms.encoder);
    this.decoder.forEach(({ cross }, number) => {
      this.kernel.multiply(this.memory, rows, cross.keyValue, this.memoryKeys[number]);
    });
  }

  // Feed the decoder its newest tokens, of which the first stands at `start`; their vectors are in `x` then.
  advance(ids, start, noted) {
    const places = Int32Array.from(ids, (_, row) => start + row), counts = places.map((place) => place + 1);
    const selfPlan = { rows: ids.length, counts, slots: Array(ids.length).fill(this.identity), places };
    this.embed("decoder", ids, places);
    this.runDecoder({ selfPlan, at: places, read: this.readMemory(ids.length, places) }, { noted });
  }

  // Feed several translations under way a token each, all at one position. paths: the slots of each one's tokens, the
  // newest one's own slot last. Maps are not kept but, where they are watched, the cross-attention's rows, a path each.
  advancePaths(ids, position, paths, isWatched = false) {
    const rows = ids.length, all = (value) => new Int32Array(rows).fill(value);
    const at = Int32Array.from(paths, (path) => path[position]);
    this.embed("decoder", ids, all(position));
    const selfPlan = { rows, counts: all(position + 1), slots: paths, places: null };
    this.runDecoder({ selfPlan, at, read: this.readMemory(rows, isWatched ? this.identity : null) });
  }

  // Every row reads the one memory.
  readMemory(rows, places) {
    const counts = new Int32Array(rows).fill(this.sourceLength);
    return { rows, counts, slots: Array(rows).fill(this.identity), places };
  }

  // own: how rows read what was fed, `at` which slots theirs are, read: how they read the memory; else as `runEncoder`.
  runDecoder({ selfPlan, at, read }, { replaced, noted } = {}) {
    const { d_model: d } = this.config, { rows } = selfPlan;
    for (let number = replaced?.layer ?? 0; number < this.decoder.length; number++) {
      const layer = this.decoder[number], keys = this.selfKeys[number], changes = { replaced, noted };
      if (replaced?.kind !== "cross" || replaced.layer !== number) {
        this.attention("decoder", number, layer.attentionNorm, layer.attention.output, rows, changes, (x) => {
          this.kernel.multiply(x, rows, layer.attention.all, this.projected);
          for (let row = 0; row < rows; row++) {
            keys.set(this.projected.subarray((3 * row + 1) * d, (3 * row + 3) * d), at[row] * 2 * d);
          }
          this.attend("decoder", number, 3 * d, keys, 2 * d, 0, selfPlan, this.nothingHidden);
        });
      }
      this.attention("cross", number, layer.crossNorm, layer.cross.output, rows, changes, (x) => {
        this.kernel.multiply(x, rows, layer.cross.query, this.projected);
        this.attend("cross", number, d, this.memoryKeys[number], 2 * d, 0, read, this.hidden);
      });
      this.feedForward(layer, rows);
    }
    if (this.lastNorms.decoder) normalize(this.x, this.x, rows, d, this.lastNorms.decoder);
  }

  // One attention and the residual connection around it; heads(x) fills `mixed`, unless they are `replaced`.
  attention(kind, layer, norm, output, rows, { replaced, noted }, heads) {
    this.residual(norm, rows, (x) => {
      if (replaced?.kind === kind && replaced.layer === layer) replaced.fill(this.mixed);
      else heads(x);
      noted?.(kind, layer);
      this.kernel.multiply(this.mixed, rows, output, this.result);
    });
  }

  // Token embeddings plus positions, into `x`.
  embed(stack, ids, places) {
    const { d_model: d, scale_embeddings } = this.config, scale = scale_embeddings ? Math.sqrt(d) : 1, { x } = this;
    const { weight, scales } = this.embeddings[stack], positions = this.positions[stack];
    ids.forEach((id, row) => {
      const factor = scales[id] * scale;
      for (let i = 0; i < d; i++) x[row * d + i] = weight[id * d + i] * factor + positions[places[row] * d + i];
    });
    if (this.firstNorms[stack]) normalize(x, x, ids.length, d, this.firstNorms[stack]);
  }

  // x + sublayer(x) with LayerNorm after the sum (paper, 5.4), or before all ("pre"); the sub-layer fills `result`.
  residual(norm, rows, sublayer) {
    const { x, normed, result } = this, { d_model: d } = this.config, isPre = this.config.norm === "pre";
    if (isPre) normalize(x, normed, rows, d, norm);
    sublayer(isPre ? normed : x);
    for (let i = 0; i < rows * d; i++) x[i] += result[i];
    if (!isPre) normalize(x, x, rows, d, norm);
  }

  feedForward(layer, rows) {
    this.residual(layer.forwardNorm, rows, (x) => {
      this.kernel.multiply(x, rows, layer.inner, this.hiddenUnits);
      this.activate(this.hiddenUnits, rows * layer.inner.outputs);
      this.kernel.multiply(this.hiddenUnits, rows, layer.outer, this.result);
    });
  }

  // softmax(Q K^T / sqrt(d_k)) V of every head into `mixed` (paper, eq. 1), its weights into the kind's maps.
  //
  // Queries are the first d_model columns of `projected`. Key j of a row stands at slots[row][j] * stride + first in
  // `keys`, its value d_model behind it; counts[row] says how many there are, places[row] in which row of a map their
  // weights are kept, where they are. hidden: keys that get no weight; a row with no other key is all 0.
  attend(kind, layer, queryStride, keys, stride, first, { rows, counts, slots, places }, hidden) {
    const { num_heads: heads, d_model: d, max_length: length } = this.config, { projected, mixed, scores, sums } = this;
    const width = d / heads, scale = 1 / Math.sqrt(width), map = this.maps[kind], off = this.off[kind];
    for (let row = 0; row < rows; row++) {
      const count = counts[row], slot = slots[row];
      for (let head = 0; head < heads; head++) {
        const query = row * queryStride + head * width, key = first + head * width, out = row * d + head * width;
        let peak = -Infinity, sum = 0;
        for (let j = 0; j < count; j++) {
          const score = hidden[j] ? -Infinity : dot(projected, query, keys, slot[j] * stride + key, width) * scale;
          scores[j] = score;
          if (score > peak) peak = score;
        }
        if (peak === -Infinity) scores.fill(0, 0, count);
        else for (let j = 0; j < count; j++) sum += scores[j] = Math.exp(scores[j] - peak);
        const share = sum ? 1 / sum : 0;
        for (let j = 0; j < count; j++) scores[j] *= share;
        if (places) {
          const place = ((layer * heads + head) * length + places[row]) * length;
          for (let j = 0; j < count; j++) map[place + j] = scores[j];
        }
        sums.fill(0);
        for (let j = 0; j < count && !off[layer * heads + head]; j++) {
          const weight = scores[j], value = slot[j] * stride + key + d;
          for (let i = 0; i < width; i++) sums[i] += weight * keys[value + i];
        }
        for (let i = 0; i < width; i++) mixed[out + i] = sums[i];
      }
    }
  }

  // Compute the logits of the first rows of `x` and call read(row, where its logits begin in `logits`) for each.
  eachLogits(rows, read) {
    const { config, x, logits, output, vocab } = this;
    for (let from = 0; from < rows; from += LOGIT_ROWS) {
      const some = Math.min(LOGIT_ROWS, rows - from);
      this.kernel.multiply(x.subarray(from * config.d_model), some, output, logits);
      for (let row = 0; row < some; row++) read(from + row, row * vocab);
    }
  }

  // A row of a head's map, in an array of its own; throws RangeError for a head that is not there.
  rowOf(kind, { layer, head }, row) {
    const { num_heads: heads, max_length: length } = this.config, keys = this.sourceLength;
    if (!(head < heads && layer < this[stackOf(kind)].length)) throw new RangeError(`no head ${kind}.${layer}.${head}`);
    const from = ((layer * heads + head) * length + row) * length;
    return this.maps[kind].slice(from, from + keys);
  }

  // The maps of a kind for a translation of so many tokens: { shape: [layers, heads, queries, keys], weights }, in an
  // array of its own; cells under the causal mask are 0.
  mapsOf(kind, target) {
    const { num_heads: heads, max_length: length } = this.config, layers = this[stackOf(kind)].length;
    const queries = kind === "encoder" ? this.sourceLength : target;
    const keys = kind === "decoder" ? target : this.sourceLength;
    const weights = new Float32Array(layers * heads * queries * keys), map = this.maps[kind];
    for (let place = 0, at = 0; place < layers * heads; place++) {
      for (let query = 0; query < queries; query++, at += keys) {
        const from = (place * length + query) * length, count = kind === "decoder" ? query + 1 : keys;
        weights.set(map.subarray(from, from + count), at);
      }
    }
    return { shape: [layers, heads, queries, keys], weights };
  }
}

function dot(a, from, b, at, width) {
  let p = 0, q = 0, r = 0, s = 0, i = 0; // four sums, for one would wait for itself
  for (; i + 3 < width; i += 4) {
    p += a[from + i] * b[at + i];
    q += a[from + i + 1] * b[at + i + 1];
    r += a[from + i + 2] * b[at + i + 2];
    s += a[from + i + 3] * b[at + i + 3];
  }
  for (; i < width; i++) p += a[from + i] * b[at + i];
  return p + q + r + s;
}

// LayerNorm of each row, x to y, which may be the same.
function normalize(x, y, rows, d, { gain, bias }) {
  for (let row = 0; row < rows; row++) {
    const at = row * d;
    let sum = 0, squares = 0;
    for (let i = 0; i < d; i++) sum += x[at + i];
    const mean = sum / d;
    for (let i = 0; i < d; i++) squares += (x[at + i] - mean) ** 2;
    const scale = 1 / Math.sqrt(squares / d + EPSILON);
    for (let i = 0; i < d; i++) y[at + i] = (x[at + i] - mean) * scale * gain[i] + bias[i];
  }
}

// Activation functions of the feed-forward, in place.
const ACTIVATIONS = {
  relu(units, count) {
    for (let i = 0; i < count; i++) if (units[i] < 0) units[i] = 0;
  },
  gelu(units, count) {
    for (let i = 0; i < count; i++) units[i] *= 0.5 * (1 + erf(units[i] * Math.SQRT1_2));
  },
  silu(units, count) {
    for (let i = 0; i < count; i++) units[i] /= 1 + Math.exp(-units[i]);
  },
};

// The error function, within 1.2e-7 (Press et al., Numerical Recipes, 6.2).
const ERF = [
  -1.26551223, 1.00002368, 0.37409196, 0.09678418, -0.18628806, 0.27886807, -1.13520398, 1.48851587, -0.82215223,
  0.17087277,
];

function erf(x) {
  const t = 1 / (1 + Math.abs(x) / 2);
  let sum = 0;
  for (let i = ERF.length - 1; i >= 0; i--) sum = sum * t + ERF[i];
  const rest = t * Math.exp(-x * x + sum);
  return x < 0 ? rest - 1 : 1 - rest;
}
