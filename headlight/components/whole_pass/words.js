// Sentences of the whole pass, one at a time, and the names of its parts.

import { shownToken } from "../lib/tokens.js";
import { chanceText, grouped, percent, pluralize, quoted, sentenceCase, signed } from "../lib/words.js";
import { ranked, stepAt, strongest } from "./story.js";

const KINDS = { encoder: "self-attention", decoder: "masked self-attention", cross: "cross-attention" };
const NAMES = {
  words: "Tokens", embedding: "Tokens become numbers", positions: "Positions are added", encoder: "attention",
  "encoder mix": "feed-forward", memory: "The encoder is done", start: "The decoder begins", decoder: "looking back",
  cross: "looking at the source", "decoder mix": "feed-forward", vocabulary: "The vocabulary",
  winner: "The first token", end: "The sentence",
};

// press: "click" or "tap".
export const invitation = (press) => (press === "tap"
  ? "Tap a part for its name and numbers, twice for the page that explains it."
  : "Move the mouse over a part for its name and numbers, click it for the page that explains it. " +
    "← → change the station.");

// Beside a bar.
export const shortPercent = (share) => percent(share).replace("under", "<").replace("over", ">");

const stackOf = (kind) => (kind.startsWith("encoder") ? "encoder" : "decoder");
const layerOf = ({ drawn }, { kind, layer }) => drawn[stackOf(kind)][layer] + 1;

export function stationName(story, station) {
  const { kind, layer, step } = station, stack = stackOf(kind);
  if (step !== null) return `Step ${step + 1}: ${quoted(story.next[step])}`;
  if (layer === null) return NAMES[kind];
  return `${sentenceCase(stack)} layer ${layerOf(story, station)} of ${story.layers[stack]}: ${NAMES[kind]}`;
}

// Names of columns: { text, range, bold, line }.
export function headings(story, layout, { station, step }) {
  const { source, target, folded, tall } = layout, found = [];
  const put = (text, range, bold = false, line = Number(!bold)) => found.push({ text, range, bold, line });
  const stack = (name, does, { columns }) => {
    const range = [columns[1].lines[0], columns.at(-1).strip[1]], count = story.layers[name];
    const isHere = station.layer !== null && stackOf(station.kind) === name, now = isHere ? layerOf(story, station) : 0;
    put(sentenceCase(name) + (tall ? "" : `: ${does}`), range, true);
    if (folded) put(isHere ? `layer ${now} of ${count}` : pluralize(count, "layer"), range);
    else columns.slice(1).forEach(({ lines, strip }, at) => put(`layer ${at + 1}`, [lines[0], strip[1]]));
  };
  put("Source", source.words, true);
  if (!tall) put("numbers", source.columns[0].strip);
  stack("encoder", "reads", source);
  put("Memory", layout.memory, true);
  stack("decoder", "writes", target);
  if (step >= 0) put("Written", target.words, true, tall ? 0 : 1);
  if (station.kind === "step") put(tall ? "mean of all" : "mean of all layers", target.columns[1].lines, false, 2);
  return found;
}

