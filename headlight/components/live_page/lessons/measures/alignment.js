// The measures of headlight/lessons/measures/alignment.py, by the engine of this page.

import { alignedKeys, isWord, shareOf } from "../../payloads/patterns.js";
import { headName, percent, quoted, sentenceCase, shortWeight } from "../../payloads/text.js";
import { Undecided } from "../run.js";
import {
  headNames, indexOfMost, largestFirst, leadOf, listed, meanOf, once, quotedAll, tokenOptions,
} from "./wording.js";

const OUTPUT = "alignment", INPUT = "input alignment";

export const keyOf = ({ layer, head }) => `${layer + 1}.${head + 1}`;
export const nameOf = ({ layer, head }) => headName(layer, head);
export const share = (run, { counts }, pattern) => shareOf(counts[pattern], run.law) || 0;
export const inRows = (run, { counts }, pattern) => run.say("alignment.in_rows")("said", ...counts[pattern]);

export function rankedBy(run, measured, pattern) {
  return [...measured].sort((one, other) => share(run, other, pattern) - share(run, one, pattern));
}

export function clearBest(run, measured, pattern) {
  const [first, second] = rankedBy(run, measured, pattern), { NEAR } = run.limits("alignment");
  if (second && share(run, first, pattern) - share(run, second, pattern) < NEAR) {
    throw new Undecided(run.say("alignment.clear_best")("undecided"));
  }
  return first;
}

function crossHeads(run) {
  const measured = run.heads("cross");
  if (![OUTPUT, INPUT].every((pattern) => Number.isFinite(shareOf(measured[0].counts[pattern], run.law)))) {
    throw new Undecided(run.say("alignment.cross_heads")("undecided"));
  }
  return measured;
}

// For each output token the source word without which its log P falls most; -1 for what is no word.
async function neededKeys(run) {
  const { sourceTokens, targetTokens } = run.trace, lost = await run.lostWithout();
  return targetTokens.map((token, at) => {
    const losses = sourceTokens.map((key, place) => (isWord(key) ? lost[place][at] : -Infinity));
    return isWord(token) ? indexOfMost(losses) : -1;
  });
}

// In how many rows each head has its largest weight on the word that is needed most.
async function neededRows(run, measured) {
  const needed = await neededKeys(run);
  return new Map(measured.map((head) => {
    const largest = run.rows("cross", head).map((row) => indexOfMost(row));
    return [head, needed.filter((key, row) => key >= 0 && key === largest[row]).length];
  }));
}

// The head that aligns in most rows, then others to choose from, clearly behind it by both yardsticks.
function alignersOf(run, measured, byNeed) {
  const { NEAR, MOST_OPTIONS } = run.limits("alignment"), rows = (head) => [head.counts[OUTPUT][0], byNeed.get(head)];
  const sum = (head) => rows(head)[0] + rows(head)[1];
  const [best, ...others] = [...measured].sort((one, other) => sum(other) - sum(one));
  const least = Math.max(1, NEAR * best.counts[OUTPUT][1]);
  const behind = others.filter((head) => Math.min(...rows(best).map((count, at) => count - rows(head)[at])) >= least);
  const byInput = rankedBy(run, measured, INPUT).slice(0, 1).filter((head) => behind.includes(head));
  if (behind.length < MOST_OPTIONS - 1) throw new Undecided(run.say("alignment._aligners")("undecided"));
  return once([best, ...behind.slice(0, 2), ...byInput, ...behind.slice(2)]).slice(0, MOST_OPTIONS);
}

export async function best_aligner(run) {
  const say = run.say("alignment.best_aligner"), measured = crossHeads(run), byNeed = await neededRows(run, measured);
  const chosen = alignersOf(run, measured, byNeed), [best] = chosen, eligible = best.counts[OUTPUT][1];
  const told = (head) => say("told", head.counts[OUTPUT][0], eligible, byNeed.get(head));
  const all = chosen.map((head) => say("calculation 2", nameOf(head), head.counts[OUTPUT][0], byNeed.get(head)));
  return {
    kind: "one",
    truth: `${sentenceCase(nameOf(best))}: ${told(best)}`,
    calculation: say("calculation", eligible, all.join("; ")),
    options: chosen.map((head) => [keyOf(head), nameOf(head), sentenceCase(told(head))]),
    right: [keyOf(best)],
    names: headNames(best),
  };
}

export function fed_in_row(run) {
  const { trace } = run, say = run.say("alignment.fed_in_row"), { MOST_OPTIONS } = run.limits("alignment");
  const tokens = trace.targetTokens, fed = trace.decoderInputTokens;
  const rows = [...tokens.keys()].slice(2, -1).filter((row) => {
    const near = tokens.slice(row - 2, row + 2);
    return near.slice(0, -1).every(isWord) && new Set(near).size === MOST_OPTIONS;
  });
  if (!rows.length) throw new Undecided(say("undecided"));
  const row = rows[Math.floor(rows.length / 2)], word = quoted(tokens[row]);
  const told = { [row]: say("told"), [row + 1]: say("told 2", word), [row - 1]: "", [row - 2]: say("told 3") };
  const places = [row - 1, row, row + 1, row - 2];
  return {
    kind: "one",
    truth: say("truth", word, quoted(fed[row])),
    calculation: say("calculation", quotedAll(fed.slice(1, row + 1)), row + 1),
    options: tokenOptions(tokens, places, (place) => told[place], MOST_OPTIONS, "output token"),
    right: [String(row - 1)],
    names: { ...headNames(run.firstHead("cross")), word: tokens[row], fed: fed[row], row: String(row + 1) },
  };
}

