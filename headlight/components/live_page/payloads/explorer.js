// What the explorer draws of a sentence, as the bytes that headlight/views/attention/explorer_content.py makes of it.

import { SPECIAL_TOKENS, isMarks } from "../../lib/tokens.js";
import { measureHeads, representativeHeads, shareOf } from "./patterns.js";
import { fixed, headName, percent, pluralize, rint, sentenceCase } from "./text.js";

const KINDS = ["encoder", "decoder", "cross"];
const SPACE = "▁", WITHIN_WORDS = /^[-'’]+$/;

// words: `texts`, `steps` and `law` as explorer_content.py has them; roles: what is in heads.json, or null.
export function explorerBytes(trace, words, roles) {
  const weights = KINDS.map((kind) => Uint16Array.from(trace[kind].weights, (weight) => rint(weight * words.steps)));
  const sides = { source: trace.sourceTokens, fed: trace.decoderInputTokens, predicted: trace.targetTokens };
  let offset = 0;
  const kinds = KINDS.map((kind, at) => {
    const made = kindOf(trace, kind, offset, words, roles);
    offset += weights[at].length;
    return [kind, made];
  });
  const header = {
    id: checksum(weights), steps: words.steps, texts: words.texts,
    sides: Object.fromEntries(Object.entries(sides).map(([name, tokens]) => [name, sideOf(tokens)])),
    kinds: Object.fromEntries(kinds),
  };
  const text = new TextEncoder().encode(JSON.stringify(header)), padded = text.length + (text.length % 2);
  const bytes = new Uint8Array(4 + padded + 2 * offset).fill(32, 4, 4 + padded); // a blank to even the length
  new DataView(bytes.buffer).setUint32(0, padded, true);
  bytes.set(text, 4);
  weights.reduce((at, part) => {
    bytes.set(new Uint8Array(part.buffer), at);
    return at + part.byteLength;
  }, 4 + padded);
  return bytes;
}

// Tells one sentence's weights from another's (FNV-1a).
function checksum(parts) {
  let sum = 0x811c9dc5;
  for (const part of parts) for (const value of part) sum = Math.imul(sum ^ value, 0x01000193);
  return (sum >>> 0).toString(16).padStart(8, "0");
}

function kindOf(trace, kind, offset, { law }, roles) {
  const keys = kind === "decoder" ? trace.decoderInputTokens : trace.sourceTokens, { shape } = trace[kind];
  const measured = measureHeads(kind, trace[kind], keys, trace.targetTokens, law);
  const told = (head) => [head.layer, head.head, lookWords(head, law, roles)];
  return {
    layers: shape[0], heads: shape[1], queries: shape[2], keys: shape[3], offset,
    labels: measured.map(({ label }) => label),
    roles: measured.map((head) => roleWords(head, roles)),
    measures: measuresOf(measured, law),
    look: representativeHeads(measured).map(told),
  };
}

function measuresOf(measured, law) {
  const values = {
    confidence: measured.map(({ confidence }) => confidence),
    entropy: measured.map(({ entropy }) => entropy),
  };
  for (const name of Object.keys(law.thresholds)) {
    values[name] = measured.map(({ counts }) => shareOf(counts[name], law));
  }
  const known = Object.entries(values).filter(([, line]) => line.some(Number.isFinite));
  const rounded = (value) => (Number.isFinite(value) ? Number(fixed(value, 3)) : null);
  return Object.fromEntries(known.map(([name, line]) => [name, line.map(rounded)]));
}

function roleWords({ kind, layer, head, label }, roles) {
  if (!roles || label === null) return "";
  const share = percent((roles.labelled[kind][layer][head][label] ?? 0) / roles.sentences);
  return `it has this label in ${share} of ${pluralize(roles.sentences, "sentence pair")}, their references fed`;
}

function lookWords(head, law, roles) {
  const name = sentenceCase(headName(head.layer, head.head));
  const sharp = `a row's largest weight, the end of sentence aside, is ${fixed(head.confidence, 2)} on average`;
  if (head.label === null) return `${name} has no clear pattern; ${sharp}.`;
  const often = roleWords(head, roles), from = percent(law.thresholds[head.label]);
  const labelled = `${name}, labelled ${head.label} (from ${from} on)`;
  return `${labelled}: ${patternWords(head, law)}${often && ` (${often})`}; ${sharp}.`;
}

export function patternWords({ counts, label }, law) {
  const [rows, eligible] = counts[label], could = law.of_all_rows.includes(label) ? "" : " that could";
  const share = percent(shareOf(counts[label], law));
  return `in ${rows} of the ${pluralize(eligible, "row")}${could} (${share}) the largest weight is ${law.words[label]}`;
}

function sideOf(tokens) {
  let word = -1;
  const words = tokens.map((token, at) => (word += at === 0 || startsWord(tokens[at - 1], token) ? 1 : 0));
  const special = tokens.flatMap((token, at) => (SPECIAL_TOKENS.includes(token) ? [at] : []));
  return { tokens, special, words };
}

const isMark = (token) => isMarks(token) && !WITHIN_WORDS.test(token);

// After a blank, at a special token, between letters and marks.
function startsWord(before, token) {
  if (token.startsWith(SPACE) || SPECIAL_TOKENS.includes(before) || SPECIAL_TOKENS.includes(token)) return true;
  return before !== SPACE && isMark(before) !== isMark(token);
}
