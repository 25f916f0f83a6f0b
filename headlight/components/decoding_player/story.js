// The steps of a trace (engine/headlight.js) for the player.
//
// Besides a trace it takes { forced, unforced }: the number of first steps whose token the visitor chose, and the
// translation without that choice. Of a long text the maps of all heads are missing, and
// `shownCross` and `shownDecoder` are the maps of the chosen head: { shape: [queries, keys], weights }.

import { averageMap } from "../lib/maps.js";
import { headName } from "../lib/names.js";
import { SPECIAL_TOKENS } from "../lib/tokens.js";
import { candidatesAt, isNeverChosen, runnerUp } from "../lib/trace.js";
import { chanceText, sentenceCase } from "../lib/words.js";
import { say } from "./texts.toml";

export function stepsOf(trace, chosen, { forced = 0, unforced = "" }) {
  const cross = trace.cross ? averageMap(trace.cross, chosen) : trace.shownCross.weights;
  const decoder = trace.decoder ? averageMap(trace.decoder, chosen) : trace.shownDecoder.weights;
  const [layers, heads] = trace.cross?.shape ?? trace.headCounts, name = headName(chosen, { layers, heads });
  const steps = trace.targetIds.map((_, step) => {
    return stepOf(trace, step, { name, cross, decoder, isForced: step < forced });
  });
  return {
    id: [...trace.sourceIds, ...trace.targetIds].join("-"),
    source: trace.sourceTokens, fed: trace.decoderInputTokens, next: trace.targetTokens, steps,
    branch: forced ? { forced: trace.targetTokens.slice(0, forced), now: trace.targetText, unforced } : null,
    maps: { cross, decoder }, all: { cross: trace.cross?.weights, decoder: trace.decoder?.weights },
    layers, heads, ...chosen, name,
    finding: hardestOf(trace), given: trace.numForced ? givenOf(trace) : "",
  };
}

// Another token can be taken at a step, but for the last one of a translation that was cut.
export const hasRoomAfter = ({ finished, targetIds }, step) => finished || step + 1 < targetIds.length;

// The step of the highest entropy among those that were open to choice, from 0.
export function hardestStep({ entropies, numForced = 0 }) {
  return entropies.reduce((best, each, at) => (at > numForced && each > entropies[best] ? at : best), numForced);
}

function stepOf(trace, step, { name, cross, decoder, isForced }) {
  const candidates = candidatesOf(trace, step);
  const rank = trace.targetRanks[step];
  const rest = Math.max(0, 1 - candidates.reduce((sum, { probability }) => sum + probability, 0));
  const most = (map, keys) => {
    const row = map.subarray(step * keys.length, (step + 1) * keys.length), key = row.indexOf(Math.max(...row));
    return say("read", { token: keys[key], weight: row[key] });
  };
  return {
    sentence: say("step", {
      input: trace.decoderInputTokens[step], output: trace.targetTokens[step],
      probability: trace.targetProbabilities[step], choice: rank === 1 ? "" : say("choice", { rank }),
      reason: isForced ? say("forced") : step < (trace.numForced ?? 0) ? say("given") : "",
      head: sentenceCase(name), source: most(cross, trace.sourceTokens),
      prefix: step ? say("prefix", { read: most(decoder, trace.decoderInputTokens) }) : "",
    }),
    chance: chanceText(trace.targetProbabilities[step]),
    forced: isForced, takable: hasRoomAfter(trace, step), candidates,
    rest: say("rest", { rest }),
  };
}

// The most probable tokens of a step, and the chosen one where it is not among them.
function candidatesOf(trace, step) {
  const { ids, tokens, probabilities } = candidatesAt(trace, step), taken = trace.targetIds[step];
  const rows = ids.map((id, at) => ({ id, token: tokens[at], probability: probabilities[at], rank: at + 1 }));
  if (!ids.includes(taken)) {
    const { targetTokens: names, targetProbabilities: chances, targetRanks: ranks } = trace;
    rows.push({ id: taken, token: names[step], probability: chances[step], rank: ranks[step] });
  }
  return rows.map((row) => ({
    ...row, words: chanceText(row.probability), taken: row.id === taken, special: isNeverChosen(trace, row.token),
  }));
}

// The hardest choice, and its runner-up, where another token can be forced there.
function hardestOf(trace) {
  const at = hardestStep(trace), step = at + 1, other = runnerUp(trace, at), entropy = trace.entropies[at];
  return {
    headline: say("hardest", { step, token: trace.targetTokens[at] }),
    more: say("hardest_more", {
      probability: trace.targetProbabilities[at], other: other.token, other_probability: other.probability,
      perplexity: Math.exp(entropy), entropy: Math.abs(entropy),
    }),
    attempt: hasRoomAfter(trace, at) ? say("attempt", { step, other: other.token }) : "",
  };
}

const givenOf = ({ targetTokens: [token] }) => {
  return say(SPECIAL_TOKENS.includes(token) ? "given_first" : "given_language", { token });
};
