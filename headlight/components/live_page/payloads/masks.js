// What the masks of a batch of two sentences do, as headlight/views/masks/content.py says it: its words come from
// there, the numbers from engine/masks.js.

import { tiny } from "../../lib/format.js";
import {
  LEAST_SHOWN, chanceWords, distinct, filled, fixed, general, grouped, headName, percent, pluralize, quoted, signed,
} from "./text.js";

const PADDING = "<pad>";
const sum = (values) => values.reduce((total, value) => total + value, 0);
const mean = (values) => sum(values) / values.length;
const placeOfMost = (values) => values.indexOf(Math.max(...values));

// Two sentences, traces, side by side: to how many tokens each side is filled up, and their tokens with the padding.
export function batchOf(traces) {
  const sizes = traces.map(({ sourceTokens, targetTokens }) => ({
    source: sourceTokens.length, target: targetTokens.length,
  }));
  const most = (side) => Math.max(...sizes.map((size) => size[side]));
  const longest = { source: most("source"), target: most("target") };
  const fill = (tokens, size) => [...tokens, ...Array(size - tokens.length).fill(PADDING)];
  return {
    traces, sizes, longest,
    source: traces.map(({ sourceTokens }) => fill(sourceTokens, longest.source)),
    fed: traces.map(({ decoderInputTokens }) => fill(decoderInputTokens, longest.target)),
    next: traces.map(({ targetTokens }) => fill(targetTokens, longest.target)),
  };
}

// The decoder's three masks of a sentence, 1 where a query may attend: [target x target] each.
export function masksOf({ sizes, longest: { target: size } }, sentence) {
  const real = sizes[sentence].target, cells = (open) => {
    return Uint8Array.from({ length: size * size }, (_, at) => Number(open(Math.floor(at / size), at % size)));
  };
  const notLater = (row, key) => key <= row, notPadded = (_, key) => key < real;
  return {
    size, padding: cells(notPadded), causal: cells(notLater),
    both: cells((row, key) => notLater(row, key) && notPadded(row, key)),
  };
}

const closed = (mask) => mask.length - sum(mask);

export function describeMasks(batch, sentence, words) {
  const { size, padding, causal, both } = masksOf(batch, sentence), covered = closed(padding);
  const headline = filled(words.covered, { causal: closed(causal), cells: size * size, padding: covered });
  if (!covered) return { headline, more: words.no_row_padded };
  const rows = pluralize(batch.sizes[sentence].target, "row");
  return { headline, more: filled(words.covered_together, { together: closed(both), rows }) };
}

export function describeSourceMask({ sizes, longest: { source, target } }, sentence, words) {
  const masked = source - sizes[sentence].source;
  return filled(words.source_covered, {
    masked, source, sentence: sentence + 1,
    of_encoder: masked * source, encoder: source * source, of_cross: masked * target, cross: target * source,
  });
}

// One head of a sentence of the batch: rows of numbers, labels, and how many of both are tokens. pass: of the engine.
export function maskedHead(pass, batch, { kind, sentence, layer, head }) {
  const { shape: [, heads, queries, keys], scores, weights, unmasked } = pass[kind], size = batch.sizes[sentence];
  const from = (layer * heads + head) * queries * keys;
  const rows = (array, at = 0) => {
    return Array.from({ length: queries }, (_, row) => array.subarray(at + row * keys, at + (row + 1) * keys));
  };
  const isEncoder = kind === "encoder", isDecoder = kind === "decoder";
  return {
    kind, layer, head, scores: rows(scores, from), weights: rows(weights, from), unmasked: rows(unmasked),
    fed: (isEncoder ? batch.source : batch.fed)[sentence], predicted: isEncoder ? null : batch.next[sentence],
    keys: (isDecoder ? batch.fed : batch.source)[sentence],
    realQueries: size[isEncoder ? "source" : "target"], realKeys: size[isDecoder ? "target" : "source"],
  };
}

