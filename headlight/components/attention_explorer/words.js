// Sentences of the explorer.

import { KIND_NAMES, headName } from "../lib/names.js";
import { invite } from "../lib/screen.js";
import { percent, quoted, sentenceCase } from "../lib/words.js";
import { say } from "./texts.toml";

const ROUNDING = 0.01; // of the sum of a row in half precision

// A kind of attention, and what its rows sum to. sums: the least and the largest sum of a row of another model's maps.
export function kindText({ name, causal, sums }) {
  const other = causal ? "causal" : name === "cross" ? "cross" : "self";
  const isWhole = !sums || sums.every((sum) => Math.abs(sum - 1) < ROUNDING);
  const added = isWhole ? say("whole") : say("added", { sums: [...new Set(sums.map(percent))] });
  return say("kind", { looks: sums ? say(`other_${other}`) : say(`looks_${name}`), added });
}

// A model with one kind of attention has neither an encoder nor a decoder; some decoders are not masked.
export function kindTitle({ name, causal, alone }) {
  if (name === "cross") return KIND_NAMES.cross;
  if (alone) return say(causal ? "alone_causal" : "alone");
  return name === "decoder" && !causal ? say("unmasked") : KIND_NAMES[name];
}

export function sideNames({ name, alone }) {
  if (alone && name !== "cross") return { queries: say("queries"), keys: say("keys") };
  return {
    queries: say(name === "encoder" ? "queries_source" : "queries_target"),
    keys: say(name === "decoder" ? "keys_target" : "keys_source"),
  };
}

export const isSmallestFirst = (measure) => measure === "entropy";
export const limitText = (measure) => say(isSmallestFirst(measure) ? "at_most" : "at_least");

export function measureText(measure, value) {
  if (value === null || value === undefined) return "–";
  return measure === "entropy" ? say("entropy", { value }) : percent(value);
}

// Heads

// A head in the grid and in a legend.
export const tileName = ({ layer, head }) => `${layer + 1}.${head + 1}`;

const labelledText = (labelled, sentences) => {
  return labelled === null ? "" : say("often", { share: labelled / sentences, count: sentences });
};

// A head in its sentence. labelled: of so many `sentences` of a corpus those in which it has the label, or null;
// place: of its rows' largest weights.
export function headText({ kind, layer, head, label, place, share, labelled, sentences, confidence, entropy }) {
  return say("head", {
    kind: kindTitle(kind), head: headName({ layer, head }),
    seen: label ? say("seen", { share: measureText(label, share), place }) : say("no_pattern"),
    often: label ? labelledText(labelled, sentences) : "",
    confidence: measureText("confidence", confidence), entropy: measureText("entropy", entropy),
  });
}

// A head worth a look. rows: those of the `eligible` ones that follow its label.
export function lookText({ layer, head, place, rows, eligible, labelled, sentences }) {
  const name = sentenceCase(headName({ layer, head }));
  return say("look", { head: name, place, rows, count: eligible }) + labelledText(labelled, sentences);
}

// The name of several heads of a kind of this size; how: "mean of ", "sum of ", or nothing where each is drawn apart.
export function headsTitle(size, heads, how) {
  const [{ layer, head }] = heads, { layers, heads: each } = size, kind = kindTitle(size), count = heads.length;
  if (count === 1) return say("one_head", { kind, head: headName({ layer, head }) });
  if (count === layers * each) return say("all_heads", { kind, how, heads: count });
  if (count === each && heads.every((one) => one.layer === layer)) {
    return say("layer_heads", { kind, how, heads: each, layer: layer + 1 });
  }
  if (count === layers && heads.every((one) => one.head === head)) {
    return say("head_of_layers", { kind, how, head: head + 1 });
  }
  return say("some_heads", { kind, how, heads: count });
}

// Weights

// count: of the heads whose weights are shown.
const queryText = ({ text, predicts }, count) => {
  return predicts === undefined ? say("looking", { token: text }) : say("writing", { token: predicts, count });
};

export const stepTitle = ({ text, fed, predicts }) => (fed === undefined ? text : say("step", { fed, predicts }));

export const rowName = ({ text, fed, predicts }) => (fed === undefined ? text : say("row", { fed, predicts }));

export const cellText = (query, key, weight, count) => {
  return say("cell", { looking: queryText(query, count), key: key.text, weight });
};

export const maskedText = (query, key) => say("masked", { query: query.predicts ?? query.text, key: key.text });

// Tokens that read: the one that they look at most, with its share of their weight.
export function queriesText(queries, { text: token }, weight, count) {
  if (queries.length === 1) return say("most", { looking: queryText(queries[0], count), token, weight });
  return say("queries_most", { tokens: namesOf(queries), token, weight });
}

// Tokens that are read: the row that looks at them most, with its weight.
export const keysText = (keys, most, weight) => {
  return say("keys_most", { count: keys.length, tokens: namesOf(keys), token: most.text, weight });
};

const namesOf = (tokens) => tokens.map(({ text }) => quoted(text));

export const largestText = (cell) => `${cell} ${invite(say("hover"))}`;

// down, across: the names of the sides.
export function axesText({ name, alone, predicts }, rows, down = say("rows"), across = say("columns")) {
  const named = rows === "both tokens" ? say("both_tokens") : rows, source = say(alone ? "tokens" : "source_tokens");
  const steps = predicts ? say("steps", { name: named }) : say("input_tokens");
  const keys = name === "decoder" ? say("input_tokens") : source;
  return say("axes", { down, queries: name === "encoder" ? source : steps, across, keys });
}

// The changes to the weights of so many heads, one sentence each; nothing where they are the model's own.
export function notes(heads, { words, specials, top, together, view }, removed = 0) {
  const whole = specials !== "hidden" && words !== "first pieces" && top === 100;
  const result = together === "sum" ? say(whole ? "sum_whole" : "sum_cut", { heads }) : say("unlike");
  return [
    words === "words" && say("merged"),
    words === "first pieces" && say("first_pieces"),
    specials === "hidden" && say("hidden"),
    specials === "renormalised" && say("renormalised"),
    specials === "content only" && say("content", { percent: Math.round(100 * removed) }),
    top < 100 && say("top", { top }),
    heads > 1 && say(view === "lines" ? "together_lines" : "together_map", { together, heads, result }),
  ].filter(Boolean).join(" ");
}
