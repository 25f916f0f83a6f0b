// The measures of headlight/lessons/measures/attention.py, by the engine of this page.

import { entropyOf, isWord } from "../../payloads/patterns.js";
import { matchingBlocks } from "../../payloads/opcodes.js";
import { quoted, quotedAt, shortWeight } from "../../payloads/text.js";
import { Undecided } from "../run.js";
import {
  headIn, headNames, indexOfMost, largestFirst, leadOf, listed, most, quotedAll, tokenOptions, words,
} from "./wording.js";

export function most_read(run, { kind }) {
  const { trace } = run, say = run.say("attention.most_read"), { NEAR, MOST_OPTIONS } = run.limits("attention");
  const head = run.firstHead(kind), rows = run.rows(kind, head);
  const keys = kind === "decoder" ? trace.decoderInputTokens : trace.sourceTokens;
  const named = kind === "encoder" ? trace.sourceTokens : trace.targetTokens;
  const lead = rows.map((row, at) => (isWord(named[at]) ? leadOf(row) : -1)), row = indexOfMost(lead);
  if (lead[row] < NEAR) throw new Undecided(say("undecided"));
  const ranked = largestFirst(rows[row]), [best] = ranked, digits = Array.from(rows[row], shortWeight);
  const all = ranked.slice(0, MOST_OPTIONS).map((key) => `${quoted(keys[key])} ${digits[key]}`);
  return {
    kind: "one",
    truth: say("truth", quoted(named[row]), quoted(keys[best]), digits[best]),
    calculation: say("calculation", all.join(", ")),
    options: tokenOptions(keys, ranked, (key) => say("said", digits[key]), MOST_OPTIONS),
    right: [String(best)],
    names: { ...headNames(head), row: String(row + 1), word: named[row], key: String(best + 1), read: keys[best] },
  };
}

export function most_spread(run) {
  const { trace } = run, say = run.say("attention.most_spread"), { NEAR, MOST_OPTIONS } = run.limits("attention");
  const head = run.firstHead("cross"), rows = run.rows("cross", head), tokens = trace.targetTokens;
  const places = [...tokens.keys()].filter((row) => isWord(tokens[row])), largest = rows.map(most);
  const ranked = [...places].sort((one, other) => largest[one] - largest[other]), [spread, next] = ranked;
  if (ranked.length < 2 || largest[next] - largest[spread] < NEAR) throw new Undecided(say("undecided"));
  const entropies = places.map((row) => entropyOf(rows[row]));
  if (spread !== places[indexOfMost(entropies)]) throw new Undecided(say("undecided 2"));
  const name = (row) => quotedAt(tokens, row, "output token"), digits = largest.map(shortWeight);
  return {
    kind: "one",
    truth: say("truth", name(spread), digits[spread]),
    calculation: say("calculation", ranked.map((row) => `${name(row)} ${digits[row]}`).join(", ")),
    options: tokenOptions(tokens, ranked, (row) => say("said", digits[row]), MOST_OPTIONS, "output token"),
    right: [String(spread)],
    names: { ...headNames(head), row: String(spread + 1), word: tokens[spread] },
  };
}

function alike(one, other) {
  const [left, right] = [words(one), words(other)], total = left.length + right.length;
  return total ? (2 * matchingBlocks(left, right).reduce((sum, [, , size]) => sum + size, 0)) / total : 1;
}

// The words of the source, and the translation without each.
async function hiddenWords(run) {
  const { sourceTokens } = run.trace;
  const named = run.words.map(([from, to]) => sourceTokens.slice(from, to).join("").replaceAll("▁", ""));
  if (named.length < 2) throw new Undecided(run.say("attention._hidden_words")("undecided 2"));
  return [named, await run.withoutEachWord()];
}

export async function without_word(run) {
  const say = run.say("attention.without_word"), { NEGATIONS, MOST_OPTIONS, LONGEST } = run.limits("attention");
  const [named, left] = await hiddenWords(run), { nothing } = run.source.words, before = run.trace.targetText;
  const changed = [...left.keys()].filter((number) => left[number] !== before);
  if (!changed.length) throw new Undecided(say("undecided"));
  const negation = changed.find((number) => NEGATIONS.includes(named[number].toLowerCase()));
  const number = negation ?? changed[indexOfMost(changed.map((each) => alike(before, left[each])))];
  const like = new Map(changed.map((each) => [each, alike(left[number], left[each])]));
  const others = changed.filter((each) => left[each] !== left[number]).sort((a, b) => like.get(b) - like.get(a));
  const told = new Map([[left[number], ""], [before, say("told")]]);
  for (const each of others) {
    if (!told.has(left[each])) told.set(left[each], say("said", quotedAt(named, each, "word")));
  }
  const texts = [...told.keys()].slice(0, MOST_OPTIONS);
  if (most(texts.map((text) => [...text].length)) > LONGEST) throw new Undecided(say("undecided 2"));
  const hidden = quotedAt(named, number, "word");
  return {
    kind: "one",
    truth: say("truth", hidden, quoted(left[number] || nothing)),
    calculation: say("calculation", quoted(before), hidden),
    options: texts.map((text, at) => [String(at), quoted(text || nothing), told.get(text)]),
    right: ["0"],
    names: { word: named[number], key: String(number + 1), translation: before, left: left[number] },
  };
}

