// Sentences of the whole pass, one at a time, and the names of its parts.

import { chipText } from "../lib/tokens.js";
import { chanceText, grouped, percent, pluralize, quoted, sentenceCase } from "../lib/words.js";
import { ranked, stepAt, strongest } from "./story.js";

const CHAPTERS = {
  words: "Tokens", embedding: "Numbers", positions: "Numbers", encoder: "Encoder", "encoder mix": "Encoder",
  memory: "Memory", start: "Decoder", decoder: "Decoder", cross: "Decoder", "decoder mix": "Decoder",
  vocabulary: "First word", winner: "First word", step: "Next words", end: "Sentence",
};
const KINDS = { encoder: "self-attention", decoder: "masked self-attention", cross: "cross-attention" };

// Beside a bar.
export const shortPercent = (share) => percent(share).replace("under", "<").replace("over", ">");

export const chapterOf = ({ kind }) => CHAPTERS[kind];

// "layer 2 of 6" of a drawn layer of a stack.
function layerName({ drawn, layers }, stack, layer) {
  return layers[stack] === 1 ? "the only layer" : `layer ${drawn[stack][layer] + 1} of ${layers[stack]}`;
}

const stackOf = (kind) => (kind.startsWith("encoder") ? "encoder" : "decoder");

// The name of a station, for the slider.
export function stationName(story, { kind, layer, step }) {
  const place = layer === null ? "" : `${sentenceCase(stackOf(kind))}, ${layerName(story, stackOf(kind), layer)}: `;
  const names = {
    words: "Tokens", embedding: "Tokens become numbers", positions: "Positions are added", encoder: "attention",
    "encoder mix": "feed-forward", memory: "The encoder is done", start: "The decoder begins",
    decoder: "a look back", cross: "a look at the source", "decoder mix": "feed-forward",
    vocabulary: "The vocabulary", winner: "The first word", end: "The sentence",
  };
  return step === null ? place + names[kind] : `Step ${step + 1}: ${quoted(story.next[step])}`;
}

// Names of columns: { text, range, bold, level }.
export function headings(story, layout, { station, step }) {
  const { source, target, folded, tall } = layout, { layers } = story, found = [];
  const put = (text, range, bold = false, level = null) => found.push({ text, range, bold, level });
  const stack = (name, side, columns) => {
    const begin = columns[1].lines[0], end = columns.at(-1).strip[1], count = layers[name];
    put(tall ? sentenceCase(name) : `${sentenceCase(name)}: ${name === "encoder" ? "reads" : "writes"}`, [begin, end], true);
    if (folded) {
      const layer = station.layer !== null && stackOf(station.kind) === name ? story.drawn[name][station.layer] : null;
      const all = pluralize(count, "layer");
      put(layer === null ? all : tall ? `${layer + 1} of ${all}` : `layer ${layer + 1} of ${count}`, [begin, end]);
    } else columns.slice(1).forEach(({ lines, strip }, at) => put(`layer ${at + 1}`, [lines[0], strip[1], strip[1] - lines[0]]));
  };
  put("Source", source.words, true);
  if (!tall) put("numbers", source.columns[0].strip);
  stack("encoder", "source", source.columns);
  put("Memory", layout.memory, true);
  stack("decoder", "target", target.columns);
  if (step >= 0) put("written", target.words, tall);
  if (station.kind === "step") put(tall ? "their mean" : "mean of all layers", target.columns[1].lines, false, 2);
  return found;
}

