// A model's weights, as transformer/exchange/int8.py packs them, made into float32 once and put in their places.

const EMBEDDING = "source_embedding.embedding.weight";

const product = (shape) => shape.reduce((a, b) => a * b, 1);

// How many floats `readModel` allocates.
export function weightsNeeded({ config, tensors }) {
  const own = tensors.reduce((sum, { shape }) => sum + product(shape) + 3, 0); // each begins at a multiple of four
  return own + outputSize(config) + 3;
}

// Pieces of the target's vocabulary.
export const outputSize = (config) => config.target_vocab_size || config.vocab_size;

// What the passes of engine.js are made of. A linear map is { weight: [outputs, inputs], bias, outputs, inputs }, a
// norm { gain, bias }, or undefined where the model has none.
export function readModel(header, bytes, kernel) {
  const { config } = header, tensors = readTensors(header, bytes, kernel), size = outputSize(config);
  const source = tensors[EMBEDDING], target = tensors["target_embedding.embedding.weight"] ?? source;
  const layers = (stack, count) => Array.from({ length: count }, (_, number) => readLayer(tensors, stack, number));
  const norm = (name) => readNorm(tensors, name);
  const norms = (name) => ({ encoder: norm(`encoder_${name}`), decoder: norm(`decoder_${name}`) });
  const positions = config.positions === "learned" ? tensors["positions.table"] : positionTable(config);
  return {
    embeddings: { encoder: source, decoder: target },
    positions: { encoder: positions, decoder: tensors["target_positions.table"] ?? positions },
    firstNorms: norms("embedding_norm"),
    encoder: layers("encoder", config.num_encoder_layers),
    decoder: layers("decoder", config.num_decoder_layers),
    lastNorms: norms("norm"),
    output: {
      weight: tensors["output_projection.weight"] ?? target,
      bias: tensors["output_projection.bias"] ?? kernel.allocate(size),
      outputs: size,
      inputs: config.d_model,
    },
  };
}

// Weights by name, each int8 matrix multiplied by its rows' scales.
function readTensors({ tensors }, bytes, kernel) {
  const floats = (offset, length) => new Float32Array(bytes.slice(offset, offset + 4 * length).buffer);
  const found = {};
  for (const { name, shape, offset, scales } of tensors) {
    const length = product(shape), values = (found[name] = kernel.allocate(length));
    if (scales === undefined) {
      values.set(floats(offset, length));
      continue;
    }
    const whole = new Int8Array(bytes.buffer, bytes.byteOffset + offset, length), [rows, columns] = shape;
    const scale = floats(scales, rows);
    for (let row = 0, at = 0; row < rows; row++) {
      for (const end = at + columns; at < end; at++) values[at] = whole[at] * scale[row];
    }
  }
  return found;
}

// Sine, cosine of pos / base^(2i/d) in turn (paper, 3.5); "multiplied" is the slip that multiplies.
function positionTable({ positions, max_length: length, d_model: d, position_base: base, first_position: first }) {
  const table = new Float32Array(length * d), sign = positions === "multiplied" ? 1 : -1;
  if (positions === "none") return table;
  for (let position = 0; position < length; position++) {
    for (let i = 0; i < d; i += 2) {
      const angle = (first + position) * (sign > 0 ? 10000 : base) ** ((sign * i) / d);
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
