// Positions: what the model adds to the embeddings of a sentence, and what it translates without that, as
// transformer/interpret/positions.py has it.

import { decode } from "./decoding.js";

// What is added at each position of a side, from the first on: [max_length, d_model] of the encoder and of the decoder.
export function positionTables(engine) {
  const { encoder, decoder } = engine.positions;
  return { encoder: encoder.slice(), decoder: decoder.slice() };
}

// What enters the encoder: embeddings, positions and their sum, [tokens x d_model] each.
export function embeddingSum(engine, source) {
  const { d_model: d, scale_embeddings: scaled } = engine.config, { weight, scales } = engine.embeddings.encoder;
  const embeddings = new Float32Array(source.length * d);
  const positions = engine.positions.encoder.slice(0, embeddings.length);
  source.forEach((id, row) => {
    const factor = scales[id] * (scaled ? Math.sqrt(d) : 1);
    for (let i = 0; i < d; i++) embeddings[row * d + i] = weight[id * d + i] * factor;
  });
  return { embeddings, positions, total: embeddings.map((value, at) => value + positions[at]) };
}

// Greedy decoding with embeddings alone for the encoder; the decoder's positions stay.
export function* decodeWithoutPositions(engine, source) {
  const { positions } = engine, run = decode(engine, source);
  let step;
  try {
    engine.positions = { ...positions, encoder: new Float32Array(positions.encoder.length) };
    engine.encoded = null; // so that the encoder is run, now and by who comes next
    step = run.next();
  } finally {
    engine.positions = positions;
    engine.encoded = null;
  }
  while (!step.done) {
    yield;
    step = run.next();
  }
  return step.value;
}