export async function read_when_fed(run) {
  const { trace } = run, say = run.say("alignment.read_when_fed"), { NEAR, MOST_OPTIONS } = run.limits("alignment");
  const measured = crossHeads(run), [best] = alignersOf(run, measured, await neededRows(run, measured));
  const weights = run.rows("cross", best), needed = await neededKeys(run), sources = trace.sourceTokens;
  const aligned = alignedKeys(trace.cross, sources, trace.targetTokens);
  const rows = [...aligned.keys()].slice(1).filter((row) => {
    const [before, here] = aligned.slice(row - 1, row + 1);
    const isOne = here === indexOfMost(weights[row]) && here === needed[row];
    return Math.min(before, here) >= 0 && before !== here && isOne && leadOf(weights[row]) >= NEAR;
  });
  if (!rows.length) throw new Undecided(say("undecided"));
  const row = rows[indexOfMost(rows.map((each) => leadOf(weights[each])))];
  const digits = Array.from(weights[row], shortWeight);
  const fed = trace.decoderInputTokens[row], word = trace.targetTokens[row];
  const [before, here] = aligned.slice(row - 1, row + 1);
  const others = largestFirst(weights[row]).filter((key) => isWord(sources[key]));
  return {
    kind: "one",
    truth: say("truth", quoted(sources[here]), digits[here], quoted(fed), quoted(word)),
    calculation: say("calculation", digits[before], quoted(sources[before]), digits[here], quoted(sources[here])),
    options: tokenOptions(sources, [here, before, ...others], (key) => say("said", digits[key]), MOST_OPTIONS),
    right: [String(here)],
    names: { ...headNames(best), fed, word, read: sources[here], row: String(row + 1) },
  };
}

export function better_reading(run) {
  const say = run.say("alignment.better_reading"), { NEAR } = run.limits("alignment"), measured = crossHeads(run);
  const head = clearBest(run, measured, INPUT), [written, fed] = [OUTPUT, INPUT].map((each) => share(run, head, each));
  if (Math.abs(written - fed) < NEAR) throw new Undecided(say("undecided"));
  const [byOutput, byInput] = [OUTPUT, INPUT].map((pattern) => inRows(run, head, pattern));
  return {
    kind: "one",
    truth: say("truth", byInput, byOutput),
    calculation: say("calculation", nameOf(head), percent(written), percent(fed)),
    options: [
      ["output", say("option"), say("told", byOutput)],
      ["input", say("option 2"), say("told", byInput)],
      ["either", say("option 3"), say("option 4")],
    ],
    right: [fed > written ? "input" : "output"],
    names: headNames(head),
  };
}

export async function aligning_layer(run) {
  const say = run.say("alignment.aligning_layer"), { NEAR, MOST_OPTIONS } = run.limits("alignment");
  const measured = crossHeads(run), byNeed = await neededRows(run, measured);
  const layers = once(measured.map(({ layer }) => layer));
  const of = (layer) => measured.filter((head) => head.layer === layer);
  const means = layers.map((layer) => meanOf(of(layer).map((head) => share(run, head, OUTPUT))));
  const needs = layers.map((layer) => meanOf(of(layer).map((head) => byNeed.get(head))));
  const [first, ...others] = largestFirst(means);
  if (!others.length || means[first] - means[others[0]] < NEAR || indexOfMost(needs) !== first) {
    throw new Undecided(say("undecided"));
  }
  const shown = [first, ...others].slice(0, MOST_OPTIONS).sort((one, other) => one - other), last = others.at(-1);
  const digits = means.map(percent);
  return {
    kind: "one",
    truth: say("truth", first + 1, digits[first], last + 1, digits[last]),
    calculation: say("calculation", listed(shown.map((layer) => say("calculation 2", layer + 1, digits[layer])))),
    options: shown.map((layer) => [String(layer), say("option", layer + 1), say("option 2", digits[layer])]),
    right: [String(first)],
    names: { layer: String(first + 1) },
  };
}

export function input_head(run) {
  const say = run.say("alignment.input_head"), { PLAINLY } = run.limits("alignment"), measured = crossHeads(run);
  const [known] = rankedBy(run, measured, INPUT), [aligner] = rankedBy(run, measured, OUTPUT);
  const readsItsInput = (head) => {
    const fed = share(run, head, INPUT);
    return fed > 0.5 && fed - share(run, head, OUTPUT) >= PLAINLY;
  };
  if (!readsItsInput(known)) throw new Undecided(say("undecided"));
  const { heads, layer, head: number } = run.address, single = heads ? "" : `${layer}.${number}`;
  const chosen = measured.find((head) => keyOf(head) === single) ?? aligner;
  const told = say("told", sentenceCase(nameOf(chosen)), inRows(run, chosen, INPUT));
  return {
    kind: "do",
    truth: `${told} ${inRows(run, chosen, OUTPUT)}.`,
    calculation: say("calculation", nameOf(known), inRows(run, known, INPUT)),
    done: readsItsInput(chosen),
    names: { ...headNames(aligner), found_layer: String(known.layer + 1), found_head: String(known.head + 1) },
  };
}

