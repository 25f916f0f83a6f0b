// Sentences of the explorer.

import {
  KIND_NAMES, PATTERN_PLACES, grouped, headName, percent, pluralize, quoted, sentenceCase,
} from "../lib/words.js";

const ROWS = "A row is a query, a column is a key; a row's weights sum to 1.";
export const KIND_TEXTS = {
  encoder: `Encoder self-attention: every source token attends to every source token. ${ROWS}`,
  decoder: "Masked decoder self-attention: each row is one step of the decoder, which attends to its input token and " +
    `all earlier ones; later tokens are masked and stay blank. ${ROWS}`,
  cross: `Cross-attention: each row is one step of the decoder, which attends to the whole source sentence. ${ROWS}`,
};

// For a thumbnail, a word per line.
export const SHORT_PATTERNS = {
  previous: "prev.", same: "same", next: "next", mirrored: "mirror", "end of sentence": "end",
  "beginning of sentence": "start", punctuation: "punct.", alignment: "aligns", "input alignment": "aligns input",
};
// Counted over all rows with a choice, also those that could not follow: decoder rows before the first punctuation
// mark, and rows that the line against the diagonal does not cross.
const OF_ALL_ROWS = ["mirrored", "punctuation"];

export const MEASURES = ["confidence", "entropy", ...Object.keys(SHORT_PATTERNS)];
export const isSmallestFirst = (measure) => measure === "entropy";
export const limitText = (measure) => (isSmallestFirst(measure) ? "at most" : "at least");

export function measureText(measure, value) {
  if (value === null || value === undefined) return "–";
  if (measure in SHORT_PATTERNS) return `${Math.round(100 * value)} %`;
  return value.toFixed(2) + (measure === "entropy" ? " nats" : "");
}

// Heads

// A head in the grid and in a legend.
export const tileName = ({ layer, head }) => `${layer + 1}.${head + 1}`;

const confidenceText = (confidence) => {
  return `a row's largest weight, the end of sentence aside, is ${measureText("confidence", confidence)} on average`;
};

const labelledText = (labelled, sentences) => {
  const pairs = pluralize(sentences, "sentence pair");
  return `it has this label in ${percent(labelled / sentences)} of ${pairs}, their references fed`;
};

// A head in its sentence. labelled: of so many `sentences` of a corpus those in which it has the label, or null.
export function headText({ kind, layer, head, label, share, labelled, sentences, confidence, entropy }) {
  const often = label && labelled !== null ? ` (${labelledText(labelled, sentences)})` : "";
  const seen = label && `in ${measureText(label, share)} of the rows counted the largest weight is on ` +
    PATTERN_PLACES[label];
  return (
    `${KIND_NAMES[kind]}, ${headName({ layer, head })}: ${seen ?? "no clear pattern"}${often}. Confidence ` +
    `${measureText("confidence", confidence)}, mean entropy of its rows ${measureText("entropy", entropy)}.`
  );
}

// A head worth a look. rows: those of the `eligible` ones that follow its label; threshold: the label's share.
export function lookText({ layer, head, label, rows, eligible, threshold, labelled, sentences, confidence }) {
  const name = sentenceCase(headName({ layer, head })), sharp = confidenceText(confidence);
  if (label === null) return `${name} has no clear pattern; ${sharp}.`;
  const often = labelled === null ? "" : ` (${labelledText(labelled, sentences)})`;
  const could = OF_ALL_ROWS.includes(label) ? "" : " that could";
  return (
    `${name}, labelled ${label} (from ${percent(threshold)} on): in ${grouped(rows)} of the ` +
    `${pluralize(eligible, "row")}${could} (${percent(rows / eligible)}) the largest weight is on ` +
    `${PATTERN_PLACES[label]}${often}; ${sharp}.`
  );
}

// How to label the rows of a head that aligns to the input tokens better; shares of the rows that could.
export const inputText = (input, output) => (
  ` In ${measureText("alignment", input)} of the rows that could, this head's largest weight is on the source word ` +
  `aligned with the input token, in ${measureText("alignment", output)} with the output token (Chen et al. 2020): ` +
  "choose “input token” under Options, “Label decoder rows by”."
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

const queryText = ({ text, fed, predicts }) => {
  return fed === undefined ? quoted(text) : `Input token ${quoted(fed)} (output token ${quoted(predicts)})`;
};

export const stepTitle = ({ text, fed, predicts }) => {
  return fed === undefined ? text : `input token ${quoted(fed)}, output token ${quoted(predicts)}`;
};

export const rowName = ({ text, fed, predicts }) => (fed === undefined ? text : `input ${fed}, output ${predicts}`);

export const cellText = (query, key, weight) => {
  return `${queryText(query)} attends to ${quoted(key.text)} with weight ${weight}.`;
};

export const maskedText = (query, key) => {
  return `${queryText(query)} may not attend to ${quoted(key.text)}, which comes later: it is masked.`;
};

// Tokens that read: the one that they attend to most, with its weight; of several the sum, of a total.
export function queriesText(queries, most, weight, total) {
  if (queries.length === 1) return `${queryText(queries[0])} attends to ${quoted(most.text)} most: ${weight}.`;
  return `${namesOf(queries)} together attend to ${quoted(most.text)} most: ${weight} in sum, of ${total}.`;
}

// Tokens that are read: the row that attends to them most, with its weight, and the total over all rows.
export function keysText(keys, most, weight, total) {
  const get = keys.length > 1 ? "together get" : "gets";
  return `${namesOf(keys)} ${get} most attention in the row ${quoted(most.text)}: ${weight}; over all rows ${total}.`;
}

const namesOf = (tokens) => tokens.map(({ text }) => quoted(text)).join(", ");

export const largestText = (cell, press) => (
  `Largest weight: ${cell} Point at a token, a cell or a head; ${press} to select it; Escape clears.`
);

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
