// Token lines of a translation and the map of one cross-attention head.
//
// Facts: of a trace (engine/headlight.js) its tokens, text, probabilities and ranks, and besides
// { hidden, unhiddenTokens, smoothing }: the numbers, from 0, of the hidden source words, the output tokens without any
// hidden word, and the share of label smoothing, 0 without. In the app the maps of all heads are missing: `shownCross`
// is the map of the chosen one, { shape: [queries, keys], weights }, and `headCounts` has the numbers of layers and
// heads, `sourceLanguage` its name.

import { changesBetween } from "../lib/diff.js";
import { averageMap } from "../lib/maps.js";
import { headName } from "../lib/names.js";
import { isMarks, wordRanges } from "../lib/tokens.js";
import { hiddenText } from "./words.js";

// Below this the model's first choice is the reference's in 36 % (en-de) and 37 % (en-fr) of steps, above it in 89 and
// 91 %; the second choice then is in 21 % (250 sentences of the Tatoeba test each, fed their references).
const DOUBTFUL = 0.5;

const RESTING = 0.6; // the least weight of a token that rests on another: no other has two thirds of it
const STOP = /^▁?[.!?]+$/;

// chosen: { layer, head }; rows: the tokens that name a row of the map, "predicted", "fed" or "both".
export function linesStory(facts, chosen, rows) {
  const { sourceTokens, decoderInputTokens, targetTokens, hidden, unhiddenTokens } = facts;
  const map = facts.cross ? averageMap(facts.cross, chosen) : facts.shownCross.weights;
  const [layers, heads] = facts.cross?.shape ?? facts.headCounts;
  const outputs = rows === "fed" ? decoderInputTokens : targetTokens, sourceWords = wordRanges(sourceTokens);
  const weights = rowsOf(map, sourceTokens.length), isSingle = ![chosen.layer, chosen.head].includes(null);
  return {
    name: headName(chosen, { layers, heads }),
    source: sourceTokens, outputs, below: rows === "fed" ? "input" : "output",
    inputs: rows === "both" ? decoderInputTokens : null,
    sourceWords, outputWords: wordRanges(outputs),
    probabilities: facts.targetProbabilities, ranks: facts.targetRanks, weights, smoothing: facts.smoothing ?? 0,
    heads: isSingle ? layers * heads : null,
    resting: isSingle && rows !== "fed" ? restingOf(facts, weights) : null,
    hidden: hidden.flatMap((number) => positionsOf(sourceWords[number])),
    changed: changesBetween(unhiddenTokens, targetTokens).flatMap(([, , ...range]) => positionsOf(range)),
    lost: lostOf(unhiddenTokens, targetTokens), doubts: doubtsOf(facts),
    headline: hiddenText(hidingOf(facts)), whole: facts.targetText,
  };
}

// The first mark or end that reads mostly a full stop or the end, which match neither it nor the input: { token, key }.
function restingOf({ sourceTokens, decoderInputTokens, targetTokens }, weights) {
  const isEnd = (token) => token === "</s>";
  const isMatch = (one, other) => one === other || (STOP.test(one) && STOP.test(other));
  const pairs = targetTokens.map((token, row) => {
    const weight = Math.max(...weights[row]), key = sourceTokens[weights[row].indexOf(weight)];
    const isOther = ![token, decoderInputTokens[row]].some((each) => isMatch(each, key));
    const rests = (isEnd(token) || isMarks(token)) && (isEnd(key) || STOP.test(key)) && isOther;
    return rests && weight >= RESTING ? { token, key } : null;
  });
  return pairs.find(Boolean) ?? null;
}

// The words that hiding took away without another in their place: { at, text }, the output token they stood before.
function lostOf(before, now) {
  const gone = changesBetween(before, now).filter(([from, to, start, stop]) => to > from && start === stop);
  return gone.map(([from, to, at]) => ({ at, text: before.slice(from, to).join("").replaceAll("▁", " ").trim() }));
}

// For each output token that got less than half of the probability, the most probable other candidate, else null.
function doubtsOf({ targetTokens, targetProbabilities, targetRanks, candidateTokens, candidateProbabilities }) {
  const count = candidateProbabilities.length / targetTokens.length;
  return targetTokens.map((token, step) => {
    const other = candidateTokens[step].findIndex((candidate) => candidate !== token);
    if (targetProbabilities[step] >= DOUBTFUL || other < 0) return null;
    const probability = candidateProbabilities[step * count + other];
    return { token: candidateTokens[step][other], probability, isBest: targetRanks[step] === 1 };
  });
}

// The positions in a range of tokens, such as that of a word.
export const positionsOf = ([start, stop]) => Array.from({ length: stop - start }, (_, at) => start + at);

function rowsOf(map, keys) {
  return Array.from({ length: map.length / keys }, (_, row) => [...map.subarray(row * keys, (row + 1) * keys)]);
}

// The hidden words and what became of the translation, as the sentence of words.js takes them.
function hidingOf({ sourceTokens, targetTokens, targetText, hidden, unhiddenTokens, sourceLanguage = "" }) {
  const words = wordsOf(sourceTokens), old = wordsOf(unhiddenTokens), now = wordsOf(targetTokens);
  const changes = changesBetween(old, now).map(([from, to, start, stop]) => {
    return { lost: old.slice(from, to), gained: now.slice(start, stop) };
  });
  return {
    hidden: hidden.map((number) => words[number]), words: words.length, language: sourceLanguage,
    outcome: { changes, words: old.length, isEmpty: !targetText.trim() },
  };
}

// The words and punctuation marks of a sentence as they are written.
function wordsOf(tokens) {
  return wordRanges(tokens).map(([start, stop]) => tokens.slice(start, stop).join("").replaceAll("▁", ""));
}
