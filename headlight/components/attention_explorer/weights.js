// All attention of a sentence, and what is shown of it: heads averaged, tokens merged, weights left out.

import { JOINT } from "../lib/canvas.js";
import { local } from "../lib/language.js";
import { headsAddress } from "../lib/selection.js";
import { chipText, shownTokens } from "../lib/tokens.js";
import { percent } from "../lib/words.js";
import { KINDS, kindOf, sideOf } from "./story.js";
import { say } from "./texts.toml";
import {
  cellText, headText, keysText, lookText, maskedText, queriesText, rowName,
} from "./words.js";

const CONTENT = "content only";

export class Attention {
  // facts: { id, steps, sourceTokens, decoderInputTokens, targetTokens, leastRows, patternWords, patterns,
  // sentences }
  // (headlight/views/attention/explorer_content.py), and for each kind its weights as parts of `steps`, { shape:
  // [layers, heads, queries, keys], weights }. Of a long text each head is small, and `mean` the map of the `chosen`
  // heads. Attention of any model (headlight/views/attention/maps_content.py) may have some of the kinds alone, no
  // `targetTokens`, and besides `causal`, `headsPerLayer`, `rowSums` of each kind, `specials` and `alone`.
  constructor(facts) {
    const { sourceTokens, decoderInputTokens, targetTokens, specials } = facts;
    Object.assign(this, { facts, id: facts.id, steps: facts.steps });
    const [source, fed] = [sourceTokens, decoderInputTokens].map((tokens) => sideOf(tokens, specials));
    this.tokens = { source, fed, predicted: targetTokens ? sideOf(targetTokens, specials) : fed };
    this.kinds = KINDS.filter((name) => facts[name]);
    this.ofKind = Object.fromEntries(this.kinds.map((name) => [name, kindOf(facts, name)]));
  }

  kind(name) {
    return this.ofKind[name];
  }

  // Queries and keys; a decoder row has an input token and an output token, and is labelled by one or both.
  sides(name, rows) {
    const { source, fed, predicted } = this.tokens, step = rows === "input token" ? fed : predicted;
    return { queries: name === "encoder" ? source : step, keys: name === "decoder" ? fed : source };
  }

  // Of a long text the weights of all heads are not here: each head small, and the mean of the chosen ones whole.
  get isWhole() {
    return !this.facts.chosen;
  }

  // Return whether the map of these heads together is available.
  holds(name, heads) {
    return this.isWhole || this.facts.chosen === headsAddress(heads.map((head) => ({ ...head, kind: name })));
  }

  // Rows and columns of a head's thumbnail.
  smallSize(name) {
    const [rows, columns] = this.kind(name).small;
    return { rows, columns };
  }

  // The weights of a thumbnail: those of the head, or of each square of a long text's cells the largest.
  small(name, { layer, head }) {
    const { heads, small: [rows, columns], weights } = this.kind(name), start = (layer * heads + head) * rows * columns;
    return weights.subarray(start, start + rows * columns);
  }

  // Some heads summed, weights from 0 to their number; those that `holds` knows.
  sum(name, heads) {
    const { queries, keys } = this.kind(name), sum = new Float64Array(queries * keys);
    if (!this.isWhole) {
      const { weights } = this.facts.mean, part = heads.length / this.steps;
      return sum.map((_, cell) => part * weights[cell]);
    }
    for (const each of heads) this.small(name, each).forEach((weight, cell) => (sum[cell] += weight));
    return sum.map((weight) => weight / this.steps);
  }

  // The facts of one head.
  headOf(name, { layer, head }) {
    const { heads, labels, labelled, measures, counts } = this.kind(name), at = layer * heads + head;
    const label = labels[at], place = this.facts.patternWords[label]?.[0];
    const [rows, eligible] = counts[label]?.[at] ?? [];
    return {
      kind: this.kind(name), layer, head, label, place, rows, eligible, labelled: labelled[at],
      sentences: this.facts.sentences,
      share: measures[label]?.[at], confidence: measures.confidence?.[at], entropy: measures.entropy?.[at],
    };
  }

