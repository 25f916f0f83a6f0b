// What headlight/components/live_page says of traces, by name, for tests/browser/test_live_payloads.py.

import { explorerChoice } from "../../headlight/components/live_page/address.js";
import { comparedRows } from "../../headlight/components/live_page/payloads/compared.js";
import { matchingBlocks, opcodes } from "../../headlight/components/live_page/payloads/opcodes.js";
import { measureHeads, patternFacts, plainestHead } from "../../headlight/components/live_page/payloads/patterns.js";
import {
  defaultHead, describeChange, describeRanking, switchesPayload,
} from "../../headlight/components/live_page/payloads/switches.js";
import { fixed, rint, signed } from "../../headlight/components/live_page/payloads/text.js";

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
  text: { fixed, rint, signed },
  opcodes, matchingBlocks, explorerChoice,
  patterns: (trace, { law, roles }) => patternFacts(traceOf(trace), law, roles),
  plainest: (trace, { law, roles }) => {
    const { cross, sourceTokens, targetTokens } = traceOf(trace);
    const { layer, head } = plainestHead(measureHeads("cross", cross, sourceTokens, targetTokens, law), roles, law);
    return [layer, head];
  },
  switches: (losses, trace, names) => [
    switchesPayload(losses, traceOf(trace), names), describeRanking(losses, traceOf(trace), names), defaultHead(losses),
  ],
  compared: (before, forced, after) => comparedRows(traceOf(before), traceOf(forced), traceOf(after)),
  change: (before, forced, after, off, names) => {
    return describeChange(traceOf(before), traceOf(forced), traceOf(after), off, names);
  },
};
