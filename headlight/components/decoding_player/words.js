// Sentences of the decoding player.

import { chanceText, grouped, quoted, sentenceCase } from "../lib/words.js";

// reason: "forced", "given" or "". most: what the head reads most, { token, weight }, on either side.
export function stepSentence({ input, output, probability, rank, reason, head, mostSource, mostPrefix }) {
  const reasons = { forced: ", forced by you", given: ", given, not chosen" };
  const read = ({ token, weight }) => `${quoted(token)} (${weight.toFixed(2)})`;
  const prefix = mostPrefix ? ` and to ${read(mostPrefix)} of the prefix` : "";
  return (
    `With input ${quoted(input)} the model gives ${quoted(output)} ${chanceText(probability)}, rank ` +
    `${rank}${reasons[reason] ?? ""}. ${sentenceCase(head)} attends most to ${read(mostSource)} of the source${prefix}.`
  );
}

export const entropyText = (entropy) => {
  return `entropy ${Math.abs(entropy).toFixed(2)} nats, perplexity ${Math.exp(entropy).toFixed(1)}`;
};

export const restText = (others, rest) => `the other ${grouped(others)} tokens together ${chanceText(rest)}`;

// runnerUp: { token, probability }; room: whether another token can be forced at this step.
export function hardestFinding({ step, token, probability, entropy, runnerUp, room }) {
  const other = quoted(runnerUp.token);
  return {
    headline: `Step ${step}, ${quoted(token)}, was the hardest choice.`,
    more: `It got ${chanceText(probability)}, the runner-up ${other} ${chanceText(runnerUp.probability)}. The ` +
      `perplexity is ${Math.exp(entropy).toFixed(1)}, the highest of all steps: as hard as a choice among so many ` +
      "equally probable tokens.",
    attempt: room ? `step ${step} with ${other} forced instead: how does the rest change?` : "",
  };
}

export function givenText(token, isSpecial) {
  const why = isSpecial ? "as the first token of every translation" : "as the language to be written";
  return `${quoted(token)} is not the model's choice: it is given, ${why}, and no score counts it.`;
}
