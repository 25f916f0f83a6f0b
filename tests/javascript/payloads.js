// What headlight/components/live_page says of traces, by name, for tests/browser/test_live_payloads.py.

import { explorerChoice } from "../../headlight/components/live_page/address.js";
import { explorerBytes } from "../../headlight/components/live_page/payloads/explorer.js";
import { changedOutputs, describeHidden, linesPayload } from "../../headlight/components/live_page/payloads/lines.js";
import { matchingBlocks, opcodes } from "../../headlight/components/live_page/payloads/opcodes.js";
import { measureHeads, plainestHead } from "../../headlight/components/live_page/payloads/patterns.js";
import { hardestStep, playerPayload } from "../../headlight/components/live_page/payloads/player.js";
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
  switches: (losses, trace, names) => [
    switchesPayload(losses, traceOf(trace), names), describeRanking(losses, traceOf(trace), names), defaultHead(losses),
  ],
  change: (before, forced, after, off, names) => {
    return describeChange(traceOf(before), traceOf(forced), traceOf(after), off, names);
  },
};
