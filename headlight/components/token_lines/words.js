// Sentences and numbers of the token lines.

import { chipText, isMarks, spoken } from "../lib/tokens.js";
import { percent, quoted, quotedAt } from "../lib/words.js";
import { say } from "./texts.toml";

const NAMED = 3; // of the weights of a token, the others are summed up; of words in a headline
const LEAST = 0.01; // smaller weights of a source token are not named
const ENDS = { "</s>": say("end"), "<s>": say("start") };

// A weight or a probability in whole percent, short enough to stand beside its token.
export const shareText = (share) => percent(share).replace("under", "<").replace("over", ">");

// The next best candidate of a step, where the model was in doubt: "almost: le 30 %".
export const doubtText = ({ token, probability, isBest }) => {
  return say(isBest ? "almost" : "best", { token: chipText(token), share: shareText(probability) });
};

// The spoken name of a token: "teacher, source word 4". words: the ranges of the side's words.
export function spokenName(tokens, words, side, index) {
  const number = 1 + words.findIndex(([first, after]) => first <= index && index < after);
  const token = spoken(tokens[index]);
  return ENDS[tokens[index]] ?? (number ? say(`word_${side}`, { token, number }) : token);
}

// The spoken name of a token of the row below, after its input token where rows are named by both; of an output token
// the chance that the model gave it.
export function belowName({ below, outputs, outputWords: words, inputs, probabilities, ranks }, index) {
  const output = spokenName(outputs, words, below, index), rank = ranks[index];
  const name = inputs ? say("fed", { token: spoken(inputs[index]), name: output }) : output;
  if (below !== "output") return name;
  return say("chance", { name, share: shareText(probabilities[index]), rank: rank === 1 ? "" : say("rank", { rank }) });
}

// The reason why a sure token has no more. smoothing: the share of label smoothing, 0 without.
export function surenessText(probability, smoothing) {
  if (!smoothing || 1 - probability > smoothing * (4 / 3)) return "";
  return say("sure", { probability, smoothing });
}

// The weights of one token, given as [index, weight], largest first: the first few one by one, then the others' sum.
function listed(weights, naming) {
  const sorted = [...weights].sort((one, other) => other[1] - one[1] || one[0] - other[0]);
  const rest = sorted.slice(NAMED).reduce((sum, [, weight]) => sum + weight, 0), count = sorted.length - NAMED;
  const parts = sorted.slice(0, NAMED).map(([index, weight]) => {
    return say("weight", { token: naming(index), share: shareText(weight) });
  });
  return count > 0 ? [...parts, say("rest", { count, share: shareText(rest) })] : parts;
}

const sourceAt = ({ source }, index) => quotedAt(source, index, "source token");
const belowAt = ({ outputs, below }, index) => quotedAt(outputs, index, `${below} token`);

// A token of the row below and its largest weights; equal tokens have their number.
export function outputWords(data, row) {
  const sure = data.below === "output" ? surenessText(data.probabilities[row], data.smoothing) : "";
  const others = listed(data.weights[row].entries(), (column) => sourceAt(data, column));
  return say("looks", { token: belowAt(data, row), others, sure });
}

// A source token and the tokens that attend to it most. Their weights belong to different rows and have no sum.
export function sourceWords(data, column) {
  const rows = data.weights.map((row, index) => [index, row[column]]).sort((one, other) => other[1] - one[1]);
  const [[first, most], ...less] = rows.slice(0, NAMED).filter(([, weight], place) => !place || weight >= LEAST);
  const others = less.map(([row, weight]) => say("other", { token: belowAt(data, row), share: shareText(weight) }));
  return say("looked_at", {
    reader: belowAt(data, first), token: sourceAt(data, column), share: shareText(most),
    next: others.length ? say("next", { others }) : "",
  });
}

// The text while no token is pointed at. heads: the number of cross-attention heads, null where several are averaged;
// resting: a token that rests on a mark or an end, { token, key }, or null; doubts: of story.js.
export function invitation({ heads, resting, doubts }) {
  return say("invitation", {
    one: heads ? say("one_of", { heads }) : "",
    rests: resting ? say("rests", { token: resting.token, key: resting.key }) : "",
    other: doubts.some(Boolean) ? say("below_half") : "",
  });
}

// The effect of hidden words on a translation. hidden: the words; words: the number of all; language: of the words, ""
// where it is unknown; outcome: see outcomeText.
export function hiddenText({ hidden, words: all, language, outcome: change }) {
  const count = hidden.length;
  if (!count) return language ? say("hide_in", { language }) : say("hide");
  const outcome = outcomeText(change);
  if (count === all) return say("all_hidden", { outcome });
  const many = say(hidden.some((word) => isMarks(word)) ? "many_with_marks" : "many_words", { count });
  const words = count > NAMED ? [many] : hidden.map(quoted);
  return say(count > 1 ? "hidden_several" : "hidden", { words, outcome });
}

// Some words without others, each of which takes away one; the rest has moved.
function without(some, others) {
  const left = [...others];
  return some.filter((word) => !left.includes(word) || !left.splice(left.indexOf(word), 1));
}

// changes: of the words, each { lost, gained }; words: the number of words before; isEmpty: nothing is left.
function outcomeText({ changes, words, isEmpty }) {
  if (!changes.length) return say("same");
  if (isEmpty) return say("nothing");
  const [lost, gained] = ["lost", "gained"].map((side) => changes.flatMap((each) => each[side]));
  if (changes.length > 1 || Math.max(lost.length, gained.length) > NAMED) {
    const gone = without(lost, gained), come = without(gained, lost), count = come.length;
    if (!gone.length && !count) return say("moved");
    if (!gone.length) return count === 1 ? say("gains", { now: quoted(come[0]) }) : say("gains_many", { count });
    return say("change", { count: gone.length, words });
  }
  const [old, now] = [lost, gained].map((side) => quoted(side.join(" ")));
  if (!gained.length) return say("loses", { old });
  return lost.length ? say("becomes", { old, now }) : say("gains", { now });
}
