// Functions of the one-file page that Python has too, for tests/browser/test_live_patterns.py.

import { measureHeads, patternFacts, plainestHead } from "../../headlight/components/live_page/patterns.js";

const KINDS = ["encoder", "decoder", "cross"];

// The maps of a trace as typed arrays.
function decoded(trace) {
  const map = ({ shape, weights }) => ({ shape, weights: Float32Array.from(weights) });
  return { ...trace, ...Object.fromEntries(KINDS.map((kind) => [kind, map(trace[kind])])) };
}

export default {
  patterns: (trace, { rules, roles }) => patternFacts(decoded(trace), rules, roles),
  plainest: (trace, { rules, roles }) => {
    const { cross, sourceTokens, targetTokens } = decoded(trace);
    const { layer, head } = plainestHead(measureHeads("cross", cross, sourceTokens, targetTokens, rules), roles, rules);
    return [layer, head];
  },
};