// The same with the rows and columns of tokens alone.
export function withoutPadding({ realQueries, realKeys, ...head }) {
  const cut = (rows) => rows.slice(0, realQueries).map((row) => row.subarray(0, realKeys));
  const named = (tokens, count) => tokens && tokens.slice(0, count);
  return {
    ...head, realQueries, realKeys, scores: cut(head.scores), weights: cut(head.weights), unmasked: cut(head.unmasked),
    fed: named(head.fed, realQueries), predicted: named(head.predicted, realQueries), keys: named(head.keys, realKeys),
  };
}

function rowName({ fed, predicted }, row, words) {
  const template = predicted ? words.row_of_decoder : words.row_of_encoder;
  return filled(template, { fed: quoted(fed[row]), predicted: predicted && quoted(predicted[row]) });
}

// What softmax of the same scores would give to what a head's mask forbids, of each row of a token.
function maskedShares({ scores, unmasked, realQueries }) {
  return scores.slice(0, realQueries).map((row, at) => {
    const peak = Math.max(...row), powers = [...row].map((score) => Math.exp(score - peak));
    return sum(powers.filter((_, key) => !unmasked[at][key])) / sum(powers);
  });
}

export function describeHead(head, words) {
  const cells = head.fed.length * head.keys.length, masked = sum(head.unmasked.map(closed));
  if (!masked) return { headline: filled(words.all_unmasked, { cells }), more: words.try_all_unmasked };
  const shares = maskedShares(head), row = placeOfMost(shares);
  const rows = shares.filter((_, at) => closed(head.unmasked[at]) > 0);
  const place = { row: row + 1, named: rowName(head, row, words), most: percent(shares[row]) };
  return {
    headline: filled(words.share, { mean: percent(mean(rows)) }),
    more: filled(words.share_more, { masked, cells, ...place }),
  };
}

// The rows of tokens of which the disabled mask would have masked a cell.
export function rowsThatMayLeak(masked, disabled, batch, kind, sentence) {
  const { shape: [, , , keys], unmasked } = masked[kind], size = batch.sizes[sentence];
  const count = size[kind === "encoder" ? "source" : "target"], now = disabled[kind].unmasked;
  return Array.from({ length: count }, (_, row) => row).filter((row) => {
    return Array.from({ length: keys }, (_, key) => row * keys + key).some((at) => now[at] && !unmasked[at]);
  });
}

// Of each head of a kind what leaks to its masked cells, by row: [layers x heads][rows].
export function leaks(masked, disabled, kind, rows) {
  const { shape: [layers, heads, queries, keys], unmasked } = masked[kind], { weights } = disabled[kind];
  return Array.from({ length: layers * heads }, (_, place) => rows.map((row) => {
    let total = 0;
    for (let key = 0; key < keys; key++) {
      if (!unmasked[row * keys + key]) total += weights[(place * queries + row) * keys + key];
    }
    return Math.fround(total);
  }));
}

// The head of a kind that leaks most, { layer, head }; null where none can.
export function leakiestHead(masked, disabled, batch, kind, sentence) {
  const rows = rowsThatMayLeak(masked, disabled, batch, kind, sentence), heads = masked[kind].shape[1];
  if (!rows.length) return null;
  const place = placeOfMost(leaks(masked, disabled, kind, rows).map(mean));
  return { layer: Math.floor(place / heads), head: place % heads };
}

// head: with the mask. { headline, more, attempt }; null where nothing can leak.
export function describeLeak(masked, disabled, batch, head, sentence, words) {
  const { kind, layer, head: number } = head, causal = kind === "decoder", heads = masked[kind].shape[1];
  const rows = rowsThatMayLeak(masked, disabled, batch, kind, sentence);
  if (!rows.length) return null;
  const all = leaks(masked, disabled, kind, rows), means = all.map((each) => Math.fround(mean(each)));
  const own = all[layer * heads + number], best = placeOfMost(means), isBest = best === layer * heads + number;
  const row = rows[placeOfMost(own)], numbers = [means[layer * heads + number], Math.max(...own)];
  const [average, most, largest] = distinct(isBest ? numbers : [...numbers, means[best]]);
  let more = filled(words.leak_more, { row: row + 1, named: rowName(head, row, words), most });
  if (causal) more += filled(words.answer, { answer: fixed(answerOf(disabled, head, sentence, batch), 2) });
  if (isBest) more += words.leaks_most;
  const other = headName(Math.floor(best / heads), best % heads);
  return {
    headline: filled(words.leak, { mean: average, to: causal ? words.later : PADDING }), more,
    attempt: isBest ? "" : filled(words.try_leakiest, { head: other, mean: largest }),
  };
}

