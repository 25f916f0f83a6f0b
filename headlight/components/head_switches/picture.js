// The caption of a picture of what the translation loses without each head, and these losses.

import { tableOfMatrices } from "../export/csv.js";
import { captionText } from "./words.js";

// The figure for the download menu, without its picture.
export function figureOf({ kinds, limit, ablation }) {
  const matrices = () => kinds.map(({ kind, losses }) => ({
    name: kind, rows: namesOf("layer", losses.length), columns: namesOf("head", losses[0].length), values: losses,
  }));
  return {
    name: "head_importance",
    label: "What the translation loses without each head alone",
    caption: captionText(ablation, limit),
    table: () => tableOfMatrices(matrices(), { row: "layer", column: "head", value: "loss of log P in nats" }),
    matrices,
  };
}

const namesOf = (what, count) => Array.from({ length: count }, (_, at) => `${what} ${at + 1}`);
