// Sentences of the decoding player.

import { chanceText, percent, quoted, sentenceCase } from "../lib/words.js";

// reason: "forced", "given" or "". most: what the head reads most, { token, weight }, on either side.
export function stepSentence({ input, output, probability, rank, reason, head, mostSource, mostPrefix }) {
  const reasons = { forced: ", forced by you", given: ", given, not chosen" };
  const read = ({ token, weight }) => `${quoted(token)} (${percent(weight)})`;
  const prefix = mostPrefix ? `; of its own words, at ${read(mostPrefix)}` : "";
  const choice = rank === 1 ? "" : `, choice number ${rank}`;
  return (
    `After ${quoted(input)} comes ${quoted(output)}: ${percent(probability)}${choice}${reasons[reason] ?? ""}. ` +
    `${sentenceCase(head)} looks most at ${read(mostSource)} of the source${prefix}.`
  );
}

export const restText = (rest) => `all others together ${chanceText(rest)}`;

// runnerUp: { token, probability }; room: whether another token can be forced at this step.
export function hardestFinding({ step, token, probability, entropy, runnerUp, room }) {
  const other = quoted(runnerUp.token);
  return {
    headline: `Step ${step}, ${quoted(token)}, was the hardest choice.`,
    more: `It got ${percent(probability)}, the runner-up ${other} ${percent(runnerUp.probability)}: as hard as a ` +
      `choice among ${Math.exp(entropy).toFixed(1)} equally probable tokens (its perplexity; the entropy is ` +
      `${Math.abs(entropy).toFixed(2)} nats).`,
    attempt: room ? `step ${step} with ${other} forced instead: how does the rest change?` : "",
  };
}

export function givenText(token, isSpecial) {
  const why = isSpecial ? "as the first token of every translation" : "as the language to be written";
  return `${quoted(token)} is not the model's choice: it is given, ${why}, and no score counts it.`;
}