// The sentence of a station, true of this sentence and this model.
export function sentenceAt(story, station) {
  const { source, fed, next, facts, steps, maps, names } = story, { kind, layer, step } = station;
  const wide = facts.width, count = source.length, tokens = pluralize(count, "token");
  const name = layer === null ? "" : sentenceCase(layerName(story, stackOf(kind), layer));
  const most = (weights, list) => {
    const [{ key, weight }] = ranked(weights, 1);
    return `${quoted(list[key])}, ${percent(weight)}`;
  };
  const pick = (given) => {
    if (given.isGiven) return `${quoted(shown(given.token))} is given: every translation into this language begins with it.`;
    const chance = `${quoted(shown(given.token))} gets ${percent(given.probability)}`;
    return given.rank === 1 ? `${chance}, the most of all.` : `${chance} and is taken, though it is choice number ${given.rank}.`;
  };
  switch (kind) {
    case "words": return `Your sentence falls into ${tokens}: words, parts of words and marks.`;
    case "embedding": return `Each token becomes a list of ${grouped(wide)} numbers, learned in training. ` +
      `${facts.dimensions.length} of them are drawn: brown below zero, teal above.`;
    case "positions": return "The numbers of its place are added to each token, so that the order of the words counts.";
    case "encoder": {
      const all = maps.encoder.at(layer), found = strongest(maps.encoder, all, names.source, names.source, true);
      const pair = found.query === found.key ? "itself" : quoted(source[found.key]);
      const example = `${quoted(source[found.query])} looks at ${pair} with ${percent(found.weight)}.`;
      return layer ? `${name}: the same once more, with other weights. Here ${example}`
        : `${name}: each token looks at all tokens and takes something from each. The thicker a line, the more: ${example}`;
    }
    case "encoder mix": return layer ? `${name}: and again each token works on its own numbers.` : `${name}: each token now works on its own numbers, through ${grouped(facts.hidden)} steps ` +
      "in between. It sees no other token here.";
    case "memory": return `The encoder is done. ${count} × ${grouped(wide)} numbers: this is all that the decoder will know ` +
      "of your sentence.";
    case "start": return `The decoder writes one token at a time. Nothing is written yet, so it begins with ${quoted(fed[0])}.`;
    case "decoder": return `${name}: the decoder looks back at what is written. That is only ${quoted(fed[0])}, which gets all, 100 %.`;
    case "cross": return `${name}: the decoder looks at your sentence, most at ${most(maps.cross.row(layer, null, 0), source)}.`;
    case "decoder mix": return `${name}: then it works on its own ${grouped(wide)} numbers, as each token of the encoder did.`;
    case "vocabulary": return `The last numbers are compared with ${grouped(facts.vocabulary)} tokens. ${pick(steps[0])}`;
    case "winner": return steps.length > 1
      ? `${quoted(next[0])} is written down, and it is what the decoder reads next.`
      : `${quoted(next[0])} is written down.`;
    case "step": return `Step ${step + 1}: the decoder looks back most at ${most(maps.decoder.row(null, null, step), fed)}, and at your ` +
      `sentence most at ${most(maps.cross.row(null, null, step), source)}. ${pick(steps[step])}`;
    default: return ending(story);
  }
}

const shown = (token) => chipText(token);

function ending({ steps, layers, finished, next }) {
  const stop = finished ? `${quoted(next.at(-1))} ends it` : "The greatest length ends it";
  return `${stop}: ${pluralize(steps.length, "step")}, each through ${pluralize(layers.decoder, "decoder layer")}, and one ` +
    `pass through ${pluralize(layers.encoder, "encoder layer")}.`;
}

// While it plays: one short sentence for several stations.
export function chapterSentence(story, station, time) {
  const { source, facts, layers, steps, next } = story;
  switch (chapterOf(station)) {
    case "Tokens": return `Your sentence falls into ${pluralize(source.length, "token")}.`;
    case "Numbers": return `Each token becomes ${grouped(facts.width)} numbers${facts.positioned ? ", and its place is added" : ""}.`;
    case "Encoder": return `The encoder reads: in ${pluralize(layers.encoder, "layer")} the tokens look at one another.`;
    case "Memory": return `What it has understood: ${source.length} × ${grouped(facts.width)} numbers.`;
    case "Decoder": return "The decoder writes: it looks back, and at your sentence.";
    case "First word": return `${grouped(facts.vocabulary)} tokens compete: ${quoted(shown(steps[0].token))} gets ` +
      `${percent(steps[0].probability)}.`;
    case "Next words": return `Each new token is read again, for the next one: ${quoted(next[stepAt(story, time)])}.`;
    default: return ending(story);
  }
}

