// Some numbers of each vector of a pass over a translation, for whole_pass/story.js, as
// headlight/views/inside/whole_pass_content.py has them.

import { watched } from "./stages.js";

// dimensions: which numbers of each vector.
export function recordVectors(engine, source, target, dimensions) {
  const { config: { d_model: d, scale_embeddings }, embeddings, positions, embed, residual, runEncoder } = engine;
  const points = { encoder: [], decoder: [] }, { length: count } = dimensions;
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
  return { sourceColumns: columnsOf(points.encoder, source), targetColumns: columnsOf(points.decoder, target) };
}
