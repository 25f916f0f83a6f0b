// Sentences of the whole pass, one at a time, and the names of its parts.

import { shownToken } from "../lib/tokens.js";
import { percent } from "../lib/words.js";
import { ranked, stepAt, strongest } from "./story.js";
import { say } from "./texts.toml";

const KINDS = ["encoder", "decoder", "cross"];

// press: "click" or "tap".
export const invitation = (press) => say(press === "tap" ? "tap" : "click");

// Beside a bar.
export const shortPercent = (share) => percent(share).replace("under", "<").replace("over", ">");

const stackOf = (kind) => (kind.startsWith("encoder") ? "encoder" : "decoder");
const layerOf = ({ drawn }, { kind, layer }) => drawn[stackOf(kind)][layer] + 1;
const keyOf = (kind) => kind.replace(" ", "_");
export const headsText = ({ heads }) => say("heads", { count: heads });
const tokensText = (list) => say("tokens", { count: list.length });

export function stationName(story, station) {
  const { kind, layer, step } = station, stack = stackOf(kind);
  if (step !== null) return say("station_step", { step: step + 1, token: story.next[step] });
  const name = say(`name_${keyOf(kind)}`), layers = story.layers[stack];
  if (layer === null) return name;
  const place = { layer: layerOf(story, station), layers, name };
  return stack === "encoder" ? say("station_encoder", place) : say("station_decoder", place);
}

// Names of columns: { text, range, bold, line }.
export function headings(story, layout, { station, step }) {
  const { source, target, folded, tall } = layout, found = [];
  const put = (text, range, bold = false, line = Number(!bold)) => found.push({ text, range, bold, line });
  const stack = (name, title, { columns }) => {
    const range = [columns[1].lines[0], columns.at(-1).strip[1]], count = story.layers[name];
    const isHere = station.layer !== null && stackOf(station.kind) === name;
    const layer = isHere ? layerOf(story, station) : 0;
    put(title, range, true);
    if (folded) put(isHere ? say("layer_of", { layer, layers: count }) : say("layers", { count }), range);
    else {
      columns.slice(1).forEach(({ lines, strip }, at) => {
        put(say("layer", { layer: at + 1 }), tall ? [lines[0], strip[1]] : strip);
      });
    }
  };
  put(say("source"), source.words, true);
  if (!tall) put(say("numbers"), source.columns[0].strip);
  stack("encoder", say(tall ? "encoder" : "encoder_reads"), source);
  put(say("memory"), layout.memory, true);
  stack("decoder", say(tall ? "decoder" : "decoder_writes"), target);
  if (step >= 0) put(say("written"), target.words, true, tall ? 0 : 1);
  if (folded && station.kind === "step") put(say(tall ? "mean" : "mean_of_layers"), target.columns[1].lines, false, 2);
  return found;
}

// The sentence of a station, true of this sentence and this model.
export function sentenceAt(story, station) {
  const { source, fed, next, facts, maps } = story, { kind, layer, step } = station;
  if (kind === "end") return endText(story);
  const most = (map, list, count, words) => {
    return ranked(map.row(layer, null, step ?? 0), count).map(({ key, weight }) => words({ token: list[key], weight }));
  };
  const share = (place) => say("share", place), at = (place) => say("at", place);
  const isLast = kind === "winner" && !next[1], prefix = kind.startsWith("encoder") && layer ? "again_" : "";
  return say(`at_${isLast ? "only_" : prefix}${keyOf(kind)}`, {
    layer: layer === null ? 0 : layerOf(story, station), step: step + 1, tokens: tokensText(source),
    source: source.length, wide: facts.width, drawn: facts.dimensions.length, hidden: facts.hidden,
    vocabulary: facts.vocabulary, start: fed[0], token: next[0], end: source.at(-1),
    choice: choiceText(story, step ?? 0), heads: headsText(story),
    pair: kind === "encoder" ? pairText(story, layer) : "", others: othersText(story),
    back: kind === "step" ? most(maps.decoder, fed, 1, share) : "",
    most: kind === "cross" ? most(maps.cross, source, 2, at)
      : kind === "step" ? most(maps.cross, source, 1, share) : "",
  });
}

function pairText(story, layer) {
  const { maps, names, source } = story;
  const { query, key, weight } = strongest(maps.encoder.at(layer), names.source);
  const other = query === key ? say("itself") : `“${source[key]}”`, last = source.length - 1;
  const pair = say("pair", { query: source[query], key: other, weight, heads: headsText(story) });
  const map = maps.encoder.at(layer), ofLast = source.reduce((sum, _, row) => sum + map[row * source.length + last], 0);
  return ofLast > last / 2 ? `${pair} ${say("rest", { token: source[last], weight: ofLast / source.length })}` : pair;
}

// What the candidates that are not drawn have together.
function othersText({ steps: [{ rows }], facts: { vocabulary } }) {
  const share = 1 - rows.reduce((sum, { probability }) => sum + probability, 0);
  return say("others", { count: vocabulary - rows.length, share: Math.max(0, share) });
}

