// A small sentence as the explorer is sent it: two layers, two heads, three source tokens and three decoder steps.

export const TEXTS = {
  kinds: { encoder: "Encoder self-attention", decoder: "Masked decoder self-attention", cross: "Cross-attention" },
  patterns: { previous: ["prev.", "on the token before"], "end of sentence": ["end", "on </s>"] },
  measures: {
    confidence: ["mean of the largest weights", "", "at least"],
    entropy: ["mean entropy", "nats", "at most"],
    previous: ["rows on the token before", "%", "at least"],
  },
};

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

// The tokens "I", "▁do", "n't" and so on: on each side the second and third are one word, and "</s>" is special.
const side = (tokens, special, words) => ({ tokens, special, words });
const SIDES = {
  source: side(["▁do", "n't", "</s>"], [2], [0, 0, 1]),
  fed: side(["<s>", "▁tu", "s"], [0], [0, 1, 1]),
  predicted: side(["▁tu", "s", "</s>"], [2], [0, 0, 1]),
};

const kind = (offset, labels, measures) => ({
  layers: 2, heads: 2, queries: 3, keys: 3, offset, labels, measures, look: [],
  roles: labels.map((label) => (label ? "it has this label in 87 % of 400 sentence pairs, their references fed" : "")),
});

export const HEADER = {
  id: "1", steps: STEPS, texts: TEXTS, sides: SIDES,
  kinds: {
    encoder: kind(0, ["previous", null, "previous", null], {
      confidence: [0.6, 0.9, null, 0.3], entropy: [0.5, 2, 1, 0.25], previous: [0.92, 0.4, 0.95, 0.1],
    }),
    decoder: kind(36, [null, null, null, null], { entropy: [1, 2, 3, 4] }),
    cross: kind(72, [null, null, null, "previous"], { entropy: [1, 2, 3, 4] }),
  },
};

export function exampleBytes(header = HEADER) {
  const weights = Uint16Array.from([...ENCODER, ...DECODER, ...ENCODER].flat(), (weight) => Math.round(weight * STEPS));
  const text = new TextEncoder().encode(JSON.stringify(header));
  const bytes = new Uint8Array(4 + text.length + weights.byteLength);
  new DataView(bytes.buffer).setUint32(0, text.length, true);
  bytes.set(text, 4);
  bytes.set(new Uint8Array(weights.buffer), 4 + text.length);
  return bytes;
}