// The name, shape and value of a part: of one token where one is pointed at.
export function partText(story, part, step) {
  const { kind, layer, token } = part, { source, fed, facts, columns } = story, now = Math.max(0, step);
  if (KINDS[kind]) return attentionText(story, part, now);
  const wide = grouped(facts.width), all = `${source.length} × ${wide} numbers`, written = fed.slice(0, step + 1);
  const numbers = (side, point, list) => {
    return token < list.length ? ` ${quoted(list[token])}: ${valuesText(story, side, point, token)}.` : "";
  };
  const mix = `${layerPlace(story, kind, layer)}, feed-forward: ${wide} numbers to ${grouped(facts.hidden)} and back.`;
  switch (kind) {
    case "words": return token < source.length ? `${quoted(source[token])}: token ${token + 1} of ${source.length}.`
      : `The source: ${pluralize(source.length, "token")}.`;
    case "embedding": return `Embeddings: ${all}.${numbers("source", 0, source)}`;
    case "positions": return `Embeddings with positions: ${all}.${numbers("source", 2, source)}`;
    case "encoder mix": return `${mix}${learnedText(story, part, "feedForward")}${numbers("source", 4 + 2 * layer, source)}`;
    case "memory": return `Memory: ${all}, which each decoder layer reads.${numbers("source", columns.source.last, source)}`;
    case "start": return `Written so far: ${pluralize(now + 1, "token")}, ${quoted(fed[0])} first.`;
    case "target numbers": return `Embeddings of what is written: ${wide} numbers each.${numbers("target", 2, written)}`;
    case "decoder mix": return `${mix}${learnedText(story, part, "feedForward")}${numbers("target", 5 + 3 * layer, written)}`;
    default: return `The vocabulary: ${grouped(facts.vocabulary)} probabilities. ` +
      `${story.steps[now].rows.map((row) => `${quoted(shown(row.token))} ${chanceText(row.probability)}`).join(", ")}.`;
  }
}

const layerPlace = ({ drawn }, kind, layer) => `${sentenceCase(stackOf(kind))} layer ${drawn[stackOf(kind)][layer] + 1}`;

function learnedText({ facts, drawn }, { kind, layer }, name) {
  const count = facts.parameters[`${stackOf(kind)}.${drawn[stackOf(kind)][layer]}.${name}`];
  return count ? ` ${grouped(count)} learned numbers.` : "";
}

// One row of weights, by default that of the strongest line, in the decoder that of the token at work.
function attentionText(story, part, step) {
  const { kind, layer, head = null, token } = part, { source, fed, facts, maps, names } = story;
  const { queries, keys } = maps[kind], rows = kind === "encoder" ? source : fed, columns = kind === "decoder" ? fed : source;
  const which = head === null ? `mean of ${pluralize(facts.heads, "head")}` : `head ${head + 1} of ${facts.heads}`;
  const pair = () => strongest(maps.encoder, maps.encoder.at(layer, head), names.source, names.source, true);
  const query = kind !== "encoder" ? step : token < queries ? token : pair().query;
  const looks = ranked(maps[kind].row(layer, head, query), 3).filter(({ weight }) => weight > 0);
  const list = looks.map(({ key, weight }) => `${quoted(columns[key])} ${percent(weight)}`).join(", ");
  const learned = head === null ? learnedText(story, part, kind === "cross" ? "crossAttention" : "selfAttention") : "";
  return `${layerPlace(story, kind, layer)}, ${KINDS[kind]}, ${which}: ${queries} × ${keys} weights.${learned} ` +
    `${quoted(rows[query])} looks at ${list}.`;
}

function valuesText({ columns, facts }, side, point, token) {
  const values = [...columns[side].at(point, token)].slice(0, 3).map((value) => value.toFixed(2).replace("-", "−"));
  const places = facts.dimensions.slice(0, 3).map((at) => at + 1);
  return places.map((place, at) => `number ${place} is ${values[at]}`).join(", ");
}

// The page that explains a part, at the same layer, head and token: [page, address].
export function pageOf(story, { kind, layer, head = null, token }, step) {
  const stack = layer === null ? "" : stackOf(kind), number = layer === null ? 0 : story.drawn[stack][layer] + 1;
  const row = kind === "encoder" ? token : Math.max(0, step), query = row === undefined ? {} : { query: String(row + 1) };
  if (KINDS[kind]) {
    if (head !== null) return ["inside", { inside: "step by step", head: `${kind}.${number}.${head + 1}`, at_step: "softmax", ...query }];
    return ["attention", { head: `${kind}.${number}.all`, ...query }];
  }
  const at = token === undefined ? {} : { token: String(token + 1) };
  const pages = {
    words: ["home", {}], embedding: ["research", { research: "embeddings", ...at }], positions: ["positions", { positions: "waves" }],
    "encoder mix": ["research", { research: "feed-forward", unit_layer: String(number), ...at }],
    memory: ["inside", { inside: "step by step", head: "cross.1.1" }], start: ["decoding", { step: "1" }],
    "target numbers": ["research", { research: "embeddings", side: "target" }],
    "decoder mix": ["research", { research: "feed-forward", side: "target", unit_layer: String(number) }],
    vocabulary: ["decoding", { step: String(Math.max(0, step) + 1), decoding_view: "candidates" }],
  };
  return pages[kind];
}
