// One step of the decoding in a caption and in numbers: what it reads and its candidates, and every head.

import { tableOfMatrices } from "../export/csv.js";
import { say } from "./texts.toml";

// The sentences of a step and its candidates. `maps` are the weights of the chosen heads, a row a step, as floats;
// `step` counts from 1.
export function stepFigure(data, maps, step) {
  const now = data.steps[step - 1], { source, fed } = data;
  const read = (what, tokens, map, count) => tokens.slice(0, count).map((token, at) => {
    return [what, at + 1, token, map[(step - 1) * tokens.length + at], ""];
  });
  const candidates = () => now.candidates.map(({ rank, token, probability, taken }) => {
    return [say("candidate"), rank, token, probability, say(taken ? "yes" : "no")];
  });
  return {
    name: `decoding_step_${step}`,
    label: say("label", { step, steps: data.steps.length }),
    caption: say("caption", {
      step, steps: data.steps.length, sentence: now.sentence, head: data.name, rest: now.rest,
    }),
    table: () => ({
      header: ["what", "place", "token", "weight_or_probability", "taken"].map((name) => say(`column_${name}`)),
      rows: [
        ...read(say("cross"), source, maps.cross, source.length),
        ...read(say("decoder"), fed, maps.decoder, step), ...candidates(),
      ],
    }),
  };
}

// Every head in a step. `strips` are the two that the page shows, {keys, weight}: what they read, and the weight of a
// layer, a head and a key.
export function headsFigure(data, strips, step) {
  const { layers, heads } = data;
  const rows = Array.from({ length: layers * heads }, (_, at) => {
    return say("head_name", { layer: Math.floor(at / heads) + 1, head: (at % heads) + 1 });
  });
  const matrices = () => strips.map(({ keys, weight }, at) => ({
    name: ["cross_attention", "masked_self_attention"][at], rows, columns: keys,
    values: rows.map((_, row) => keys.map((_, key) => weight(Math.floor(row / heads), row % heads, key))),
  }));
  return {
    name: `heads_of_step_${step}`,
    label: say("all_label", { step, steps: data.steps.length }),
    caption: say("all_caption", { step, steps: data.steps.length, token: data.next[step - 1] }),
    table: () => tableOfMatrices(matrices(), { row: say("head"), column: say("key"), value: say("weight") }),
    matrices,
  };
}
