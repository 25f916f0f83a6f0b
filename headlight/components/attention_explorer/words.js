// Sentences of the explorer.

import { KIND_NAMES, headName } from "../lib/names.js";
import { invite } from "../lib/screen.js";
import { grouped, percent, pluralize, quoted, sentenceCase } from "../lib/words.js";

const KIND_TEXTS = {
  encoder: "Every source word looks at the whole source.",
  decoder: "Every new word looks back at the words before it; later ones stay blank.",
  cross: "To write each word, the model looks at the source.",
};
const ROUNDING = 0.01; // of the sum of a row in half precision

// A kind of attention, and what its rows sum to. sums: the least and the largest sum of a row of another model's maps.
export function kindText({ name, causal, sums }) {
  const looks = causal ? "Every token looks at itself and the tokens before it; later ones stay blank."
    : `The tokens look at ${name === "cross" ? "those of the source" : "one another"}.`;
  const isWhole = !sums || sums.every((sum) => Math.abs(sum - 1) < ROUNDING);
  const added = isWhole ? "a row adds up to 100 %" : `rows add up to ${[...new Set(sums.map(percent))].join(" to ")}`;
  return `${sums ? looks : KIND_TEXTS[name]} Each row is a query, each column a key; ${added}.`;
}

// A model with one kind of attention has neither an encoder nor a decoder; some decoders are not masked.
export function kindTitle({ name, causal, alone }) {
  if (name === "cross") return KIND_NAMES.cross;
  if (alone) return causal ? "Masked self-attention" : "Self-attention";
  return name === "decoder" && !causal ? "Decoder self-attention" : KIND_NAMES[name];
}

export function sideNames({ name, alone }) {
  const of = (isSource) => (alone && name !== "cross" ? "" : ` (${isSource ? "source" : "target"})`);
  return { queries: `Queries${of(name === "encoder")}`, keys: `Keys${of(name !== "decoder")}` };
}

export const isSmallestFirst = (measure) => measure === "entropy";
export const limitText = (measure) => (isSmallestFirst(measure) ? "at most" : "at least");

export function measureText(measure, value) {
  if (value === null || value === undefined) return "–";
  return measure === "entropy" ? `${value.toFixed(2)} nats` : percent(value);
}

// Heads

// A head in the grid and in a legend.
export const tileName = ({ layer, head }) => `${layer + 1}.${head + 1}`;

const labelledText = (labelled, sentences) => {
  if (labelled === null) return "";
  return ` It does so in ${percent(labelled / sentences)} of ${pluralize(sentences, "sentence")}.`;
};

// A head in its sentence. labelled: of so many `sentences` of a corpus those in which it has the label, or null;
// place: of its rows' largest weights.
export function headText({ kind, layer, head, label, place, share, labelled, sentences, confidence, entropy }) {
  const often = label ? labelledText(labelled, sentences) : "";
  const seen = label && `${measureText(label, share)} of rows look at ${place}`;
  return (
    `${kindTitle(kind)}, ${headName({ layer, head })}: ${seen ?? "no clear pattern"}.${often} Confidence ` +
    `${measureText("confidence", confidence)}, entropy ${measureText("entropy", entropy)}.`
  );
}

export const looksTitle = (count) => `${["A head", "Two heads", "Three heads"][count - 1] ?? "No head"} worth a look`;

// A head worth a look. rows: those of the `eligible` ones that follow its label.
export function lookText({ layer, head, place, rows, eligible, labelled, sentences }) {
  const name = sentenceCase(headName({ layer, head }));
  const seen = `${name} looks at ${place} in ${grouped(rows)} of ${pluralize(eligible, "row")}.`;
  return seen + labelledText(labelled, sentences);
}