// The sentence of a station, true of this sentence and this model.
export function sentenceAt(story, station) {
  const { source, fed, next, facts, maps } = story, { kind, layer, step } = station, wide = grouped(facts.width);
  const most = (map, row, list) => {
    const [{ key, weight }] = ranked(map.row(layer, null, row), 1);
    return `at ${quoted(list[key])} (${percent(weight)})`;
  };
  const name = layer === null ? "" : `Layer ${layerOf(story, station)}`, tokens = pluralize(source.length, "token");
  const back = () => most(maps.decoder, step, fed), start = quoted(fed[0]);
  switch (kind) {
    case "words": return `Your sentence falls into ${tokens}: words, parts of words and marks.`;
    case "embedding": return `Each token becomes a list of ${wide} numbers, which the model has learned. Of these, ` +
      `${facts.dimensions.length} are drawn: brown below zero, teal above.`;
    case "positions": return "Numbers for its place are added to each token, so that the order of the words counts.";
    case "encoder": return (layer ? `${name}: the same again, with other weights. ` : `${name}: each token looks at ` +
      "all tokens and takes something from each. The thicker the line, the more. ") + pairText(story, layer);
    case "encoder mix": return layer ? `${name}: again each token works on its own numbers.` : `${name}: now each ` +
      `token works on its own numbers, by way of ${grouped(facts.hidden)} others. It sees no other token here.`;
    case "memory": return `The encoder is done. These ${source.length} × ${wide} numbers are all that the decoder ` +
      "will know of your sentence.";
    case "start": return `The decoder writes one token at a time. Nothing is written yet: it begins with ${start}.`;
    case "decoder": return `${name}: the decoder looks back at what is written. That is only ${start}: 100 %.`;
    case "cross": return `${name}: the decoder looks at your sentence, most ${most(maps.cross, 0, source)}.`;
    case "decoder mix": return `${name}: then it works on its own ${wide} numbers, as the tokens of the encoder did.`;
    case "vocabulary": return `The last numbers are compared with ${grouped(facts.vocabulary)} tokens. ` +
      choiceText(story, 0);
    case "winner": return `${quoted(next[0])} is written down${next[1] ? ", and the decoder reads it next" : ""}.`;
    case "step": return `Step ${step + 1}, all layers together: the decoder looks back, most ${back()}, and at your ` +
      `sentence, most ${most(maps.cross, step, source)}. ${choiceText(story, step)}`;
    default: return endText(story);
  }
}

function pairText({ maps, names, source, heads }, layer) {
  const { query, key, weight } = strongest(maps.encoder.at(layer), names.source);
  const other = query === key ? "itself" : quoted(source[key]);
  return `${quoted(source[query])} looks at ${other} with ${percent(weight)} (mean of ${pluralize(heads, "head")}).`;
}

function choiceText({ steps, next }, step) {
  const { probability, rank, isGiven } = steps[step], name = quoted(next[step]);
  const chance = `${name} gets ${percent(probability)}`;
  if (isGiven) return `${name} is not chosen but given.`;
  return rank === 1 ? `${chance}, the most of all.` : `${chance} and is taken: choice number ${rank}.`;
}

function endText({ steps, layers, finished, next }) {
  const stop = finished ? `${quoted(next.at(-1))} ends it` : "The greatest length ends it";
  return `${stop}: ${pluralize(layers.encoder, "encoder layer")} once, and ` +
    `${pluralize(layers.decoder, "decoder layer")} for each of ${pluralize(steps.length, "token")}.`;
}

// While it plays: one short sentence for several stations.
export function chapterSentence(story, station, time) {
  const { source, facts, layers, next } = story, { kind } = station, wide = grouped(facts.width);
  const many = grouped(facts.vocabulary), layersText = pluralize(layers.encoder, "layer");
  if (kind === "words") return `Your sentence falls into ${pluralize(source.length, "token")}.`;
  if (kind === "embedding") return `Each token becomes a list of ${wide} numbers.`;
  if (kind === "positions") return "Numbers for its place are added to each.";
  if (kind.startsWith("encoder")) return `The encoder reads: in ${layersText} the tokens look at one another.`;
  if (kind === "memory") return `${source.length} × ${wide} numbers are all that the decoder will know.`;
  if (kind === "vocabulary" || kind === "winner") return `${many} tokens compete. ${choiceText(story, 0)}`;
  if (kind === "step") return `What is written is read again, for the next: ${quoted(next[stepAt(story, time)])}.`;
  return kind === "end" ? endText(story) : "The decoder writes: it looks back, and at your sentence.";
}

