// The caption of a picture of what the translation loses without each head, and these losses.

import { tableOfMatrices } from "../export/csv.js";
import { say } from "./texts.toml";

// The figure for the download menu, without its picture.
export function figureOf({ kinds, limit, ablation }) {
  const matrices = () => kinds.map(({ kind, losses }) => ({
    name: kind, rows: namesOf("layer", losses.length), columns: namesOf("head", losses[0].length), values: losses,
  }));
  return {
    name: "head_importance",
    label: say("label"),
    caption: say("caption", { ablation, limit }),
    table: () => tableOfMatrices(matrices(), { row: say("layer"), column: say("head"), value: say("loss") }),
    matrices,
  };
}

const namesOf = (what, count) => Array.from({ length: count }, (_, at) => say(`${what}_name`, { number: at + 1 }));
