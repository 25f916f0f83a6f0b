// The caption of a picture of the tokens and the lines between them, and their numbers.

const PROBABLE = " Under each output token stands its probability: the stronger its colour, the more probable.";

export const labelOf = ({ name, below }) => `Source and ${below} tokens joined by the cross-attention of ${name}`;

// The figure for the download menu, without its picture.
export function figureOf({ name, source, outputs, probabilities, weights, below }) {
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
    table: () => ({ header: ["row", `${below} token`, chance, "column", "source token", "weight"], rows }),
    matrices: () => [{ values: weights, rows: outputs, columns: source }],
  };
}