// A decoder head's mean weight on the token that its row is to predict, one column to the right.
function answerOf({ decoder: { shape: [, heads, queries, keys], weights } }, { layer, head }, sentence, { sizes }) {
  const rows = Array.from({ length: sizes[sentence].target - 1 }, (_, row) => row);
  return mean(rows.map((row) => weights[((layer * heads + head) * queries + row) * keys + row + 1]));
}

// mask: "causal" or "padding"; forced: how many first tokens were not open to choice.
export function describePredictions(masked, disabled, batch, sentence, mask, forced, words) {
  const [before, after] = [masked, disabled].map(({ targetProbabilities }) => [...targetProbabilities.slice(forced)]);
  const [was, now] = [before, after].map(mean), [nowText, wasText] = distinct([now, was]);
  let why = words[`why_${mask}`], headline = filled(words.next_tokens, { now: nowText, was: wasText });
  if (Math.abs(now - was) < LEAST_SHOWN) headline = filled(words.next_tokens_stay, { was: fixed(was, 2) });
  else if (now < was) {
    headline = filled(words.never_learned, { unread: words[`unread_${mask}`], now: nowText, was: wasText });
    why = filled(words.means, { why });
  }
  const at = placeOfMost(before.map((each, step) => Math.abs(after[step] - each)));
  const [had, has] = [before[at], after[at]].map(chanceWords), token = quoted(batch.next[sentence][forced + at]);
  const moved = had === has ? "" : filled(words.changes_most, { step: forced + at + 1, token, now: has, was: had });
  const others = before.filter((_, step) => {
    return masked.bestTokens[forced + step] !== disabled.bestTokens[forced + step];
  }).length;
  const told = filled(words.others, { others, steps: pluralize(before.length, "step") });
  return { headline, more: `${moved}${told} ${why}`, attempt: words[`try_${mask}`] };
}

export function describeNoPadding(masked, disabled, sentence, words) {
  const changes = masked.targetProbabilities.map((each, at) => Math.abs(disabled.targetProbabilities[at] - each));
  return {
    headline: filled(words.no_padding, { sentence: sentence + 1 }),
    more: filled(words.rounding, { change: tiny(Math.max(...changes)) }), attempt: words.try_no_padding,
  };
}

// One row's weights by hand: [name, a text a key] of each line, the last being the model's weights.
export function rowByHand(head, row, words) {
  const { scores, powers, total } = powersOf(head, row), open = head.unmasked[row];
  return [
    [words.line_score, scores.map((score) => signed(score, 4))],
    [words.line_mask, scores.map((score, key) => (open[key] ? signed(score, 4) : "−∞"))],
    [words.line_exp, powers.map(powerText)],
    [filled(words.line_share, { total: powerText(total) }), powers.map((power) => weightText(power / total))],
    [words.line_weight, [...head.weights[row]].map(weightText)],
  ];
}

function powersOf({ scores, unmasked }, row) {
  const own = [...scores[row]], powers = own.map((score, key) => (unmasked[row][key] ? Math.exp(score) : 0));
  return { scores: own, powers, total: sum(powers) };
}

export function rowWords(head, row, words) {
  const { scores, powers, total } = powersOf(head, row), key = placeOfMost(powers);
  return filled(words.by_hand, {
    row: row + 1, what: row < head.realQueries ? quoted(head.fed[row]) : words.padding_row,
    cells: pluralize(sum(head.unmasked[row]), "unmasked cell"), total: powerText(total), key: quoted(head.keys[key]),
    score: signed(scores[key], 4), largest: powerText(powers[key]), share: fixed(powers[key] / total, 4),
    weight: fixed(head.weights[row][key], 4),
  });
}

const weightText = (value) => (value ? fixed(value, 4) : "0");

// Four digits; large numbers whole.
const powerText = (value) => (value >= 1000 ? grouped(fixed(value, 0)) : general(value, 4));
