// The caption of a picture of the tokens and the lines between them, and their numbers.

// What the menu makes files of, but for the picture.
export function figureOf({ name, source, outputs, probabilities, weights }) {
  const rows = weights.flatMap((line, row) => line.map((weight, column) => {
    return [row, outputs[row], probabilities[row], column, source[column], weight];
  }));
  return {
    name: "token_lines",
    label: `Source and output tokens joined by the cross-attention of ${name}`,
    caption:
      `Source tokens, above, and output tokens, below, joined by the cross-attention weights of ${name}: the larger ` +
      "the weight, the stronger the line; weights below 0.01 have none. Under each output token stands its " +
      "probability: the stronger its colour, the more probable.",
    table: () => ({ header: ["row", "output token", "probability", "column", "source token", "weight"], rows }),
    matrices: () => [{ values: weights, rows: outputs, columns: source }],
  };
}
