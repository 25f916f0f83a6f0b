// One step of the decoding in a caption and in numbers: what it reads and its candidates, and every head.

import { tableOfMatrices } from "../export/csv.js";

// The sentences of a step and its candidates. `maps` are the weights of the chosen heads, a row a step, as floats;
// `step` counts from 1.
export function stepFigure(data, maps, step) {
  const now = data.steps[step - 1], { source, fed } = data;
  const read = (what, tokens, map, count) => tokens.slice(0, count).map((token, at) => {
    return [what, at + 1, token, map[(step - 1) * tokens.length + at], ""];
  });
  const candidates = () => now.candidates.map(({ rank, token, probability, taken }) => {
    return ["candidate", rank, token, probability, taken ? "yes" : "no"];
  });
  return {
    name: `decoding_step_${step}`,
    label: `Step ${step} of ${data.steps.length} of the decoding`,
    caption: `Step ${step} of ${data.steps.length}. ${now.sentence} Above, the weights of ${data.name}; below, the ` +
      `most probable candidates out of all tokens, the taken one framed, and ${now.rest}.`,
    table: () => ({
      header: ["what", "place or rank", "token", "weight or probability", "taken"],
      rows: [
        ...read("cross-attention weight", source, maps.cross, source.length),
        ...read("masked self-attention weight", fed, maps.decoder, step), ...candidates(),
      ],
    }),
  };
}

// Every head in a step. `strips` are the two that the page shows, {keys, weight}: what they read, and the weight of a
// layer, a head and a key.
export function headsFigure(data, strips, step) {
  const { layers, heads } = data;
  const rows = Array.from({ length: layers * heads }, (_, at) => {
    return `layer ${Math.floor(at / heads) + 1}, head ${(at % heads) + 1}`;
  });
  const matrices = () => strips.map(({ keys, weight }, at) => ({
    name: ["cross_attention", "masked_self_attention"][at], rows, columns: keys,
    values: rows.map((_, row) => keys.map((_, key) => weight(Math.floor(row / heads), row % heads, key))),
  }));
  return {
    name: `heads_of_step_${step}`,
    label: `Every head in step ${step} of ${data.steps.length}`,
    caption: `Every head in step ${step} of ${data.steps.length}, which predicts “${data.next[step - 1]}”: a line of ` +
      "cells is a head, layer under layer; the stronger its colour, the larger the weight. Cross-attention reads the " +
      "source; masked self-attention reads the tokens fed so far.",
    table: () => tableOfMatrices(matrices(), { row: "head", column: "key", value: "weight" }),
    matrices,
  };
}
