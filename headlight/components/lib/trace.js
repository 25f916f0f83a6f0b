// Values derived from a trace (engine/headlight.js), as the properties of `Trace` in transformer/interpret/trace.py.

const LEAST = 2 ** -126; // the least float32 of full precision

// Tokens that decoding never chooses, whatever their probability.
export function isNeverChosen({ decoderInputTokens: [begin] }, token) {
  return token !== "</s>" && (token === "<pad>" || token === begin);
}

// The most probable tokens of a step: { ids, tokens, probabilities }.
export function candidatesAt({ candidateIds, candidateTokens, candidateProbabilities }, step) {
  const tokens = candidateTokens[step], from = step * tokens.length;
  const cut = (all) => [...all.slice(from, from + tokens.length)];
  return { ids: cut(candidateIds), tokens, probabilities: cut(candidateProbabilities) };
}

// Return whether greedy decoding would take the token of a step; a forced token counts as taken.
export function isGreedyAt(trace, step) {
  const { tokens, probabilities } = candidatesAt(trace, step), chance = trace.targetProbabilities[step];
  const above = tokens.filter((token, at) => isNeverChosen(trace, token) && probabilities[at] > chance).length;
  return step < (trace.numForced ?? 0) || trace.targetRanks[step] - above === 1;
}

export const isGreedy = (trace) => trace.targetIds.every((_, step) => isGreedyAt(trace, step));

// The most probable candidate that decoding could have taken in place of a step's token: { token, probability }.
export function runnerUp(trace, step) {
  const { ids, tokens, probabilities } = candidatesAt(trace, step);
  const at = ids.findIndex((id, at) => id !== trace.targetIds[step] && !isNeverChosen(trace, tokens[at]));
  return { token: tokens[at], probability: probabilities[at] };
}

// log P of each token in nats, 0 for a forced one.
export function logProbabilities({ targetProbabilities, numForced = 0 }) {
  return Array.from(targetProbabilities, (each, step) => (step < numForced ? 0 : Math.log(Math.max(each, LEAST))));
}

export const sum = (values) => values.reduce((total, value) => total + value, 0);