// The name of several heads of a kind of this size; how: "mean of ", "sum of ", or nothing where each is drawn apart.
export function headsTitle(kind, heads, how) {
  const [{ layer, head }] = heads, { layers, heads: each } = kind, title = kindTitle(kind);
  if (heads.length === 1) return `${title}: ${headName({ layer, head })}`;
  if (heads.length === layers * each) return `${title}: ${how}all ${heads.length} heads`;
  if (heads.length === each && heads.every((one) => one.layer === layer)) {
    return `${title}: ${how}the ${each} heads of layer ${layer + 1}`;
  }
  if (heads.length === layers && heads.every((one) => one.head === head)) {
    return `${title}: ${how}head ${head + 1} of all layers`;
  }
  return `${title}: ${how}${heads.length} heads`;
}

// Weights

// count: of the heads whose weights are shown.
const queryText = ({ text, predicts }, count) => {
  if (predicts === undefined) return `${quoted(text)} looks`;
  return `To write ${quoted(predicts)}, ${count === 1 ? "this head looks" : "these heads look"}`;
};

export const stepTitle = ({ text, fed, predicts }) => {
  return fed === undefined ? text : `input token ${quoted(fed)}, output token ${quoted(predicts)}`;
};

export const rowName = ({ text, fed, predicts }) => (fed === undefined ? text : `input ${fed}, output ${predicts}`);

export const cellText = (query, key, weight, count) => `${queryText(query, count)} at ${quoted(key.text)}: ${weight}.`;

export const maskedText = (query, key) => {
  return `${quoted(query.predicts ?? query.text)} may not look at ${quoted(key.text)}: masked, since it comes later.`;
};

// Tokens that read: the one that they look at most, with its share of their weight.
export function queriesText(queries, most, weight, count) {
  if (queries.length === 1) return `${queryText(queries[0], count)} most at ${quoted(most.text)}: ${weight}.`;
  return `${namesOf(queries)} together look most at ${quoted(most.text)}: ${weight}.`;
}

// Tokens that are read: the row that looks at them most, with its weight.
export const keysText = (keys, most, weight) => {
  return `${namesOf(keys)} ${keys.length > 1 ? "get" : "gets"} most in the row ${quoted(most.text)}: ${weight}.`;
};

const namesOf = (tokens) => tokens.map(({ text }) => quoted(text)).join(", ");

export const largestText = (cell) => `${cell} ${invite("Hover over a cell, a token or a head for its numbers.")}`;

// down, across: the names of the sides.
export function axesText({ name, alone, predicts }, rows, down = "Rows", across = "Columns") {
  const named = rows === "both tokens" ? "input → output token" : rows, source = alone ? "tokens" : "source tokens";
  const steps = predicts ? `decoder steps, labelled by ${named}` : "decoder input tokens";
  const keys = name === "decoder" ? "decoder input tokens" : source;
  return `${down} (queries): ${name === "encoder" ? source : steps}. ${across} (keys): ${keys}.`;
}

// The changes to the weights of so many heads, one sentence each; nothing where they are the model's own.
export function notes(count, { words, specials, top, together, view }, removed = 0) {
  const subject = view === "lines" ? "The tokens’ colours and the numbers are" : "This is";
  const whole = specials !== "hidden" && words !== "first pieces" && top === 100;
  const sum = whole ? `a row sums to ${count}` : `a whole row would sum to ${count}`;
  const result = together === "sum" ? sum : "none of them need look like it";
  return [
    words === "words" &&
      "Subwords are merged into words: weights are summed over the subwords of a key and averaged over those of a " +
      "query.",
    words === "first pieces" &&
      "Subwords that continue a word are left out as queries and as keys: a row may sum to less than 1.",
    specials === "hidden" &&
      "Special tokens are left out and rows are not divided by what remains: each lacks the weight on them.",
    specials === "renormalised" &&
      "Special tokens are left out and each row is divided by what remains, so that it sums to what it did before.",
    specials === "content only" &&
      `Special tokens, language tags and punctuation are left out as keys, ${Math.round(100 * removed)} % of the ` +
      "weight, and each row is divided by what remains.",
    top < 100 && `Of each row only the largest weights that together hold ${top} % of it are kept.`,
    count > 1 && `${subject} the ${together} of ${count} heads: ${result}.`,
  ].filter(Boolean).join(" ");
}
