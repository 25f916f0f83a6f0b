// What headlight/components/live_page says of traces, by name, for tests/browser/test_live_payloads.py.

import { explorerChoice } from "../../headlight/components/live_page/address.js";
import { comparedRows } from "../../headlight/components/live_page/payloads/compared.js";
import { explorerBytes } from "../../headlight/components/live_page/payloads/explorer.js";
import { changedOutputs, describeHidden, linesPayload } from "../../headlight/components/live_page/payloads/lines.js";
import {
  batchOf, describeHead, describeLeak, describeMasks, describeNoPadding, describePredictions, describeSourceMask,
  leakiestHead, maskedHead, rowByHand, rowWords, withoutPadding,
} from "../../headlight/components/live_page/payloads/masks.js";
import { matchingBlocks, opcodes } from "../../headlight/components/live_page/payloads/opcodes.js";
import { measureHeads, plainestHead } from "../../headlight/components/live_page/payloads/patterns.js";
import { hardestStep, playerPayload } from "../../headlight/components/live_page/payloads/player.js";
import {
  cosines, describeCurves, describeLearned, describeMatrix, describeOrder, describeProducts, describeSize,
  dimensionsIn, distanceMeans, dotProducts, encodingOf, exchanged, plainest, scaleLimit, sharedTokens,
} from "../../headlight/components/live_page/payloads/positions.js";
import { replayPayload, replayStory, weightsOf } from "../../headlight/components/live_page/payloads/replay.js";
import { stepsPayload } from "../../headlight/components/live_page/payloads/steps.js";
import {
  defaultHead, describeChange, describeRanking, switchesPayload,
} from "../../headlight/components/live_page/payloads/switches.js";
import {
  chanceWords, fixed, percent, rint, shortChance, shortest, signed, twoDigits,
} from "../../headlight/components/live_page/payloads/text.js";

// Arrays come as lists.
function traceOf(sent) {
  const kinds = ["encoder", "decoder", "cross"].map((kind) => {
    return [kind, { shape: sent[kind].shape, weights: Float32Array.from(sent[kind].weights) }];
  });
  const floats = ["targetProbabilities", "entropies", "candidateProbabilities"];
  return {
    ...sent, ...Object.fromEntries(kinds),
    ...Object.fromEntries(floats.map((name) => [name, Float32Array.from(sent[name])])),
  };
}

// A sentence of a padded batch as engine/masks.js gives it.
function passOf(sent) {
  const kinds = ["encoder", "decoder", "cross"].map((kind) => {
    const { shape, scores, weights, unmasked } = sent[kind];
    const floats = { scores: Float32Array.from(scores), weights: Float32Array.from(weights) };
    return [kind, { shape, ...floats, unmasked: Uint8Array.from(unmasked) }];
  });
  return { ...sent, ...Object.fromEntries(kinds), targetProbabilities: Float32Array.from(sent.targetProbabilities) };
}

const sumOf = (sent) => {
  const floats = ["embeddings", "positions", "total"].map((name) => [name, Float32Array.from(sent[name])]);
  return { ...sent, ...Object.fromEntries(floats) };
};

export default {
  text: { chanceWords, fixed, percent, rint, shortChance, shortest, signed, twoDigits },
  opcodes, matchingBlocks, explorerChoice,
  explorer: (trace, words) => [...explorerBytes(traceOf(trace), words, words.roles)],
  plainest: (trace, { law, roles }) => {
    const { cross, sourceTokens, targetTokens } = traceOf(trace);
    const { layer, head } = plainestHead(measureHeads("cross", cross, sourceTokens, targetTokens, law), roles, law);
    return [layer, head];
  },
  lines: (trace, head) => linesPayload(traceOf(trace), head, 170, 20),
  hidden: (before, after, hidden, harmless) => [
    changedOutputs(before, after), describeHidden(before, after, hidden, harmless),
  ],
  player: (trace, head, options) => playerPayload(traceOf(trace), head, options),
  hardest: (trace) => hardestStep(traceOf(trace)),
  steps: (stages, view, words, names) => {
    const floats = (arrays) => {
      return Object.fromEntries(Object.entries(arrays).map(([name, values]) => [name, Float32Array.from(values)]));
    };
    const { whole, maps, learned, unmasked } = stages;
    const arrays = { whole: floats(whole), maps: floats(maps), learned: floats(learned) };
    return stepsPayload({ ...stages, ...arrays, unmasked: Uint8Array.from(unmasked) }, view, words, names);
  },
  switches: (losses, trace, names) => [
    switchesPayload(losses, traceOf(trace), names), describeRanking(losses, traceOf(trace), names), defaultHead(losses),
  ],
  // All that is said of one head of a batch, with a mask and without it.
  masks: (traces, [masked, disabled], { sentence, kind, layer, head, mask, row, forced }, words) => {
    const batch = batchOf(traces), [before, after] = [masked, disabled].map(passOf);
    const place = { kind, sentence, layer, head };
    const whole = maskedHead(before, batch, place), own = mask === "causal" ? withoutPadding(whole) : whole;
    return {
      masks: describeMasks(batch, sentence, words), source: describeSourceMask(batch, sentence, words),
      head: describeHead(whole, words), hand: rowByHand(whole, row, words), row: rowWords(whole, row, words),
      leak: describeLeak(before, after, batch, own, sentence, words),
      noPadding: describeNoPadding(before, after, sentence, words),
      predictions: describePredictions(before, after, batch, sentence, mask, forced, words),
      leakiest: leakiestHead(before, after, batch, kind, sentence),
    };
  },
  encoding: (config, table, length, dims, still, words) => {
    const encoding = encodingOf(config, Float32Array.from(table), length), products = dotProducts(encoding);
    return {
      size: describeSize(encoding, words), curves: describeCurves(encoding, dims, words),
      matrix: describeMatrix(encoding, still, words), similarity: describeProducts(products, words),
      products: [...products], means: [...distanceMeans(products)],
    };
  },
  learned: (tables, d, all, similar, words) => {
    const arrays = Object.fromEntries(Object.entries(tables).map(([name, table]) => [name, Float32Array.from(table)]));
    return [describeLearned(arrays, d, all, similar, words), [...cosines(arrays.encoder, d)]];
  },
  order: (one, other, translations, none, words) => {
    const [first, second] = [one, other].map(sumOf);
    const copies = plainest(sharedTokens(first, second));
    const limit = scaleLimit([first.embeddings, first.positions, first.total]);
    return [describeOrder(first, second, translations, none, words), copies, limit];
  },
  replay: (told, place, law) => [replayPayload(told, weightsOf(told), place, law), replayStory(told, place)],
  exchanged,
  dimensions: (text, d, usual) => dimensionsIn(text, { d }, usual),
  compared: (before, forced, after) => comparedRows(traceOf(before), traceOf(forced), traceOf(after)),
  change: (before, forced, after, off, names) => {
    return describeChange(traceOf(before), traceOf(forced), traceOf(after), off, names);
  },
};