// The name, shape and value of a part: of one token where one is pointed at.
export function partText(story, part, step) {
  const { kind, layer, token } = part, { source, fed, facts, columns } = story, now = Math.max(0, step);
  if (KINDS[kind]) return attentionText(story, part, now);
  const wide = grouped(facts.width), all = `${source.length} × ${wide} numbers`, written = fed.slice(0, step + 1);
  const mixes = { "encoder mix": [4 + 2 * layer, source, "source"], "decoder mix": [5 + 3 * layer, written, "target"] };
  const rows = () => story.steps[now].rows.map(({ token: name, probability }) => {
    return `${quoted(shownToken(name))} ${chanceText(probability)}`;
  });
  const numbers = (point, list = source, on = "source") => {
    return token < list.length ? ` ${quoted(list[token])}: ${valuesText(story, columns[on].at(point, token))}.` : "";
  };
  switch (kind) {
    case "words": return token < source.length ? `${quoted(source[token])}: token ${token + 1} of ${source.length}.`
      : `The source: ${pluralize(source.length, "token")}.`;
    case "embedding": return `Embeddings: ${all}.${numbers(0)}`;
    case "positions": return `Embeddings with positions: ${all}.${numbers(2)}`;
    case "memory": return `Memory: ${all}, which each decoder layer reads.${numbers(columns.source.last)}`;
    case "start": return `Written so far: ${pluralize(now + 1, "token")}, ${quoted(fed[0])} first.`;
    case "target numbers": return `Embeddings of written tokens: ${wide} numbers each.${numbers(2, written, "target")}`;
    case "vocabulary": return `The vocabulary: ${grouped(facts.vocabulary)} probabilities. ${rows().join(", ")}.`;
    default: return `${placeOf(story, part)}, feed-forward: ${wide} numbers to ${grouped(facts.hidden)} and back.` +
      learnedText(story, part, "feedForward") + numbers(...mixes[kind]);
  }
}

const placeOf = (story, part) => `${sentenceCase(stackOf(part.kind))} layer ${layerOf(story, part)}`;

function learnedText(story, part, name) {
  const count = story.facts.parameters[`${stackOf(part.kind)}.${layerOf(story, part) - 1}.${name}`];
  return count ? ` ${grouped(count)} learned numbers.` : "";
}

function valuesText({ facts: { dimensions } }, values) {
  return dimensions.slice(0, 3).map((place, at) => `number ${place + 1} is ${signed(values[at], 2)}`).join(", ");
}

// One row of weights, by default that of the strongest line, in the decoder that of the token at work.
function attentionText(story, part, step) {
  const { kind, layer, head = null, token } = part, { source, fed, facts, maps, names } = story, map = maps[kind];
  const rows = kind === "encoder" ? source : fed, columns = kind === "decoder" ? fed : source;
  const which = head === null ? `mean of ${pluralize(facts.heads, "head")}` : `head ${head + 1} of ${facts.heads}`;
  const best = () => strongest(map.at(layer, head), names.source).query;
  const query = kind !== "encoder" ? step : token < rows.length ? token : best();
  const looks = ranked(map.row(layer, head, query), 3).filter(({ weight }) => weight > 0);
  const list = looks.map(({ key, weight }) => `${quoted(columns[key])} ${percent(weight)}`).join(", ");
  const learned = head === null ? learnedText(story, part, kind === "cross" ? "crossAttention" : "selfAttention") : "";
  return `${placeOf(story, part)}, ${KINDS[kind]}, ${which}: ${map.queries} × ${map.keys} weights.${learned} ` +
    `${quoted(rows[query])} looks at ${list}.`;
}

// The page that explains a part, at the same layer, head and token: [page, address].
export function pageOf(story, part, step) {
  const { kind, head = null, token } = part, layer = (part.layer ?? null) === null ? 0 : layerOf(story, part);
  const numbered = (name, at) => (at >= 0 ? { [name]: String(at + 1) } : {});
  const row = numbered("query", kind === "encoder" ? token : Math.max(0, step));
  const inside = (address) => ["inside", { inside: "step by step", ...address }];
  if (KINDS[kind] && head === null) return ["attention", { head: `${kind}.${layer}.all`, ...row }];
  if (KINDS[kind]) return inside({ head: `${kind}.${layer}.${head + 1}`, at_step: "softmax", ...row });
  const side = stackOf(kind) === "encoder" ? "source" : "target";
  switch (kind) {
    case "words": return ["home", {}];
    case "embedding": return ["research", { research: "embeddings", ...numbered("token", token) }];
    case "positions": return ["positions", { positions: "waves" }];
    case "memory": return inside({ head: "cross.1.1" });
    case "start": case "vocabulary": return ["decoding", { step: String(Math.max(0, step) + 1) }];
    case "target numbers": return ["research", { research: "embeddings", side: "target" }];
    default: {
      const address = { research: "feed-forward", side, unit_layer: String(layer), ...numbered("token", token) };
      return ["research", address];
    }
  }
}