function choiceText({ steps, next }, step) {
  const { probability, rank, isGiven } = steps[step], token = next[step];
  if (isGiven) return say("given", { token });
  return say(rank === 1 ? "first_choice" : "later_choice", { token, probability, rank });
}

function endText({ steps, layers, finished, next }) {
  return say(finished ? "end" : "end_cut", {
    token: next.at(-1), encoder: say("encoder_layers", { count: layers.encoder }),
    decoder: say("decoder_layers", { count: layers.decoder }), tokens: tokensText(steps),
  });
}

// While it plays: one short sentence for several stations.
export function chapterSentence(story, station, time) {
  const { source, facts, layers, next } = story, { kind } = station;
  if (kind === "end") return endText(story);
  const name = { winner: "vocabulary", start: "decoder", cross: "decoder" }[kind] ?? kind.split(" ")[0];
  return say(`chapter_${name}`, {
    tokens: tokensText(source), wide: facts.width, layers: say("layers", { count: layers.encoder }),
    source: source.length, vocabulary: facts.vocabulary, choice: choiceText(story, 0),
    token: next[kind === "step" ? stepAt(story, time) : 0],
  });
}

// The name, shape and value of a part: of one token where one is pointed at.
export function partText(story, part, step) {
  const { kind, layer, token } = part, { source, fed, facts, columns } = story, now = Math.max(0, step);
  if (KINDS.includes(kind)) return attentionText(story, part, now);
  if (kind === "words" && token < source.length) {
    return say("one_word", { token: source[token], number: token + 1, tokens: source.length });
  }
  const written = fed.slice(0, step + 1), name = kind.endsWith(" mix") ? "mix" : kind.split(" ")[0];
  const [point, list, side] = {
    embedding: [0, source, "source"], positions: [2, source, "source"], memory: [columns.source.last, source, "source"],
    "target numbers": [2, written, "target"], "encoder mix": [4 + 2 * layer, source, "source"],
    "decoder mix": [5 + 3 * layer, written, "target"],
  }[kind] ?? [0, []];
  const rows = story.steps[now].rows.map((row) => {
    return say("row", { token: shownToken(row.token), probability: row.probability });
  });
  return say(`part_${name}`, {
    tokens: say("tokens", { count: kind === "words" ? source.length : now + 1 }), source: source.length,
    wide: facts.width, hidden: facts.hidden, vocabulary: facts.vocabulary, start: fed[0], rows,
    place: name === "mix" ? placeText(story, part) : "",
    learned: name === "mix" ? learnedText(story, part, "feedForward") : "",
    values: token < list.length ? valuesText(story, list[token], columns[side].at(point, token)) : "",
  });
}

const placeText = (story, part) => {
  return say(stackOf(part.kind) === "encoder" ? "place_encoder" : "place_decoder", { layer: layerOf(story, part) });
};

function learnedText(story, part, name) {
  const count = story.facts.parameters[`${stackOf(part.kind)}.${layerOf(story, part) - 1}.${name}`];
  return count ? say("learned", { count }) : "";
}

function valuesText({ facts: { dimensions } }, token, values) {
  const first = dimensions.slice(0, 3).map((place, at) => say("value", { number: place + 1, value: values[at] }));
  return say("values", { token, values: first });
}

// One row of weights, by default that of the strongest line, in the decoder that of the token at work.
function attentionText(story, part, step) {
  const { kind, layer, head = null, token } = part, { source, fed, facts, maps, names } = story, map = maps[kind];
  const rows = kind === "encoder" ? source : fed, columns = kind === "decoder" ? fed : source;
  const which = head === null ? say("mean_of_heads", { heads: say("heads", { count: facts.heads }) })
    : say("head_of", { head: head + 1, heads: facts.heads });
  const best = () => strongest(map.at(layer, head), names.source).query;
  const query = kind !== "encoder" ? step : token < rows.length ? token : best();
  const looks = ranked(map.row(layer, head, query), 3).filter(({ weight }) => weight > 0);
  const learned = head === null ? learnedText(story, part, kind === "cross" ? "crossAttention" : "selfAttention") : "";
  return say("attention", {
    place: placeText(story, part), kind: say(`kind_${kind}`), which, queries: map.queries, keys: map.keys, learned,
    query: rows[query], looks: looks.map(({ key, weight }) => say("look", { token: columns[key], weight })),
  });
}

// The page that explains a part, at the same layer, head and token: [page, address].
export function pageOf(story, part, step) {
  const { kind, head = null, token } = part, layer = (part.layer ?? null) === null ? 0 : layerOf(story, part);
  const numbered = (name, at) => (at >= 0 ? { [name]: String(at + 1) } : {});
  const row = numbered("query", kind === "encoder" ? token : Math.max(0, step));
  const inside = (address) => ["inside", { inside: "step by step", ...address }];
  if (KINDS.includes(kind) && head === null) return ["attention", { head: `${kind}.${layer}.all`, ...row }];
  if (KINDS.includes(kind)) return inside({ head: `${kind}.${layer}.${head + 1}`, at_step: "softmax", ...row });
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
