// Headlight's encoder-decoder Transformer ("Attention Is All You Need") with a translation's every attention weight:
// ids in; ids, probabilities and maps out. No dependency, one sentence at a time; the loops allocate no arrays.
//
//   const engine = new Engine(header, bytes, plainKernel());
//   const trace = engine.translate(sourceIds, { prefix: [], off: ["cross.2.4"] });
//   trace.cross.weights[...]  // [layers, heads, fed, source], as `Translator.trace` of transformer/translator.py
//
// Names are those of transformer/interpret/trace.py; layers, heads, rows and columns count from 0. What is computed is
// what transformer/model/*.py says; the cached step is the teacher-forced pass for the newest rows.

export const KINDS = ["encoder", "decoder", "cross"];
const CANDIDATES = 10;
const LENGTH_MARGIN = 50; // a translation may have this many tokens more than its source (paper, 6.1)
const LOGIT_ROWS = 8; // whose logits are there at once
const EPSILON = 1e-5; // of torch.nn.LayerNorm

// Floats that an engine of this model allocates, for a kernel that has to know.
export function floatsNeeded({ config, tensors }) {
  const { d_model: d, d_ff, vocab_size: vocab, max_length: length, num_decoder_layers: layers } = config;
  const weights = tensors.reduce((sum, { shape }) => sum + shape.reduce((a, b) => a * b, 1) + 4, 0);
  return weights + length * (8 * d + d_ff + 4 * layers * d) + (LOGIT_ROWS + 1) * vocab + 1024;
}

// Weights by name, each int8 matrix multiplied by its rows' scales, once.
function readTensors({ tensors }, bytes, kernel) {
  const floats = (offset, length) => new Float32Array(bytes.slice(offset, offset + 4 * length).buffer);
  const found = {};
  for (const { name, shape, offset, scales } of tensors) {
    const length = shape.reduce((a, b) => a * b, 1), values = kernel.allocate(length);
    found[name] = values;
    if (scales === undefined) {
      values.set(floats(offset, length));
      continue;
    }
    const whole = new Int8Array(bytes.buffer, bytes.byteOffset + offset, length), columns = shape[1];
    const scale = floats(scales, shape[0]);
    for (let row = 0, at = 0; row < shape[0]; row++) {
      for (const end = at + columns; at < end; at++) values[at] = whole[at] * scale[row];
    }
  }
  return found;
}

export class Engine {
  // header: `config` and `tensors` as transformer/exchange/int8.py writes them; bytes: its weights, a Uint8Array.
  constructor(header, bytes, kernel) {
    const { config } = header, tensors = readTensors(header, bytes, kernel);
    Object.assign(this, { config, kernel });
    const { d_model: d, d_ff, vocab_size: vocab, max_length: length } = config;
    this.zeros = kernel.allocate(vocab);
    this.embedding = tensors["source_embedding.embedding.weight"]; // of both sides, and of the output projection
    this.output = { weight: this.embedding, bias: this.zeros, outputs: vocab, inputs: d };
    this.positions = sinusoids(length, d, config);
    const layers = (stack, count) => Array.from({ length: count }, (_, at) => readLayer(tensors, stack, at));
    this.encoder = layers("encoder", config.num_encoder_layers);
    this.decoder = layers("decoder", config.num_decoder_layers);
    this.norms = { encoder: readNorm(tensors, "encoder_norm"), decoder: readNorm(tensors, "decoder_norm") };
    // What is computed, each [rows, width] for at most `length` rows.
    const room = (width) => kernel.allocate(length * width);
    this.x = room(d);
    this.normed = room(d);
    this.projected = room(3 * d);
    this.mixed = room(d);
    this.result = room(d);
    this.hidden = room(d_ff);
    this.memory = room(d);
    this.caches = this.decoder.map(() => ({ own: room(2 * d), memory: room(2 * d) })); // keys and values side by side
    this.logits = kernel.allocate(LOGIT_ROWS * vocab);
    // Maps of the sentence at hand; rows and columns at their places for the longest sentence.
    const maps = (count) => new Float32Array(count * config.num_heads * length * length);
    const counts = [this.encoder.length, this.decoder.length, this.decoder.length];
    this.maps = Object.fromEntries(KINDS.map((kind, at) => [kind, maps(counts[at])]));
    this.scores = new Float32Array(length);
    this.best = { ids: new Int32Array(CANDIDATES), logits: new Float64Array(CANDIDATES) };
    this.turnOff([]);
  }

