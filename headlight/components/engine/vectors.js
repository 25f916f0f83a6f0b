// Some numbers of each vector of a pass over a translation, and the sizes of the model: what whole_pass/story.js needs
// besides a trace, as headlight/views/inside/whole_pass_content.py has it.

import { watched } from "./stages.js";

const DIMENSIONS = 12; // of each vector, at equal distances

export function recordVectors(engine, source, target) {
  const { config, embeddings, positions, encoder, decoder, embed, residual, runEncoder } = engine;
  const { d_model: d, scale_embeddings } = config, count = Math.min(d, DIMENSIONS);
  const points = { encoder: [], decoder: [] };
  const dimensions = Array.from({ length: count }, (_, at) => Math.round((at * (d - 1)) / (count - 1)));
  let stack, rows;
  const note = (valueOf) => {
    for (let row = 0; row < rows; row++) points[stack].push(...dimensions.map((i) => valueOf(row, i)));
  };
  const noteAll = (vectors) => note((row, i) => vectors[row * d + i]);
  watched(engine, source, target, {
    embed(name, ids, places) {
      [stack, rows] = [name, ids.length];
      const { weight, scales } = embeddings[stack], scale = scale_embeddings ? Math.sqrt(d) : 1;
      note((row, i) => weight[ids[row] * d + i] * scales[ids[row]] * scale);
      note((row, i) => positions[stack][places[row] * d + i]);
      embed.call(engine, name, ids, places);
      noteAll(engine.x);
    },
    residual(...around) {
      residual.call(engine, ...around);
      noteAll(engine.x);
    },
    runEncoder(...plan) {
      runEncoder.call(engine, ...plan);
      noteAll(engine.memory);
    },
  });
  noteAll(engine.x); // the decoder's, after its last LayerNorm
  const columnsOf = (values, { length: tokens }) => {
    return { shape: [values.length / tokens / count, tokens, count], weights: Float32Array.from(values) };
  };
  return {
    sourceColumns: columnsOf(points.encoder, source), targetColumns: columnsOf(points.decoder, target), dimensions,
    layers: { encoder: encoder.length, decoder: decoder.length },
    drawn: { encoder: [...encoder.keys()], decoder: [...decoder.keys()] },
    heads: config.num_heads, width: d, hidden: config.d_ff, vocabulary: engine.vocab,
    positioned: config.positions !== "none", numForced: Number(config.forced_first_token), parameters: sizesOf(engine),
  };
}

// The number of learned numbers of each sub-layer: "decoder.0.crossAttention".
function sizesOf({ encoder, decoder }) {
  const sizes = {}, size = (maps) => maps.reduce((sum, { weight, bias }) => sum + weight.length + bias.length, 0);
  for (const [stack, layers] of Object.entries({ encoder, decoder })) {
    layers.forEach(({ attention, cross, inner, outer }, layer) => {
      const all = { selfAttention: [attention.all, attention.output], feedForward: [inner, outer] };
      if (cross) all.crossAttention = [cross.query, cross.keyValue, cross.output];
      for (const [name, maps] of Object.entries(all)) sizes[`${stack}.${layer}.${name}`] = size(maps);
    });
  }
  return sizes;
}
