// What headlight/components/live_page says of traces, by name, for tests/browser/test_live_payloads.py.

import { measureHeads, patternFacts, plainestHead } from "../../headlight/components/live_page/patterns.js";

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
  patterns: (trace, { law, roles }) => patternFacts(traceOf(trace), law, roles),
  plainest: (trace, { law, roles }) => {
    const { cross, sourceTokens, targetTokens } = traceOf(trace);
    const { layer, head } = plainestHead(measureHeads("cross", cross, sourceTokens, targetTokens, law), roles, law);
    return [layer, head];
  },
};