  // The heads whose result is zero from now on: "encoder.0.3" as in Python's "zero:encoder.0.3".
  turnOff(heads) {
    const { num_heads } = this.config, count = { encoder: this.encoder.length, decoder: this.decoder.length };
    this.off = Object.fromEntries(
      KINDS.map((kind) => [kind, new Uint8Array((count[kind] ?? count.decoder) * num_heads)]),
    );
    for (const each of heads) {
      const [kind, layer, head] = each.split("."), at = layer * num_heads + Number(head);
      if (!(at < this.off[kind]?.length && head < num_heads)) throw new RangeError(`no head ${each}`);
      this.off[kind][at] = 1;
    }
  }

  // Greedy decoding; the translation begins with the ids in `prefix`. source: ids with the end of sentence.
  translate(source, { prefix = [], off = [] } = {}) {
    const { begin_id, end_id, max_length } = this.config;
    const limit = Math.min(source.length + LENGTH_MARGIN, max_length);
    if (prefix.length >= limit) throw new RangeError("the prefix is as long as its translation may become");
    this.turnOff(off);
    this.encode(source);
    const steps = new Steps(limit), next = [];
    for (let token = begin_id; next.length < limit && token !== end_id; ) {
      this.advance([token], next.length);
      this.project(0, 1);
      token = this.readStep(0, steps, next.length, prefix[next.length]);
      next.push(token);
    }
    return this.trace(source, next, steps);
  }

  // The teacher-forced pass over a translation that is given, end of sentence included.
  force(source, target, { off = [] } = {}) {
    this.turnOff(off);
    this.encode(source);
    this.advance([this.config.begin_id, ...target.slice(0, -1)], 0);
    const steps = new Steps(target.length);
    this.eachLogits(target.length, (row, at) => this.readStep(at, steps, row, target[row]));
    return this.trace(source, target, steps);
  }

  // What each token of a translation loses in log P without each head, one after the other; yields after each, so that
  // a page stays alive: {head: "cross.2.4", losses: [target], turned: whether greedy decoding leaves the translation}.
  *headLosses(source, target) {
    const { begin_id, num_heads, d_model: d } = this.config, rows = target.length;
    const fed = [begin_id, ...target.slice(0, -1)], inputs = { encoder: [], decoder: [] };
    this.turnOff([]);
    this.encode(source, (layer) => (inputs.encoder[layer] = this.x.slice(0, source.length * d)));
    const { run } = this;
    this.advance(fed, 0, (layer) => (inputs.decoder[layer] = this.x.slice(0, rows * d)));
    const before = this.logChances(target).losses;
    // The encoder last, for it changes the memory. Caches need no repair: a run begins at its head's layer and computes
    // those from there on anew.
    for (const kind of ["decoder", "cross", "encoder"]) {
      const stack = kind === "encoder" ? kind : "decoder";
      for (let layer = 0; layer < this[stack].length; layer++) {
        for (let head = 0; head < num_heads; head++) {
          this.off[kind][layer * num_heads + head] = 1;
          this.x.set(inputs[stack][layer]); // below its own layer a head changes nothing
          if (kind === "encoder") {
            this.runEncoder(source.length, layer);
            this.x.set(inputs.decoder[0]);
          }
          this.runDecoder(rows, 0, source.length, kind === "encoder" ? 0 : layer);
          this.off[kind][layer * num_heads + head] = 0;
          const { losses, turned } = this.logChances(target);
          yield { head: `${kind}.${layer}.${head}`, losses: losses.map((each, at) => before[at] - each), turned };
          if (this.run !== run) return; // another sentence has begun in the meantime
        }
      }
    }
  }

  // ---- the model ----

  encode(source, seen) {
    this.run = (this.run ?? 0) + 1;
    this.embed(source, 0);
    this.runEncoder(source.length, 0, seen);
  }

