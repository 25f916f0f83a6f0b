// The story of a whole pass: its stations on a clock of twenty seconds, and the numbers that each of them shows.
//
// Facts, see headlight/views/inside/whole_pass_content.py: a translation with its candidates; encoder, decoder, cross:
// { shape: [drawn layers, heads or 1 for their mean, queries, keys], weights }, `steps` for 1; sourceColumns and
// targetColumns: { shape: [points, tokens, dimensions], weights }; layers: the number of layers of each stack; drawn:
// which of them are here, from 0.

import { averageMap } from "../lib/maps.js";
import { isMarks, isSpecial, isLanguage, shownTokens } from "../lib/tokens.js";

export const SECONDS = 20;
const KEPT_CANDIDATES = 5;
const SECONDS_OF = {
  words: 1.6, embedding: 1.3, positions: 1.2, encoder: 5.6, memory: 1, start: 0.9, decoder: 4.2, vocabulary: 1.4,
  winner: 0.9, nextSteps: 6, end: 2.4,
};
const FIRST_LAYER = 1.7; // times as long as each of the others
const FASTER = 0.78, SHORTEST = 0.12; // of the seconds of the step before; of those of the first of these steps
const RMS_OF_FULL_COLOUR = 1.7;

export function storyOf(facts) {
  const { sourceTokens, decoderInputTokens: fed, targetTokens, drawn, layers, targetText, finished } = facts;
  const story = {
    source: shownTokens(sourceTokens), fed: shownTokens(fed), next: shownTokens(targetTokens), facts, layers, drawn,
    names: { source: sourceTokens, fed, next: targetTokens }, targetText, finished,
    heads: facts.heads, hasHeads: facts.encoder.shape[1] > 1 || facts.heads === 1,
    maps: Object.fromEntries(["encoder", "decoder", "cross"].map((kind) => [kind, mapsOf(facts[kind], facts.steps)])),
    columns: { source: columnsOf(facts.sourceColumns), target: columnsOf(facts.targetColumns) },
    steps: targetTokens.map((_, step) => stepOf(facts, step)),
  };
  story.stations = stationsOf(story);
  story.byId = new Map(story.stations.map((station) => [station.id, station]));
  return story;
}

// at(layer, head): the weights of a drawn layer, [queries x keys]; null for head or layer is their mean.
function mapsOf(map, steps) {
  const whole = { shape: map.shape, weights: Float32Array.from(map.weights, (weight) => weight / steps) };
  const [, , queries, keys] = map.shape, known = new Map();
  const at = (layer, head = null) => {
    const name = `${layer} ${head}`;
    if (!known.has(name)) known.set(name, averageMap(whole, { layer, head }));
    return known.get(name);
  };
  return { queries, keys, at, row: (layer, head, query) => at(layer, head).subarray(query * keys, (query + 1) * keys) };
}

// at(point, token): its numbers, each time the same array; limit(point): what stands in full colour there.
function columnsOf({ shape: [points, tokens, dimensions], weights }) {
  const row = (at) => weights.subarray(at * dimensions, (at + 1) * dimensions);
  const rows = Array.from({ length: points * tokens }, (_, at) => row(at));
  const at = (point, token) => rows[point * tokens + token];
  const limits = Array.from({ length: points }, (_, point) => {
    const all = weights.subarray(point * tokens * dimensions, (point + 1) * tokens * dimensions);
    return RMS_OF_FULL_COLOUR * Math.sqrt(all.reduce((sum, each) => sum + each * each, 0) / all.length) || 1;
  });
  return { at, limit: (point) => limits[point], last: points - 1, dimensions };
}

function stepOf(facts, step) {
  const { candidateTokens, candidateProbabilities, targetTokens, targetProbabilities, targetRanks, numForced } = facts;
  const tokens = candidateTokens[step], from = step * tokens.length, rank = targetRanks[step];
  const rows = tokens.slice(0, KEPT_CANDIDATES).map((token, at) => {
    return { token, probability: candidateProbabilities[from + at], isTaken: at === rank - 1 };
  });
  const taken = { token: targetTokens[step], probability: targetProbabilities[step], isTaken: true };
  if (rank > KEPT_CANDIDATES) rows[KEPT_CANDIDATES - 1] = taken;
  return { rows, rank, token: taken.token, probability: taken.probability, isGiven: step < numForced };
}