  headText(name, head) {
    return headText(this.headOf(name, head));
  }

  looks(name) {
    return this.kind(name).looks.map((head) => ({ head, text: lookText(this.headOf(name, head)) }));
  }
}

// A matrix ready to be drawn: `rows` and `columns` are {text, shown, positions}, positions of the tokens behind them,
// rows of the decoder with what they were `fed` and `predict`.
export class Shown {
  constructor(attention, name, heads, { rows, words, specials, top, together }) {
    const kind = attention.kind(name);
    Object.assign(this, { attention, name, heads, kind });
    const sides = attention.sides(name, rows);
    const isRenormalised = specials === "renormalised" || specials === CONTENT;
    this.rows = grouped(sides.queries, words, specials === CONTENT ? "shown" : specials); // the rows all stay
    this.columns = grouped(sides.keys, words, specials);
    if (kind.causal) { // without rows that have nothing left to read
      this.rows = this.rows.filter(({ positions }) => this.columns[0]?.positions[0] <= positions.at(-1));
    }
    if (kind.predicts) this.nameSteps(rows === "both tokens");
    this.most = together === "sum" ? heads.length : 1; // what a row can sum to
    // A weight of the model itself is exact to four decimals.
    this.digits = heads.length > 1 || words === "words" || isRenormalised ? 3 : 4;
    this.values = this.merged(attention.sum(name, heads), kind.keys);
    if (isRenormalised) this.renormalise();
    this.inTop = top < 100 ? largestTogether(this.values, this.columns.length, top / 100) : null;
  }

  // Weights summed over the tokens of the word that is read, averaged over those of the word that reads.
  merged(sum, keys) {
    const values = new Float64Array(this.rows.length * this.columns.length), part = this.most / this.heads.length;
    this.rows.forEach((row, r) => {
      this.columns.forEach((column, c) => {
        let weight = 0;
        for (const query of row.positions) for (const key of column.positions) weight += sum[query * keys + key];
        values[r * this.columns.length + c] = (part * weight) / row.positions.length;
      });
    });
    return values;
  }

  // Add both tokens of each step; hasBoth: the name of a row is made of both.
  nameSteps(hasBoth) {
    const { fed, predicted } = this.attention.tokens;
    for (const row of this.rows) {
      const [from, to] = [fed, predicted].map(({ tokens }) => named(tokens, row.positions));
      Object.assign(row, { fed: from.text, predicts: to.text });
      if (hasBoth) Object.assign(row, { text: from.text + JOINT + to.text, shown: from.shown + JOINT + to.shown });
    }
  }

  // Rows divided by what is left of them, so that they sum to what they summed to before; `removed` is the mean share
  // of a row that is gone.
  renormalise() {
    const { values, columns, most } = this;
    this.removed = 1 - values.reduce((total, weight) => total + weight, 0) / (most * this.rows.length);
    for (let start = 0; start < values.length; start += columns.length) {
      const row = values.subarray(start, start + columns.length);
      const sum = row.reduce((total, weight) => total + weight, 0);
      if (sum > 0) row.forEach((weight, at) => (row[at] = (most * weight) / sum));
    }
  }

  get isEmpty() {
    return !this.rows.length || !this.columns.length;
  }

  // Rows and columns as they are shown.
  get labels() {
    return [this.rows, this.columns].map((groups) => groups.map(({ shown }) => shown));
  }

  side(name) {
    return name === "queries" ? this.rows : this.columns;
  }

  at(row, column) {
    return this.values[row * this.columns.length + column];
  }

  isMasked(row, column) {
    return this.kind.causal && this.columns[column].positions[0] > this.rows[row].positions.at(-1);
  }

  isShown(row, column) {
    return !this.isMasked(row, column) && (!this.inTop || this.inTop[row * this.columns.length + column] === 1);
  }