  runEncoder(rows, from, seen) {
    const { d_model: d } = this.config, { length } = this.encoder;
    for (let number = from; number < length; number++) {
      const layer = this.encoder[number], { attention } = layer;
      seen?.(number);
      this.residual(layer.attentionNorm, rows, (x) => {
        this.linear(x, rows, attention.all, this.projected);
        const keys = { array: this.projected, stride: 3 * d, key: d, value: 2 * d, count: rows };
        this.attend("encoder", number, this.projected, 3 * d, keys, rows, 0, false);
        this.linear(this.mixed, rows, attention.output, this.result);
      });
      this.feedForward(layer, rows);
    }
    this.memory.set(this.x.subarray(0, rows * d));
    if (this.norms.encoder) normalize(this.memory, this.memory, rows, d, this.norms.encoder);
    this.decoder.forEach(({ cross }, at) => this.linear(this.memory, rows, cross.keyValue, this.caches[at].memory));
    this.sourceLength = rows;
  }

  // Feed the decoder its newest tokens, of which the first stands at `start`.
  advance(ids, start, seen) {
    this.embed(ids, start);
    this.runDecoder(ids.length, start, this.sourceLength, 0, seen);
  }

  runDecoder(rows, start, source, from, seen) {
    const { d_model: d } = this.config;
    for (let number = from; number < this.decoder.length; number++) {
      const layer = this.decoder[number], cache = this.caches[number];
      const own = { array: cache.own, stride: 2 * d, key: 0, value: d, count: start + rows };
      const memory = { array: cache.memory, stride: 2 * d, key: 0, value: d, count: source };
      seen?.(number);
      this.residual(layer.attentionNorm, rows, (x) => {
        this.linear(x, rows, layer.attention.query, this.projected);
        this.linear(x, rows, layer.attention.keyValue, cache.own.subarray(start * 2 * d));
        this.attend("decoder", number, this.projected, d, own, rows, start, true);
        this.linear(this.mixed, rows, layer.attention.output, this.result);
      });
      this.residual(layer.crossNorm, rows, (x) => {
        this.linear(x, rows, layer.cross.query, this.projected);
        this.attend("cross", number, this.projected, d, memory, rows, start, false);
        this.linear(this.mixed, rows, layer.cross.output, this.result);
      });
      this.feedForward(layer, rows);
    }
    if (this.norms.decoder) normalize(this.x, this.x, rows, d, this.norms.decoder);
  }

