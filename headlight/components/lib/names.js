// Names of kinds of attention, of heads and of rows.

import { say } from "./texts.toml";
import { sentenceCase } from "./words.js";

export const NOTHING = say("nothing"); // in place of an empty translation
const KINDS = { encoder: say("encoder"), decoder: say("decoder"), cross: say("cross") };
export const KIND_NAMES = Object.fromEntries(Object.entries(KINDS).map(([kind, name]) => [kind, sentenceCase(name)]));

// A kind of attention within a sentence: "cross-attention", and a head with it: "cross-attention layer 3, head 4".
export const kindName = (kind) => KINDS[kind];
export const kindHeadName = ({ kind, layer, head }) => {
  return say("kind_head", { kind: kindName(kind), head: headName({ layer, head }) });
};

// A head counted from 1; null stands for an average over all layers or heads.
export function headName({ layer, head }, { layers, heads } = {}) {
  if (layer !== null && head !== null) return say("head", { layer: layer + 1, head: head + 1 });
  if (layer !== null) return say("mean_of_layer", { count: heads, layer: layer + 1 });
  if (head !== null) return say("mean_over_layers", { count: layers, head: head + 1 });
  return say("mean_of_all", { layers: say("layers", { count: layers }), heads: say("heads", { count: heads }) });
}

// A row of attention weights by the token that reads, a decoder's by the one that is written.
export const rowText = (kind, row, token) => {
  return kind === "encoder" ? say("row", { token }) : say("step", { step: row + 1, token });
};
