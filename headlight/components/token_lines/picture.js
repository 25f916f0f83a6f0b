// The figure of the tokens and the lines between them for the download menu: picture, caption and numbers.

import { drawing } from "./drawing.js";

const PROBABLE = " Under each output token stands its probability: the stronger its colour, the more probable.";

export const labelOf = ({ name, below }) => `Source and ${below} tokens joined by the cross-attention of ${name}`;

export function figureOf(data) {
  const { name, source, outputs, probabilities, weights, below } = data;
  const rows = weights.flatMap((line, row) => line.map((weight, column) => {
    return [row, outputs[row], probabilities[row], column, source[column], weight];
  }));
  const chance = below === "output" ? "probability" : "probability of the output token";
  return {
    name: "token_lines",
    label: labelOf({ name, below }),
    caption:
      `Source tokens, above, and ${below} tokens, below, joined by the cross-attention weights of ${name}: the ` +
      "larger the weight, the thicker the line; weights below 0.01 have none." + (below === "output" ? PROBABLE : ""),
    drawing: () => drawing(data),
    table: () => ({ header: ["row", `${below} token`, chance, "column", "source token", "weight"], rows }),
    matrices: () => [{ values: weights, rows: outputs, columns: source }],
  };
}
