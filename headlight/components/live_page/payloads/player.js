// What the decoding player shows of a trace and one head, as headlight/views/decoding/content.py says it.

import { rowsOf } from "./lines.js";
import { chanceWords, fixed, grouped, headName, quoted, sentenceCase } from "./text.js";

const AT_ONCE = 4096; // bytes that become letters in one call

// forced: of how many first steps the token was chosen by the reader; unforced: the translation without that.
export function playerPayload(trace, { layer, head }, { forced = 0, unforced = "", vocabulary }) {
  const name = headName(layer, head), maps = ["cross", "decoder"].map((kind) => rowsOf(trace[kind], layer, head));
  const words = { forced: trace.targetTokens.slice(0, forced).join(" "), now: trace.targetText, own: unforced };
  return {
    id: [...trace.sourceIds, ...trace.targetIds].join("-"),
    source: trace.sourceTokens, fed: trace.decoderInputTokens, next: trace.targetTokens,
    steps: trace.targetIds.map((_, step) => stepOf(trace, step, { name, maps, vocabulary, forced: step < forced })),
    branch: forced ? words : null,
    cross: base64(maps[0]), decoder: base64(maps[1]),
    all_cross: base64([trace.cross.weights]), all_decoder: base64([trace.decoder.weights]),
    layers: trace.cross.shape[0], heads: trace.cross.shape[1], layer, head, name,
  };
}

// Another token can be taken at a step, but for the last one of a translation that was cut.
export const hasRoomAfter = (trace, step) => trace.finished || step + 1 < trace.targetIds.length;

function stepOf(trace, step, { name, maps, vocabulary, forced }) {
  const candidates = candidatesOf(trace, step);
  const rest = Math.max(0, 1 - candidates.reduce((sum, { probability }) => sum + probability, 0));
  return {
    sentence: sentenceOf(trace, step, name, maps, forced),
    chance: chanceWords(trace.targetProbabilities[step]),
    rank: trace.targetRanks[step],
    entropy: entropyWords(trace.entropies[step]),
    forced, takable: hasRoomAfter(trace, step), candidates, rest,
    rest_words: `the other ${grouped(vocabulary - candidates.length)} tokens together ${chanceWords(rest)}`,
  };
}

// The most probable tokens of a step: {ids, tokens, probabilities}, each [10].
export function candidatesAt({ candidateIds, candidateTokens, candidateProbabilities }, step) {
  const tokens = candidateTokens[step], from = step * tokens.length;
  const cut = (all) => [...all.slice(from, from + tokens.length)];
  return { ids: cut(candidateIds), tokens, probabilities: cut(candidateProbabilities) };
}

// The tokens of a step's candidates; those that decoding never chooses are not to be taken.
function candidatesOf(trace, step) {
  const { ids, tokens, probabilities } = candidatesAt(trace, step), taken = trace.targetIds[step];
  const rows = ids.map((id, at) => ({ id, token: tokens[at], probability: probabilities[at], rank: at + 1 }));
  if (!ids.includes(taken)) {
    const { targetTokens: names, targetProbabilities: chances, targetRanks } = trace;
    rows.push({ id: taken, token: names[step], probability: chances[step], rank: targetRanks[step] });
  }
  return rows.map((row) => ({
    ...row, words: chanceWords(row.probability), taken: row.id === taken, special: isNeverChosen(trace, row.token),
  }));
}

export function isNeverChosen({ decoderInputTokens: [begin] }, token) {
  return token !== "</s>" && (token === "<pad>" || token === begin);
}

function sentenceOf(trace, step, name, [cross, decoder], forced) {
  const most = (row, keys) => {
    const key = row.indexOf(Math.max(...row));
    return `${quoted(keys[key])} (${fixed(row[key], 2)})`;
  };
  const prefix = step ? ` and to ${most(decoder[step], trace.decoderInputTokens)} of the prefix` : "";
  const reason = forced ? ", forced by you" : "";
  return (
    `With input ${quoted(trace.decoderInputTokens[step])} the model gives ${quoted(trace.targetTokens[step])} ` +
    `${chanceWords(trace.targetProbabilities[step])}, rank ${trace.targetRanks[step]}${reason}. ` +
    `${sentenceCase(name)} attends most to ${most(cross[step], trace.sourceTokens)} of the source${prefix}.`
  );
}

const entropyWords = (entropy) => `${fixed(entropy + 0, 2)} nats, perplexity ${fixed(Math.exp(entropy), 1)}`;

// The step of the highest entropy: {headline, more, attempt}, the attempt empty where no other token can be forced.
export function hardestStep(trace) {
  const step = trace.entropies.reduce((best, each, at) => (each > trace.entropies[best] ? at : best), 0);
  const { ids, tokens, probabilities } = candidatesAt(trace, step);
  const index = ids.findIndex((id, at) => id !== trace.targetIds[step] && !isNeverChosen(trace, tokens[at]));
  const perplexity = fixed(Math.fround(Math.exp(trace.entropies[step])), 1), other = quoted(tokens[index]);
  const chances = [trace.targetProbabilities[step], probabilities[index]].map(chanceWords);
  return {
    headline: `The model is least sure at step ${step + 1}: perplexity ${perplexity}.`,
    more: `Of all steps open to choice its entropy is the highest: ${quoted(trace.targetTokens[step])} got ` +
      `${chances[0]}, ${other} ${chances[1]}.`,
    attempt: hasRoomAfter(trace, step)
      ? `step ${step + 1} with ${other} forced instead: how does the rest change?` : "",
  };
}

// Float32Arrays one after the other, as lib/format.js reads them.
export function base64(parts) {
  const letters = parts.flatMap((part) => {
    const bytes = new Uint8Array(part.buffer, part.byteOffset, part.byteLength);
    return Array.from({ length: Math.ceil(bytes.length / AT_ONCE) }, (_, run) => {
      return String.fromCharCode.apply(null, bytes.subarray(run * AT_ONCE, (run + 1) * AT_ONCE)); // faster than spread
    });
  });
  return btoa(letters.join(""));
}
