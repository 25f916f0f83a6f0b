// What the lines say: weights as numbers, and a token that is pointed at in words.

const NAMED = 3; // of the weights of a token; the others are summed up

// Two decimals, never rounded to all or to nothing.
export function weightText(weight) {
  if (weight > 0 && weight < 0.005) return "< 0.01";
  if (weight > 0.995 && weight < 1) return "> 0.99";
  return weight.toFixed(2);
}

// The names of a token: “▁teacher” (source token 3).
export const named = (token, side, index) => `“${token}” (${side} token ${index + 1})`;

// The weights of one token, given as [index, weight], largest first: the first few one by one, then the others' sum.
function listed(weights, naming, joint) {
  const sorted = [...weights].sort((one, other) => other[1] - one[1] || one[0] - other[0]);
  const rest = sorted.slice(NAMED).reduce((sum, [, weight]) => sum + weight, 0);
  const parts = sorted.slice(0, NAMED).map(([index, weight]) => `${weightText(weight)} ${joint} ${naming(index)}`);
  const others = sorted.length - NAMED;
  if (others > 0) parts.push(`${weightText(rest)} ${joint} the other ${others === 1 ? "one" : `${others} together`}`);
  return parts.join(", ");
}

// What an output token attends to; twice the same source token is told apart by its number.
export function outputWords(data, row) {
  const { source, weights } = data;
  const twice = (column) => source.indexOf(source[column]) !== source.lastIndexOf(source[column]);
  const naming = (column) => (twice(column) ? named(source[column], "source", column) : `“${source[column]}”`);
  const { name, chance } = below(data, row);
  return `${name}${chance && ` (${chance})`}: ${listed([...weights[row].entries()], naming, "on")}.`;
}

// A token of the row below: its name, with the input token beside it where rows are named by both, and, of an output
// token, how probable it was.
export function below({ below: side, outputs, inputs, chances, ranks }, row) {
  const from = inputs ? `“${inputs[row]}” → ` : "", name = `${from}“${outputs[row]}”, ${side} token ${row + 1}`;
  const rank = ranks[row] === 1 ? "top-1" : `rank ${ranks[row]}`;
  return { name, chance: side === "output" ? `probability ${chances[row]}, ${rank}` : "" };
}

// Which tokens of the row below attend to a source token. Their weights are of different rows: they have no sum to
// speak of.
export function sourceWords({ source, outputs, weights, below: side }, column) {
  const rows = weights.map((row, index) => [index, row[column]]).sort((one, other) => other[1] - one[1]);
  const words = ([row, weight]) => `${weightText(weight)} from ${named(outputs[row], side, row)}`;
  const parts = rows.slice(0, NAMED).map(words);
  if (rows.length > NAMED) parts.push("no larger weight from any other");
  return `“${source[column]}”, source token ${column + 1}, gets ${parts.join(", ")}.`;
}

// The text while no token is pointed at.
export const INVITATION =
  "The thicker the line, the more the model looked at that word while writing this one. That looking is called " +
  "attention. Point at a word for the numbers.";
