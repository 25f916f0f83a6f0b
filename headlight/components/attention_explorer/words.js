// Sentences of the explorer.

import { invite } from "../lib/screen.js";
import {
  KIND_NAMES, PATTERN_PLACES, grouped, headName, percent, pluralize, quoted, sentenceCase,
} from "../lib/words.js";

const ROWS = "Each row is a query, each column a key; a row adds up to 100 %.";
export const KIND_TEXTS = {
  encoder: `Every source word looks at the whole source. ${ROWS}`,
  decoder: `Every new word looks back at the words before it; later ones stay blank. ${ROWS}`,
  cross: `To write each word, the model looks at the source. ${ROWS}`,
};

// For a thumbnail, a word per line.
export const SHORT_PATTERNS = {
  previous: "prev.", same: "same", next: "next", mirrored: "mirror", "end of sentence": "end",
  "beginning of sentence": "start", punctuation: "punct.", alignment: "aligns", "input alignment": "aligns input",
};

export const MEASURES = ["confidence", "entropy", ...Object.keys(SHORT_PATTERNS)];
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
  return ` It does so ${percent(labelled / sentences)} of the time over ${pluralize(sentences, "sentence pair")}.`;
};

// A head in its sentence. labelled: of so many `sentences` of a corpus those in which it has the label, or null.
export function headText({ kind, layer, head, label, share, labelled, sentences, confidence, entropy }) {
  const often = label ? labelledText(labelled, sentences) : "";
  const seen = label && `${measureText(label, share)} of rows look at ${PATTERN_PLACES[label]}`;
  return (
    `${KIND_NAMES[kind]}, ${headName({ layer, head })}: ${seen ?? "no clear pattern"}.${often} Confidence ` +
    `${measureText("confidence", confidence)}, entropy ${measureText("entropy", entropy)}.`
  );
}

export const looksTitle = (count) => `${["A head", "Two heads", "Three heads"][count - 1] ?? "No head"} worth a look`;

// A head worth a look. rows: those of the `eligible` ones that follow its label.
export function lookText({ layer, head, label, rows, eligible, labelled, sentences }) {
  const name = sentenceCase(headName({ layer, head }));
  const seen = `${name} looks at ${PATTERN_PLACES[label]} in ${grouped(rows)} of ${pluralize(eligible, "row")}.`;
  return seen + labelledText(labelled, sentences);
}

// A hint for a head that aligns to the input tokens better; input, output: shares of the rows that could align.
export const inputText = (input, output) => (
  `This head matches the input token (${percent(input)} of rows) rather than the output token (${percent(output)}; ` +
  "Chen et al. 2020): choose “input token” under Options, “Label decoder rows by”."
);

// The name of several heads of a kind of this size; how: "mean of ", "sum of ", or nothing where each is drawn apart.
export function headsTitle({ layers, heads: each }, name, heads, how) {
  const [{ layer, head }] = heads, title = KIND_NAMES[name];
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

export const largestText = (cell) => `${cell} ${invite("Hover over cells, tokens and heads; click to keep one.")}`;

// down, across: the names of the sides.
export function axesText(name, rows, down = "Rows", across = "Columns") {
  const steps = `decoder steps, labelled by ${rows === "both tokens" ? "input → output token" : rows}`;
  const keys = name === "decoder" ? "decoder input tokens" : "source tokens";
  return `${down} (queries): ${name === "encoder" ? "source tokens" : steps}. ${across} (keys): ${keys}.`;
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