// Stations in the order of time: { id, kind, layer, step, from, until, still }; layers count the drawn ones from 0. A
// still is the moment at which a station is shown when nothing moves.
function stationsOf({ facts, drawn, steps }) {
  const stations = [];
  const add = (kind, seconds, at = 0.9, more = {}) => {
    const { layer = null, step = null } = more, id = [kind, layer, step].filter((each) => each !== null).join(".");
    stations.push({ id, kind, layer, step, seconds, at });
  };
  const shares = ({ length }) => Array.from({ length }, (_, at) => (at ? 1 : FIRST_LAYER) / (length - 1 + FIRST_LAYER));
  add("words", SECONDS_OF.words, 1);
  add("embedding", SECONDS_OF.embedding, 1);
  if (facts.positioned) add("positions", SECONDS_OF.positions, 0.5);
  shares(drawn.encoder).forEach((share, layer) => {
    add("encoder", 0.62 * share * SECONDS_OF.encoder, 1, { layer });
    add("encoder mix", 0.38 * share * SECONDS_OF.encoder, 0.5, { layer });
  });
  add("memory", SECONDS_OF.memory, 1);
  add("start", SECONDS_OF.start, 1);
  shares(drawn.decoder).forEach((share, layer) => {
    add("decoder", 0.3 * share * SECONDS_OF.decoder, 1, { layer });
    add("cross", 0.45 * share * SECONDS_OF.decoder, 1, { layer });
    add("decoder mix", 0.25 * share * SECONDS_OF.decoder, 0.5, { layer });
  });
  add("vocabulary", SECONDS_OF.vocabulary);
  add("winner", SECONDS_OF.winner, 0.98);
  const paces = steps.slice(1).map((_, at) => Math.max(SHORTEST, FASTER ** at));
  const pace = Math.min(1.7, SECONDS_OF.nextSteps / paces.reduce((sum, each) => sum + each, 0));
  paces.forEach((each, at) => add("step", each * pace, 0.72, { step: at + 1 }));
  add("end", SECONDS_OF.end, 1);
  const scale = SECONDS / stations.reduce((sum, { seconds }) => sum + seconds, 0);
  let from = 0;
  return stations.map(({ seconds, at, ...station }) => {
    const until = from + scale * seconds, still = from + at * (until - from) * 0.9999;
    const placed = { ...station, from, until, still };
    from = until;
    return placed;
  });
}

// The station at a moment, and its number.
export function stationAt({ stations }, time) {
  const at = stations.findIndex(({ until }) => time < until);
  return at < 0 ? stations.length - 1 : at;
}

// How far a station has come at a moment, from 0 to 1; 0 for one that there is not.
export function progressAt({ byId }, id, time) {
  const station = byId.get(id);
  if (!station) return 0;
  return Math.min(1, Math.max(0, (time - station.from) / (station.until - station.from)));
}

// The output token that is being computed at a moment; -1 before the decoder begins.
export function stepAt(story, time) {
  const { kind, step } = story.stations[stationAt(story, time)];
  if (kind === "step") return step;
  if (kind === "end") return story.steps.length - 1;
  return ["start", "decoder", "cross", "decoder mix", "vocabulary", "winner"].includes(kind) ? 0 : -1;
}

const isWord = (token) => !(isSpecial(token) || isMarks(token) || isLanguage(token) || /^<.*>$/.test(token));

// Of a map of some tokens the largest weight between two different words, else of all: { query, key, weight }.
export function strongest(weights, tokens) {
  const all = Array.from(weights, (weight, at) => {
    return { query: Math.floor(at / tokens.length), key: at % tokens.length, weight };
  });
  const words = all.filter(({ query, key }) => query !== key && isWord(tokens[query]) && isWord(tokens[key]));
  return (words.length ? words : all).reduce((best, each) => (each.weight > best.weight ? each : best));
}

// The keys of a row by their weights, the largest first: { key, weight }.
export function ranked(row, count) {
  const all = Array.from(row, (weight, key) => ({ key, weight }));
  return all.sort((one, other) => other.weight - one.weight).slice(0, count);
}
