// Sentences and numbers of the token lines.

import { chipText, isMarks, spoken } from "../lib/tokens.js";
import { percent, quoted, quotedAt } from "../lib/words.js";

const NAMED = 3; // of the weights of a token, the others are summed up; of words in a headline
const LEAST = 0.01; // smaller weights of a source token are not named
const ENDS = { "</s>": "end of sentence", "<s>": "start of sentence" };

// A weight or a probability in whole percent, short enough to stand beside its token.
export const shareText = (share) => percent(share).replace("under", "<").replace("over", ">");

// The next best candidate of a step, where the model was in doubt: "almost: le 30 %".
export const doubtText = ({ token, probability, isBest }) =>
  `${isBest ? "almost" : "best"}: ${chipText(token)} ${shareText(probability)}`;

// The spoken name of a token: "teacher, source word 4". words: the ranges of the side's words.
export function spokenName(tokens, words, side, index) {
  const number = 1 + words.findIndex(([first, after]) => first <= index && index < after);
  return ENDS[tokens[index]] ?? spoken(tokens[index]) + (number ? `, ${side} word ${number}` : "");
}

// The spoken name of a token of the row below, after its input token where rows are named by both; of an output token
// the chance that the model gave it.
export function belowName({ below, outputs, outputWords: words, inputs, probabilities, ranks }, index) {
  const name = (inputs ? `${spoken(inputs[index])} → ` : "") + spokenName(outputs, words, below, index);
  const rank = ranks[index] === 1 ? "" : `, its choice number ${ranks[index]}`;
  return below === "output" ? `${name}: the model gave it ${shareText(probabilities[index])}${rank}` : name;
}

// The reason why a sure token has no more. smoothing: the share of label smoothing, 0 without.
export function surenessText(probability, smoothing) {
  if (!smoothing || 1 - probability > smoothing * (4 / 3)) return "";
  return ` ${percent(probability)} is very sure: in training it learned to leave about ` +
    `${percent(smoothing)} to other words.`;
}

// The weights of one token, given as [index, weight], largest first: the first few one by one, then the others' sum.
function listed(weights, naming) {
  const sorted = [...weights].sort((one, other) => other[1] - one[1] || one[0] - other[0]);
  const rest = sorted.slice(NAMED).reduce((sum, [, weight]) => sum + weight, 0);
  const parts = sorted.slice(0, NAMED).map(([index, weight]) => `${naming(index)}: ${shareText(weight)}`);
  const others = sorted.length - NAMED;
  if (others > 0) parts.push(`the other ${others === 1 ? "one" : `${others} together`}: ${shareText(rest)}`);
  return parts.join(", ");
}

const belowAt = ({ outputs, below }, index) => quotedAt(outputs, index, `${below} token`);

// A token of the row below and its largest weights; equal tokens have their number.
export function outputWords(data, row) {
  const naming = (column) => quotedAt(data.source, column, "source token"), chance = data.probabilities[row];
  const sure = data.below === "output" ? surenessText(chance, data.smoothing) : "";
  return `${belowAt(data, row)} looks at ${listed(data.weights[row].entries(), naming)}.${sure}`;
}

// A source token and the tokens that attend to it most. Their weights belong to different rows and have no sum.
export function sourceWords(data, column) {
  const token = quotedAt(data.source, column, "source token");
  const rows = data.weights.map((row, index) => [index, row[column]]).sort((one, other) => other[1] - one[1]);
  const [[first, most], ...others] = rows.slice(0, NAMED).filter(([, weight], place) => !place || weight >= LEAST);
  const next = others.map(([row, weight]) => `${belowAt(data, row)} ${shareText(weight)}`).join(", ");
  return `${belowAt(data, first)} looks at ${token}: ${shareText(most)}.${next && ` Others look at it, too: ${next}.`}`;
}

// The text while no token is pointed at. heads: the number of cross-attention heads, null where several are averaged;
// resting: a token that rests on a mark or an end, { token, key }, or null; doubts: of story.js.
export function invitation({ heads, resting, doubts }) {
  const one = heads ? ` The model has ${heads} heads, parts that look in their own way: this is one.` : "";
  const rests = resting
    ? ` ${quoted(resting.token)} looks mostly at ${quoted(resting.key)}, as punctuation often does.` : "";
  const other = doubts.some(Boolean) ? "; under 50 %, another choice stands below" : "";
  return (
    "The thicker a line, the more the model looked at that word to write the other one. That looking is called " +
    `attention.${one}${rests} The percent and the blue of a word say how sure it was${other}. Hover over a word for ` +
    "its numbers. The model is small and can be wrong."
  );
}

// The effect of hidden words on a translation. hidden: the words; words: the number of all; language: of the words, ""
// where it is unknown; outcome: see outcomeText.
export function hiddenText({ hidden, words, language, outcome }) {
  if (!hidden.length) return `Click a word of your ${language && `${language} `}sentence to hide it from the model.`;
  if (hidden.length === words) return `With every word hidden, ${outcomeText(outcome)}.`;
  const many = `${hidden.length} words${hidden.some((word) => isMarks(word)) ? " and punctuation marks" : ""}`;
  const without = hidden.length > NAMED ? many : hidden.map(quoted).join(" and ");
  const again = hidden.length > 1 ? " Click a hidden word to show it again." : "";
  return `Without ${without}, ${outcomeText(outcome)}.${again}`;
}

// Some words without others, each of which takes away one; the rest has moved.
function without(some, others) {
  const left = [...others];
  return some.filter((word) => !left.includes(word) || !left.splice(left.indexOf(word), 1));
}

// changes: of the words, each { lost, gained }; words: the number of words before; isEmpty: nothing is left.
function outcomeText({ changes, words, isEmpty }) {
  if (!changes.length) return "the translation stays the same";
  if (isEmpty) return "nothing is left of the translation";
  const [lost, gained] = ["lost", "gained"].map((side) => changes.flatMap((each) => each[side]));
  if (changes.length > 1 || Math.max(lost.length, gained.length) > NAMED) {
    const gone = without(lost, gained), come = without(gained, lost);
    if (!gone.length && !come.length) return "the words only change places";
    const gains = come.length === 1 ? quoted(come[0]) : `${come.length} words and punctuation marks`;
    if (!gone.length) return `the translation gains ${gains}`;
    return `${gone.length} of ${words} words and punctuation marks change${gone.length === 1 ? "s" : ""}`;
  }
  const [old, now] = [lost, gained].map((side) => quoted(side.join(" ")));
  if (!gained.length) return `the translation loses ${old}`;
  return lost.length ? `${old} becomes ${now}` : `the translation gains ${now}`;
}
