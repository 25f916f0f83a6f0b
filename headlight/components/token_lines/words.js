// Sentences and numbers of the token lines.

import { chipText } from "../lib/tokens.js";
import { percent, quoted } from "../lib/words.js";

const NAMED = 3; // of the weights of a token, the others are summed up; of words in a headline

// A weight or a probability in whole percent, short enough to stand beside its token.
export const shareText = (share) => percent(share).replace("under", "<").replace("over", ">");

// The next best candidate of a step, where the model was in doubt: "almost: le 30 %".
export const doubtText = ({ token, probability, isBest }) =>
  `${isBest ? "almost" : "best"}: ${chipText(token)} ${shareText(probability)}`;

// The names of a token: “▁teacher” (source token 3).
export const named = (token, side, index) => `“${token}” (${side} token ${index + 1})`;

// The weights of one token, given as [index, weight], largest first: the first few one by one, then the others' sum.
function listed(weights, naming) {
  const sorted = [...weights].sort((one, other) => other[1] - one[1] || one[0] - other[0]);
  const rest = sorted.slice(NAMED).reduce((sum, [, weight]) => sum + weight, 0);
  const parts = sorted.slice(0, NAMED).map(([index, weight]) => `${naming(index)} ${shareText(weight)}`);
  const others = sorted.length - NAMED;
  if (others > 0) parts.push(`the other ${others === 1 ? "one" : `${others} together`} ${shareText(rest)}`);
  return parts.join(", ");
}

// An output token and its largest weights; equal source tokens have their number.
export function outputWords(data, row) {
  const { source, weights } = data;
  const twice = (column) => source.indexOf(source[column]) !== source.lastIndexOf(source[column]);
  const naming = (column) => (twice(column) ? named(source[column], "source", column) : `“${source[column]}”`);
  const { name, chance } = below(data, row);
  return `${name}${chance && ` (${chance})`} looks at ${listed([...weights[row].entries()], naming)}.`;
}

// A token of the row below: its name, with the input token beside it where rows are named by both, and, of an output
// token, how probable it was.
export function below({ below: side, outputs, inputs, probabilities, ranks }, row) {
  const from = inputs ? `“${inputs[row]}” → ` : "", name = `${from}“${outputs[row]}”, ${side} token ${row + 1}`;
  const rank = ranks[row] === 1 ? "" : `, rank ${ranks[row]}`;
  return { name, chance: side === "output" ? `${shareText(probabilities[row])} sure${rank}` : "" };
}

// A source token and the tokens that attend to it most. Their weights belong to different rows and have no sum.
export function sourceWords({ source, outputs, weights, below: side }, column) {
  const rows = weights.map((row, index) => [index, row[column]]).sort((one, other) => other[1] - one[1]);
  const words = ([row, weight]) => `${named(outputs[row], side, row)} ${shareText(weight)}`;
  const parts = rows.slice(0, NAMED).map(words);
    const most = rows.length > NAMED ? " most" : "";
  return `“${source[column]}”, source token ${column + 1}, is looked at${most} by ${parts.join(", ")}.`;
}

// The text while no token is pointed at.
export const INVITATION =
  "The thicker the line, the more the model looked at that word while writing this one. That looking is called " +
  "attention. The percent below a word: how sure the model was. Point at a word for more.";

// The effect of hidden words on a translation. hidden: the words; harmless: those that can be hidden alone without a
// change, null where that was not measured; words: the number of all; outcome: see outcomeText.
export function hiddenText({ hidden, harmless, words, outcome }) {
  if (!hidden.length) return "Click a word to hide it from the model. What happens?";
  if (hidden.length === words) return `With every word hidden, ${outcomeText(outcome)}.`;
  const isLong = hidden.length > NAMED;
  const without = isLong ? `${hidden.length} words and marks` : hidden.map(quoted).join(" and ");
  const spare = hidden.length === 1 && harmless ? ` ${harmlessText(harmless)}` : "";
  return `Without ${without}, ${outcomeText(outcome)}.${spare}`;
}

function harmlessText(harmless) {
  if (!harmless.length) return "Here every word matters.";
  const isShort = harmless.length <= NAMED;
  const named = isShort ? harmless.map(quoted).join(" or ") : `any of ${harmless.length} words and marks`;
  return `Hiding ${named} alone would change nothing.`;
}

// changes: of the words, each { lost, gained }; words: the number of words before; isEmpty: nothing is left.
function outcomeText({ changes, words, isEmpty }) {
  if (!changes.length) return "the translation stays the same";
  if (isEmpty) return "nothing is left of the translation";
  const [lost, gained] = ["lost", "gained"].map((side) => changes.flatMap((each) => each[side]));
  if (changes.length > 1 || Math.max(lost.length, gained.length) > NAMED) {
    if (!lost.length) return `the translation gains ${gained.length} words and marks`;
    return `${lost.length} of ${words} words and marks change`;
  }
  const [old, now] = [lost, gained].map((side) => quoted(side.join(" ")));
  if (!gained.length) return `the translation loses ${old}`;
  return lost.length ? `${old} becomes ${now}` : `the translation gains ${now}`;
}