  embed(ids, start) {
    const { d_model: d, scale_embeddings } = this.config, scale = scale_embeddings ? Math.sqrt(d) : 1;
    const { x, embedding, positions } = this;
    ids.forEach((id, row) => {
      for (let i = 0; i < d; i++) x[row * d + i] = embedding[id * d + i] * scale + positions[(start + row) * d + i];
    });
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
      this.linear(x, rows, layer.inner, this.hidden);
      const { hidden } = this, count = rows * layer.inner.outputs;
      for (let i = 0; i < count; i++) if (hidden[i] < 0) hidden[i] = 0;
      this.linear(hidden, rows, layer.outer, this.result);
    });
  }

  // softmax(Q K^T / sqrt(d_k)) V of every head into `mixed`, its weights into the kind's maps (paper, eq. 1).
  attend(kind, layer, query, queryStride, keys, rows, start, isCausal) {
    const { num_heads: heads, d_model: d, max_length: length } = this.config, { mixed, scores } = this;
    const { array, stride } = keys, width = d / heads, scale = 1 / Math.sqrt(width);
    const map = this.maps[kind], off = this.off[kind];
    for (let head = 0; head < heads; head++) {
      const isOff = off[layer * heads + head], first = head * width;
      for (let row = 0; row < rows; row++) {
        const count = isCausal ? start + row + 1 : keys.count, q = row * queryStride + first, out = row * d + first;
        let peak = -Infinity, sum = 0;
        for (let key = 0; key < count; key++) {
          const k = key * stride + keys.key + first;
          let a = 0, b = 0;
          for (let i = 0; i < width; i += 2) {
            a += query[q + i] * array[k + i];
            b += query[q + i + 1] * array[k + i + 1];
          }
          const score = (a + b) * scale;
          scores[key] = score;
          if (score > peak) peak = score;
        }
        for (let key = 0; key < count; key++) sum += scores[key] = Math.exp(scores[key] - peak);
        const at = ((layer * heads + head) * length + start + row) * length;
        for (let i = 0; i < width; i++) mixed[out + i] = 0;
        for (let key = 0; key < count; key++) {
          const weight = scores[key] / sum, v = key * stride + keys.value + first;
          map[at + key] = weight;
          if (isOff) continue;
          for (let i = 0; i < width; i++) mixed[out + i] += weight * array[v + i];
        }
      }
    }
  }

  linear(x, rows, { weight, bias, outputs, inputs }, y) {
    this.kernel.multiply(x, rows, weight, bias, outputs, inputs, y);
  }

  // ---- what comes out ----

  // The logits of some rows of `x`, [rows, vocab], into `logits`.
  project(from, rows) {
    this.linear(this.x.subarray(from * this.config.d_model), rows, this.output, this.logits);
  }

  // Call read(row, where its logits begin) for each row.
  eachLogits(rows, read) {
    for (let from = 0; from < rows; from += LOGIT_ROWS) {
      const some = Math.min(LOGIT_ROWS, rows - from);
      this.project(from, some);
      for (let row = 0; row < some; row++) read(from + row, row * this.config.vocab_size);
    }
  }

  // Note the candidates of a step and what became of it; gives the token: the one told, else the most probable.
  readStep(at, steps, step, told) {
    const { vocab_size: vocab } = this.config, { logits, best } = this;
    this.findBest(at);
    const peak = best.logits[0], token = told ?? this.choice();
    const chosen = logits[at + token];
    let sum = 0, weighted = 0, rank = 1;
    for (let id = 0; id < vocab; id++) {
      const logit = logits[at + id] - peak, share = Math.exp(logit);
      sum += share;
      weighted += share * logit;
      if (logits[at + id] > chosen) rank++;
    }
    for (let place = 0; place < CANDIDATES; place++) {
      steps.candidateIds[step * CANDIDATES + place] = best.ids[place];
      steps.candidateProbabilities[step * CANDIDATES + place] = Math.exp(best.logits[place] - peak) / sum;
    }
    steps.logProbabilities[step] = chosen - peak - Math.log(sum);
    steps.ranks[step] = rank;
    steps.entropies[step] = Math.log(sum) - weighted / sum;
    return token;
  }

  // The greatest logits of a row, the first of equal ones first.
  findBest(at) {
    const { vocab_size: vocab } = this.config, { logits } = this, { ids, logits: found } = this.best;
    found.fill(-Infinity);
    let least = -Infinity;
    for (let id = 0; id < vocab; id++) {
      const logit = logits[at + id];
      if (logit <= least) continue;
      let place = CANDIDATES - 1;
      for (; place > 0 && found[place - 1] < logit; place--) {
        found[place] = found[place - 1];
        ids[place] = ids[place - 1];
      }
      found[place] = logit;
      ids[place] = id;
      least = found[CANDIDATES - 1];
    }
  }

  // The best token that decoding may choose: neither padding nor begin of sentence.
  choice() {
    const { pad_id, begin_id, end_id } = this.config;
    return this.best.ids.find((id) => id === end_id || (id !== pad_id && id !== begin_id));
  }

  // log P of each target token from what the decoder has just left in `x`, and whether one is not greedy's.
  logChances(target) {
    const { vocab_size: vocab, pad_id, begin_id, end_id } = this.config, { logits } = this;
    const losses = new Float64Array(target.length);
    let turned = false;
    this.eachLogits(target.length, (row, at) => {
      const chosen = logits[at + target[row]];
      let peak = -Infinity, best = -1, sum = 0;
      for (let id = 0; id < vocab; id++) {
        if (logits[at + id] <= peak || (id !== end_id && (id === pad_id || id === begin_id))) continue;
        peak = logits[at + id];
        best = id;
      }
      for (let id = 0; id < vocab; id++) sum += Math.exp(logits[at + id] - peak);
      losses[row] = chosen - peak - Math.log(sum);
      turned ||= best !== target[row];
    });
    return { losses, turned };
  }

  // Everything of the sentence at hand, in arrays of its own.
  trace(source, next, steps) {
    const { begin_id, end_id, num_heads: heads } = this.config, target = next.length;
    const from = source.length, sizes = { encoder: [from, from], decoder: [target, target], cross: [target, from] };
    const shape = (kind) => [this[kind === "encoder" ? kind : "decoder"].length, heads, ...sizes[kind]];
    return {
      sourceIds: [...source],
      fedIds: [begin_id, ...next.slice(0, -1)],
      nextIds: [...next],
      finished: next.at(-1) === end_id,
      ...Object.fromEntries(KINDS.map((kind) => [kind, this.compact(kind, shape(kind))])),
      ...steps.cut(target),
    };
  }

  // The maps of a kind without the room for longer sentences; cells under the causal mask are 0.
  compact(kind, shape) {
    const [layers, heads, queries, keys] = shape, { max_length: length } = this.config, map = this.maps[kind];
    const weights = new Float32Array(layers * heads * queries * keys);
    for (let place = 0, at = 0; place < layers * heads; place++) {
      for (let query = 0; query < queries; query++, at += keys) {
        const from = (place * length + query) * length, count = kind === "decoder" ? query + 1 : keys;
        weights.set(map.subarray(from, from + count), at);
      }
    }
    return { shape, weights };
  }
}

