// What the token lines show of a trace and one cross-attention head, as headlight.views.home.lines_content.py says it,
// and what became of it when words were hidden, as headlight/views/home/content.py does.

import { wordRanges } from "../../lib/tokens.js";
import { matchingBlocks, opcodes } from "./opcodes.js";
import { chanceWords, headName, quoted, shortChance, shortest } from "./text.js";

const MOST_NAMED = 3; // words of a translation in a headline

// The map of one head as rows of numbers.
export function rowsOf({ shape: [, heads, queries, keys], weights }, layer, head) {
  const from = (layer * heads + head) * queries * keys;
  const row = (at) => weights.subarray(from + at * keys, from + (at + 1) * keys);
  return Array.from({ length: queries }, (_, at) => row(at));
}

export function linesPayload(trace, { layer, head }, apart, letters) {
  const probabilities = Array.from(trace.targetProbabilities, shortest);
  return {
    name: headName(layer, head),
    source: trace.sourceTokens, outputs: trace.targetTokens, below: "output", inputs: trace.decoderInputTokens,
    source_words: wordRanges(trace.sourceTokens), output_words: wordRanges(trace.targetTokens),
    probabilities,
    chances: probabilities.map(chanceWords), short_chances: probabilities.map(shortChance),
    ranks: [...trace.targetRanks],
    weights: rowsOf(trace.cross, layer, head).map((row) => Array.from(row, shortest)),
    apart, letters,
  };
}

// The positions of the output tokens that are not in the translation before, in its order.
export function changedOutputs(before, after) {
  const changes = opcodes(before.targetIds, after.targetIds).filter(([tag]) => tag === "replace" || tag === "insert");
  return changes.flatMap(([, , , ...range]) => positionsOf(range));
}

// The words of a sentence, or those in some ranges of its tokens, as texts.
export const wordsOf = (tokens, ranges = wordRanges(tokens)) => {
  return ranges.map(([start, stop]) => tokens.slice(start, stop).join("").replaceAll("▁", ""));
};

// The positions in a range, such as that of a word.
export const positionsOf = ([start, stop]) => Array.from({ length: stop - start }, (_, at) => start + at);

// hidden: ranges of source tokens; harmless: the words without which the translation is the same, null where that was
// not measured.
export function describeHidden(before, after, hidden, harmless = null) {
  if (!hidden.length) return "Click a word to hide it from the model. What happens?";
  const count = wordRanges(before.sourceTokens).length;
  if (hidden.length === count) return `With every word hidden ${outcome(before, after)}.`;
  const each = wordsOf(before.sourceTokens, hidden).map(quoted).join(" and ");
  const without = hidden.length > MOST_NAMED ? `${hidden.length} words and marks` : each;
  let spare = "";
  if (harmless && hidden.length === 1) {
    const some = `${harmless.length} of ${count} words and marks can go alone without any change`;
    const names = wordsOf(before.sourceTokens, harmless).map(quoted).join(", ");
    const named = harmless.length <= MOST_NAMED ? `: ${names}` : "";
    spare = harmless.length ? ` ${some}${named}.` : " Here every word matters.";
  }
  return `Without ${without} ${outcome(before, after)}.${spare}`;
}

export const isSame = (one, other) => one.length === other.length && one.every((each, at) => each === other[at]);

function outcome(before, after) {
  if (isSame(before.targetIds, after.targetIds)) return "the translation stays the same";
  if (!after.targetText.trim()) return "nothing is left of the translation";
  const old = wordsOf(before.targetTokens), now = wordsOf(after.targetTokens);
  const changes = opcodes(old, now).filter(([tag]) => tag !== "equal");
  const lost = changes.flatMap(([, from, to]) => old.slice(from, to));
  const gained = changes.flatMap(([, , , from, to]) => now.slice(from, to));
  if (changes.length > 1 || Math.max(lost.length, gained.length) > MOST_NAMED) {
    const kept = matchingBlocks(old, now).reduce((sum, [, , length]) => sum + length, 0);
    return `${old.length - kept} of ${old.length} words and marks change`;
  }
  if (!gained.length) return `the translation loses ${quoted(lost.join(" "))}`;
  if (!lost.length) return `the translation gains ${quoted(gained.join(" "))}`;
  return `${quoted(lost.join(" "))} becomes ${quoted(gained.join(" "))}`;
}