  // Of what is shown: weights that were left out count neither here nor there.
  sumOf(side, indexes, at) {
    const cells = indexes.map((index) => (side === "queries" ? [index, at] : [at, index]));
    return cells.reduce((sum, cell) => (this.isShown(...cell) ? sum + this.at(...cell) : sum), 0);
  }

  // −Σ w ln w in nats, of the row as it is shown.
  entropy(row) {
    const weights = this.columns.map((_, column) => this.at(row, column)).filter((weight) => weight > 0);
    return weights.reduce((sum, weight) => sum - weight * Math.log(weight), 0);
  }

  largestOfRow(row) {
    return this.columns.reduce((best, _, at) => (this.at(row, at) > this.at(row, best) ? at : best), 0);
  }

  get largest() {
    return this.values.reduce((most, value) => Math.max(most, value), 0);
  }

  // The weight of the strongest colour.
  full(scale) {
    return scale === "per map" ? this.largest || 1 : this.most;
  }

  // In sentences

  // A share in percent; of a sum over heads, whose rows do not add up to 1, a plain number.
  shareText(weight) {
    return this.most === 1 ? percent(weight) : local(weight.toFixed(2));
  }

  cellText(row, column) {
    const cell = [this.rows[row], this.columns[column]];
    if (this.isMasked(row, column)) return maskedText(...cell);
    return cellText(...cell, this.shareText(this.at(row, column)), this.heads.length);
  }

  // Tokens of a side: what they look at most, or what looks at them most; several that look share one weight.
  tokensText(side, indexes) {
    const others = this.side(side === "queries" ? "keys" : "queries");
    const sums = others.map((_, at) => this.sumOf(side, indexes, at)), most = sums.indexOf(Math.max(...sums));
    const text = side === "keys" ? keysText : queriesText, of = side === "keys" ? 1 : indexes.length;
    const tokens = indexes.map((index) => this.side(side)[index]);
    return text(tokens, others[most], this.shareText(sums[most] / of), this.heads.length);
  }

  // The rows of a table, first its head.
  tableRows() {
    const weight = (row, column) => {
      if (this.isMasked(row, column)) return say("masked");
      return this.isShown(row, column) ? local(this.at(row, column).toFixed(this.digits)) : say("left_out");
    };
    return [
      [say("query"), ...this.columns.map(({ text }) => text), say("entropy")],
      ...this.rows.map((group, row) => {
        const weights = this.columns.map((_, column) => weight(row, column));
        return [rowName(group), ...weights, local(this.entropy(row).toFixed(2))];
      }),
    ];
  }
}

// Tokens of a side as they are shown: single, merged into words, or a word's first token alone; specials may be left
// out.
function grouped({ tokens, special, empty, words }, as, specials) {
  const groups = [], hidden = new Set({ shown: [], [CONTENT]: empty }[specials] ?? special);
  tokens.forEach((token, position) => {
    if (hidden.has(position)) return;
    const before = groups.at(-1), inside = before && before.word === words[position];
    if (!inside || as === "pieces") groups.push({ word: words[position], positions: [position] });
    else if (as === "words") before.positions.push(position);
  });
  return groups.map((group) => ({ ...group, ...named(tokens, group.positions) }));
}

// Tokens that are shown as one: their text to the letter, and their look.
function named(tokens, positions) {
  const [first, ...others] = positions, looks = shownTokens(tokens)[first];
  return {
    text: positions.map((position) => tokens[position]).join(""),
    shown: looks + others.map((position) => chipText(tokens[position])).join(""),
  };
}

// Of each row the largest weights that together hold this share of it: 1 where they stand.
export function largestTogether(values, columns, share) {
  const marks = new Uint8Array(values.length);
  for (let start = 0; start < values.length; start += columns) {
    const cells = Array.from({ length: columns }, (_, column) => start + column);
    const total = cells.reduce((sum, cell) => sum + values[cell], 0);
    let sum = 0;
    for (const cell of cells.sort((one, other) => values[other] - values[one])) {
      if (sum >= share * total) break;
      marks[cell] = 1;
      sum += values[cell];
    }
  }
  return marks;
}
