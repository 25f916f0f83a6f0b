// The caption of a picture of what the translation loses without each head, and these losses.

import { tableOfMatrices } from "../export/csv.js";

// What the menu makes files of, but for the picture.
export function figureOf({ kinds, limit, ablated_by: ablation }) {
  const matrices = () => kinds.map(({ kind, losses }) => ({
    name: kind, rows: namesOf("layer", losses.length), columns: namesOf("head", losses[0].length), values: losses,
  }));
  return {
    name: "head_importance",
    label: "What the translation loses without each head alone",
    caption: `What the translation loses of its log P, in nats, without each head alone, ablated by ${ablation}: ` +
      `brown, a loss; teal, a gain; the full colours stand for ${limit.toFixed(2)}. A dot: without the head another ` +
      "translation comes.",
    table: () => tableOfMatrices(matrices(), { row: "layer", column: "head", value: "loss of log P in nats" }),
    matrices,
  };
}

const namesOf = (what, count) => Array.from({ length: count }, (_, at) => `${what} ${at + 1}`);
