// A model's weights, as transformer/exchange/int8.py packs them, in their places: matrices of int8 with a scale for
// each row, vectors of float32. They stay packed: all arrays are views on one run of bytes.

const product = (shape) => shape.reduce((a, b) => a * b, 1);

// The number of packed bytes.
export function packedBytes({ tensors }) {
  return tensors.reduce((end, { shape, offset, scales }) => {
    return Math.max(end, scales === undefined ? offset + 4 * product(shape) : scales + 4 * shape[0]);
  }, 0);
}

// Pieces of the target's vocabulary.
export const outputSize = (config) => config.target_vocab_size || config.vocab_size;

// The layers of engine.js. A matrix is { weight: Int8Array [outputs, inputs], scales, outputs,
// inputs }, a linear map one with a `bias`, a norm { gain, bias }, or undefined where the model has none. packed: the
// bytes, at a multiple of 4.
export function readModel(header, packed, kernel) {
  const { config } = header, tensors = readTensors(header, packed);
  const source = tensors["source_embedding.embedding.weight"];
  const target = tensors["target_embedding.embedding.weight"] ?? source;
  const norm = (name) => readNorm(tensors, name);
  const norms = (name) => ({ encoder: norm(`encoder_${name}`), decoder: norm(`decoder_${name}`) });
  const layers = (stack, count) => Array.from({ length: count }, (_, number) => readLayer(tensors, stack, number));
  const tables = ["positions.table", "target_positions.table"].map((name) => tensors[name] && wholeOf(tensors[name]));
  const [positions = positionTable(config), ofTarget = positions] = tables;
  return {
    embeddings: { encoder: source, decoder: target },
    positions: { encoder: positions, decoder: ofTarget },
    firstNorms: norms("embedding_norm"),
    encoder: layers("encoder", config.num_encoder_layers),
    decoder: layers("decoder", config.num_decoder_layers),
    lastNorms: norms("norm"),
    output: {
      ...(tensors["output_projection.weight"] ?? target),
      bias: tensors["output_projection.bias"] ?? kernel.allocate(outputSize(config)),
    },
  };
}

// Matrices and vectors by name.
function readTensors({ tensors }, { buffer, byteOffset }) {
  const floats = (offset, length) => new Float32Array(buffer, byteOffset + offset, length);
  return Object.fromEntries(tensors.map(({ name, shape, offset, scales }) => {
    if (scales === undefined) return [name, floats(offset, product(shape))];
    const weight = new Int8Array(buffer, byteOffset + offset, product(shape));
    return [name, { weight, scales: floats(scales, shape[0]), outputs: shape[0], inputs: shape[1] }];
  }));
}

// A matrix as float32.
function wholeOf({ weight, scales, inputs }) {
  return Float32Array.from(weight, (each, at) => each * scales[Math.floor(at / inputs)]);
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
  return { ...tensors[`${name}.weight`], bias: tensors[`${name}.bias`] };
}

// Some outputs of a linear map, views on its weights.
export function outputsOf({ weight, scales, bias, inputs }, from, to) {
  const rows = weight.subarray(from * inputs, to * inputs);
  return { weight: rows, scales: scales.subarray(from, to), bias: bias.subarray(from, to), inputs, outputs: to - from };
}

// Attention's four matrices; W_Q, W_K and W_V stand under one another.
function readAttention(tensors, name) {
  const all = readLinear(tensors, `${name}.query_key_value`), d = all.inputs;
  const output = readLinear(tensors, `${name}.output`);
  return { all, query: outputsOf(all, 0, d), keyValue: outputsOf(all, d, 3 * d), output };
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
