// Sentences of the decoding player.

import { sentenceCase } from "../lib/words.js";
import { say } from "./texts.toml";

const readText = ({ token, weight }) => say("read", { token, weight });

// reason: "forced", "given" or "". most: what the head reads most, { token, weight }, on either side.
export function stepSentence({ input, output, probability, rank, reason, head, mostSource, mostPrefix }) {
  return say("step", {
    input, output, probability, choice: rank === 1 ? "" : say("choice", { rank }),
    reason: reason ? say(reason === "forced" ? "forced" : "given") : "",
    head: sentenceCase(head), source: readText(mostSource),
    prefix: mostPrefix ? say("prefix", { read: readText(mostPrefix) }) : "",
  });
}

export const restText = (rest) => say("rest", { rest });

// runnerUp: { token, probability }; room: whether another token can be forced at this step.
export function hardestFinding({ step, token, probability, entropy, runnerUp, room }) {
  const { token: other, probability: otherProbability } = runnerUp, perplexity = Math.exp(entropy);
  return {
    headline: say("hardest", { step, token }),
    more: say("hardest_more", {
      probability, other, other_probability: otherProbability, perplexity, entropy: Math.abs(entropy),
    }),
    attempt: room ? say("attempt", { step, other }) : "",
  };
}

export const givenText = (token, isSpecial) => say(isSpecial ? "given_first" : "given_language", { token });