// What is noted of each step, room for the longest translation at once.
class Steps {
  constructor(limit) {
    this.candidateIds = new Int32Array(limit * CANDIDATES);
    this.candidateProbabilities = new Float32Array(limit * CANDIDATES);
    this.logProbabilities = new Float64Array(limit);
    this.ranks = new Int32Array(limit);
    this.entropies = new Float64Array(limit);
  }

  cut(count) {
    const { candidateIds, candidateProbabilities, logProbabilities, ranks, entropies } = this;
    const logs = logProbabilities.slice(0, count);
    return {
      candidateIds: candidateIds.slice(0, count * CANDIDATES), // [steps, 10], most probable first
      candidateProbabilities: candidateProbabilities.slice(0, count * CANDIDATES),
      nextProbabilities: Float32Array.from(logs, Math.exp),
      nextRanks: ranks.slice(0, count),
      entropies: Float32Array.from(entropies.subarray(0, count)),
      logProbability: logs.reduce((a, b) => a + b, 0),
    };
  }
}

// Sine, cosine of pos / base^(2i/d) in turn (paper, 3.5).
function sinusoids(length, d, { position_base: base, first_position: first }) {
  const table = new Float32Array(length * d);
  for (let position = 0; position < length; position++) {
    for (let i = 0; i < d; i += 2) {
      const angle = (first + position) * base ** (-i / d);
      table[position * d + i] = Math.sin(angle);
      table[position * d + i + 1] = Math.cos(angle);
    }
  }
  return table;
}

function readNorm(tensors, name) {
  const gain = tensors[`${name}.weight`];
  return gain && { gain, bias: tensors[`${name}.bias`] };
}

function readLinear(tensors, name) {
  const weight = tensors[`${name}.weight`], bias = tensors[`${name}.bias`];
  return { weight, bias, outputs: bias.length, inputs: weight.length / bias.length };
}

// Some outputs of a linear map, views on its weights.
function part({ weight, bias, inputs }, from, to) {
  const rows = weight.subarray(from * inputs, to * inputs);
  return { weight: rows, bias: bias.subarray(from, to), inputs, outputs: to - from };
}

// Attention's four matrices; W_Q, W_K and W_V stand under one another.
function readAttention(tensors, name) {
  const all = readLinear(tensors, `${name}.query_key_value`), d = all.inputs;
  return { all, query: part(all, 0, d), keyValue: part(all, d, 3 * d), output: readLinear(tensors, `${name}.output`) };
}

function readLayer(tensors, stack, number) {
  const name = `${stack}.${number}`;
  const layer = {
    attention: readAttention(tensors, `${name}.self_attention`),
    attentionNorm: readNorm(tensors, `${name}.self_attention_residual.norm`),
    inner: readLinear(tensors, `${name}.feed_forward.inner`),
    outer: readLinear(tensors, `${name}.feed_forward.outer`),
    forwardNorm: readNorm(tensors, `${name}.feed_forward_residual.norm`),
  };
  if (stack === "encoder") return layer;
  const cross = readAttention(tensors, `${name}.cross_attention`);
  return { ...layer, cross, crossNorm: readNorm(tensors, `${name}.cross_attention_residual.norm`) };
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
