// The figure of the tokens and the lines between them for the download menu: picture, caption and numbers.

import { drawing } from "./drawing.js";
import { say } from "./texts.toml";

export const labelOf = ({ name, below }) => say(below === "output" ? "label_output" : "label_input", { name });

export function figureOf(data) {
  const { name, source, outputs, probabilities, weights, below } = data, isOutput = below === "output";
  const rows = weights.flatMap((line, row) => line.map((weight, column) => {
    return [row, outputs[row], probabilities[row], column, source[column], weight];
  }));
  const token = say(isOutput ? "output_token" : "input_token"), chance = say(isOutput ? "chance" : "chance_of_output");
  return {
    name: "token_lines",
    label: labelOf({ name, below }),
    caption: say(isOutput ? "caption_output" : "caption_input", { name }),
    drawing: () => drawing(data),
    table: () => ({ header: [say("row"), token, chance, say("column"), say("source_token"), say("weight")], rows }),
    matrices: () => [{ values: weights, rows: outputs, columns: source }],
  };
}
