// Facts of a sentence as the explorer draws them: words, measures of heads, heads worth a look.

import { SPECIAL_TOKENS, isLanguage, isMarks } from "../lib/tokens.js";

export const KINDS = ["encoder", "decoder", "cross"];
const SPACE = "▁", WITHIN_WORDS = /^[-'’]+$/; // punctuation that may stand in the middle of a word
const LOOKS = 3; // heads worth a look

// A kind of attention: its size, and of each head, layer by layer, its pattern and measures; with the heads worth a
// look.
export function kindOf(facts, name) {
  const { source, fed } = { source: facts.sourceTokens.length, fed: facts.decoderInputTokens.length };
  const [layers, heads, ...small] = facts[name].shape, pattern = facts.patterns[name];
  return {
    layers, heads, queries: name === "encoder" ? source : fed, keys: name === "decoder" ? fed : source,
    small, weights: facts[name].weights, ...pattern, measures: measuresOf(pattern, facts.leastRows),
    looks: looksOf(pattern, heads),
  };
}

// The values of each measure that any head has; null where rows are too few.
function measuresOf({ confidence, entropy, counts }, leastRows) {
  const share = ([rows, eligible]) => (eligible >= leastRows ? rows / eligible : null);
  const shares = Object.entries(counts).map(([name, each]) => [name, each.map(share)]);
  const known = ([, values]) => values.some((value) => value !== null);
  return Object.fromEntries([["confidence", confidence], ["entropy", entropy], ...shares].filter(known));
}

// The heads with a pattern to look at first, as unlike as can be: of each label the most confident, then the rest.
function looksOf({ labels, confidence }, heads) {
  const labelled = labels.flatMap((label, at) => (label ? [at] : []));
  const sorted = labelled.sort((one, other) => confidence[other] - confidence[one]);
  const isFirst = (at) => sorted.find((each) => labels[each] === labels[at]) === at;
  const looks = [...sorted.filter(isFirst), ...sorted.filter((at) => !isFirst(at))].slice(0, LOOKS);
  return looks.map((at) => ({ layer: Math.floor(at / heads), head: at % heads }));
}

// The tokens of a side, the positions of the special ones and of all without content, and for each token the number of
// its word.
export function sideOf(tokens) {
  let word = -1;
  const words = tokens.map((token, at) => (word += at === 0 || startsWord(tokens[at - 1], token) ? 1 : 0));
  const places = (fits) => tokens.flatMap((token, at) => (fits(token) ? [at] : []));
  const isEmpty = (token) => isSpecial(token) || isLanguage(token) || isMarks(token);
  return { tokens, special: places(isSpecial), empty: places(isEmpty), words };
}

const isSpecial = (token) => SPECIAL_TOKENS.includes(token);
const isMark = (token) => isMarks(token) && !WITHIN_WORDS.test(token);

// A word begins after a blank, at a special token, and between letters and marks.
function startsWord(before, token) {
  if (token.startsWith(SPACE) || isSpecial(before) || isSpecial(token)) return true;
  return before !== SPACE && isMark(before) !== isMark(token);
}