export async function harmless_words(run) {
  const say = run.say("attention.harmless_words"), { _HARMLESS, _MISSED } = run.limits("attention");
  const [named, left] = await hiddenWords(run), { nothing } = run.source.words, numbers = [...named.keys()];
  const harmless = numbers.filter((number) => left[number] === run.trace.targetText);
  const missed = numbers.filter((number) => !harmless.includes(number));
  if (!harmless.length || !missed.length) {
    throw new Undecided(say("undecided", say(harmless.length ? "which 2" : "which")));
  }
  const chosen = [...harmless.slice(0, _HARMLESS), ...missed.slice(0, _MISSED)].sort((a, b) => a - b);
  const name = numbers.map((number) => quotedAt(named, number, "word"));
  return {
    kind: "several",
    truth: say("truth", harmless.length, named.length, listed(harmless.map((each) => name[each]))),
    calculation: say("calculation", name[missed[0]], quoted(left[missed[0]] || nothing), name[harmless[0]]),
    options: chosen.map((each) => [String(each), name[each], say("option", left[each] || nothing)]),
    right: chosen.filter((each) => harmless.includes(each)).map(String),
    names: { key: String(harmless[0] + 1), count: String(harmless.length), of: String(named.length) },
  };
}

// Query and key of the largest weight between two words; null without any.
function strongestWordPair(rows, keys, outputs) {
  let best = null;
  rows.forEach((weights, row) => weights.forEach((weight, key) => {
    if (weight > (best?.weight ?? 0) && isWord(keys[key]) && isWord(outputs[row])) best = { weight, row, key };
  }));
  return best;
}

export function mean_of_heads(run) {
  const { trace } = run, say = run.say("attention.mean_of_heads"), { NEAR } = run.limits("attention");
  const head = run.firstHead("cross"), { shape: [layers, heads, queries, keys], weights } = trace.cross;
  const pair = strongestWordPair(run.rows("cross", head), trace.sourceTokens, trace.targetTokens);
  if (!pair) throw new Undecided(say("undecided"));
  const count = layers * heads, at = pair.row * keys + pair.key;
  let mean = 0;
  for (let each = 0; each < count; each++) mean += weights[each * queries * keys + at] / count;
  if (Math.abs(pair.weight - mean) < NEAR) throw new Undecided(say("undecided 2"));
  const word = trace.targetTokens[pair.row], read = trace.sourceTokens[pair.key], weight = shortWeight(pair.weight);
  return {
    kind: "number",
    truth: say("truth", count, shortWeight(mean), quoted(read), weight),
    calculation: say("calculation", count, quoted(word), quoted(read), count, shortWeight(mean)),
    value: mean, tolerance: NEAR, bounds: [0, 1],
    names: {
      ...headNames(head), row: String(pair.row + 1), key: String(pair.key + 1), word, read, weight,
      heads: String(count),
    },
  };
}

export function lines_cross(run) {
  const { trace, address } = run, say = run.say("attention.lines_cross"), { LINE } = run.limits("attention");
  const first = run.firstHead("cross"), asked = headIn(address), [layers, heads] = trace.cross.shape;
  const isThere = asked && asked.layer >= 0 && asked.layer < layers && asked.head >= 0 && asked.head < heads;
  const rows = run.rows("cross", isThere ? asked : first), outputs = trace.targetTokens, keys = trace.sourceTokens;
  const lines = rows.map((row, at) => [at, indexOfMost(row)]).filter(([row, key]) => {
    return isWord(outputs[row]) && rows[row][key] >= LINE && isWord(keys[key]);
  });
  const pairs = lines.flatMap((one) => lines.map((other) => [one, other]));
  const crossing = pairs.find(([one, other]) => one[0] < other[0] && one[1] > other[1]);
  const read = lines.map(([row, key]) => say("read", quoted(outputs[row]), quoted(keys[key])));
  const named = crossing && [
    quotedAll(crossing.map(([row]) => outputs[row])), quotedAll(crossing.map(([, key]) => keys[key])),
  ];
  return {
    kind: "do",
    truth: named ? say("truth", ...named) : say("truth 2"),
    calculation: say("calculation", listed(read) || say("calculation 2")),
    done: Boolean(crossing),
    names: headNames(first),
  };
}

