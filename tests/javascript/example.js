// A small sentence as the explorer is sent it: two layers, two heads, three source tokens and three decoder steps.

const ENCODER = [
  [0.5, 0.25, 0.25, 0.1, 0.7, 0.2, 0, 0, 1],
  [1, 0, 0, 0, 1, 0, 0, 0, 1],
  [0.2, 0.3, 0.5, 0.4, 0.4, 0.2, 0.6, 0.3, 0.1],
  [0, 1, 0, 1, 0, 0, 0.5, 0.5, 0],
];
const DECODER = [
  [1, 0, 0, 0.5, 0.5, 0, 0.2, 0.3, 0.5],
  [1, 0, 0, 1, 0, 0, 1, 0, 0],
  [1, 0, 0, 0.25, 0.75, 0, 0.1, 0.1, 0.8],
  [1, 0, 0, 0.6, 0.4, 0, 0.3, 0.3, 0.4],
];
const STEPS = 50_000;

const kind = (labels, confidence, entropy, counts) => {
  return { labels, confidence, entropy, counts, labelled: labels.map((label) => (label ? 348 : null)) };
};
const unknown = [null, null, null, null];

// On each side the second and third tokens are one word.
export const FACTS = {
  id: "1", steps: STEPS, sentences: 400, leastRows: 3,
  patternWords: { previous: ["the token before", "prev."] },
  sourceTokens: ["▁do", "n't", "</s>"], decoderInputTokens: ["<s>", "▁tu", "s"], targetTokens: ["▁tu", "s", "</s>"],
  patterns: {
    encoder: kind(["previous", null, "previous", null], [0.6, 0.9, null, 0.3], [0.5, 2, 1, 0.25], {
      previous: [[92, 100], [40, 100], [95, 100], [10, 100]],
    }),
    decoder: kind(unknown, unknown, [1, 2, 3, 4], {}),
    cross: kind([null, null, null, "previous"], unknown, [1, 2, 3, 4], {}),
  },
};

export function exampleFacts(some = {}) {
  const parts = (weights) => Uint16Array.from(weights.flat(), (weight) => Math.round(weight * STEPS));
  const map = (weights) => ({ shape: [2, 2, 3, 3], weights: parts(weights) });
  return { ...FACTS, encoder: map(ENCODER), decoder: map(DECODER), cross: map(ENCODER), ...some };
}
