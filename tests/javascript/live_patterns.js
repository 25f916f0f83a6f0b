// Functions of the one-file page that Python has too, for tests/browser/test_live_patterns.py.

import { measureHeads, patternFacts, plainestHead } from "../../headlight/components/live_page/patterns.js";

const KINDS = ["encoder", "decoder", "cross"];

// The maps of a trace as typed arrays.
function decoded(trace) {
  const map = ({ shape, weights }) => ({ shape, weights: Float32Array.from(weights) });
  return { ...trace, ...Object.fromEntries(KINDS.map((kind) => [kind, map(trace[kind])])) };
}

export default {
  patterns: (trace, { law, roles }) => patternFacts(decoded(trace), law, roles),
  plainest: (trace, { law, roles }) => {
    const { cross, sourceTokens, targetTokens } = decoded(trace);
    const { layer, head } = plainestHead(measureHeads("cross", cross, sourceTokens, targetTokens, law), roles, law);
    return [layer, head];
  },
};
