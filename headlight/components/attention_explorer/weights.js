// All attention of a sentence as it travelled, and what is shown of it: heads averaged, tokens merged, weights left
// out; in numbers and in sentences.

import { JOINT } from "../lib/canvas.js";
import { chipText, shownTokens } from "../lib/tokens.js";
import { headName } from "./state.js";

export class Attention {
  // bytes: four for the header's length, the header, then weights as whole parts of `steps`.
  constructor(bytes) {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength), length = view.getUint32(0, true);
    this.header = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + length)));
    this.weights = new Uint16Array(bytes.slice(4 + length).buffer);
    this.steps = this.header.steps;
    this.texts = this.header.texts; // names and explanations of kinds, patterns and measures
  }

  get kinds() {
    return Object.keys(this.header.kinds);
  }

  kind(name) {
    return this.header.kinds[name];
  }

  // Queries and keys; a decoder row has an input token and an output token, and is labelled by one or both.
  sides(name, rows) {
    const { source, fed, predicted } = this.header.sides, step = rows === "input token" ? fed : predicted;
    return { queries: name === "encoder" ? source : step, keys: name === "decoder" ? fed : source };
  }

  // Of a long text the weights of all heads are not here: each head small, and the mean of the chosen ones whole.
  get isWhole() {
    return !this.header.chosen;
  }

  // The same for the same text, whichever of its heads are chosen.
  get textId() {
    return this.header.id.split(".")[0];
  }

  // Whether the map of these heads together can be drawn.
  holds(name, heads) {
    const { chosen } = this.header;
    return this.isWhole || (chosen.kind === name && chosen.heads === heads.map(headName).join("-"));
  }

  // Rows and columns of a head's thumbnail.
  smallSize(name) {
    const { queries, keys, small } = this.kind(name), [rows, columns] = small ?? [queries, keys];
    return { rows, columns };
  }

  // The weights of a thumbnail: those of the head, or of each square of a long text's cells the largest.
  small(name, { layer, head }) {
    const { offset, heads } = this.kind(name), { rows, columns } = this.smallSize(name), cells = rows * columns;
    const start = offset + (layer * heads + head) * cells;
    return this.weights.subarray(start, start + cells);
  }

  // One head as it is, in parts of `steps`: [queries * keys], a view on the bytes.
  raw(name, { layer, head }) {
    const { offset, heads, queries, keys } = this.kind(name), cells = queries * keys;
    const start = offset + (layer * heads + head) * cells;
    return this.weights.subarray(start, start + cells);
  }

  // Some heads summed, weights from 0 to their number; those that `holds` knows.
  sum(name, heads) {
    const { queries, keys } = this.kind(name), sum = new Float64Array(queries * keys);
    if (!this.isWhole) {
      const { offset } = this.header.chosen, part = heads.length / this.steps;
      return sum.map((_, cell) => part * this.weights[offset + cell]);
    }
    for (const each of heads) {
      const raw = this.raw(name, each);
      for (let cell = 0; cell < sum.length; cell++) sum[cell] += raw[cell];
    }
    for (let cell = 0; cell < sum.length; cell++) sum[cell] /= this.steps;
    return sum;
  }

  measureText(measure, value) {
    if (value === null || value === undefined) return "–";
    const unit = this.texts.measures[measure][1];
    if (unit === "%") return `${Math.round(100 * value)} %`;
    return unit ? `${value.toFixed(2)} ${unit}` : value.toFixed(2);
  }

  // Where a single head aligns to the input tokens better than to the output tokens, how to label its rows so.
  inputText(name, heads) {
    const { heads: count, measures } = this.kind(name), at = heads[0].layer * count + heads[0].head;
    const [input, output] = ["input alignment", "alignment"].map((each) => measures[each]?.[at] ?? null);
    if (heads.length > 1 || input === null || output === null || input <= output) return "";
    return ` In ${this.measureText("input alignment", input)} of the rows that could, this head's largest weight is ` +
      `on the source word aligned with the input token, in ${this.measureText("alignment", output)} with the output ` +
      "token (Chen et al. 2020): choose “input token” under Options, “Label decoder rows by”.";
  }

  // One head in a sentence: its pattern, where it has one, and its two general measures.
  headText(name, { layer, head }) {
    const { heads, labels, roles, measures } = this.kind(name), at = layer * heads + head, label = labels[at];
    const called = `${this.texts.kinds[name]}, layer ${layer + 1}, head ${head + 1}`;
    if (!labels.length) return `${called}.`; // nothing is said of heads while a question asks for it
    const value = (measure) => this.measureText(measure, measures[measure]?.[at]);
    const often = label && roles[at] ? ` (${roles[at]})` : "";
    const where = label && `the largest weight is ${this.texts.patterns[label][1]}`;
    const seen = label && `in ${value(label)} of the rows counted ${where}`;
    return (
      `${called}: ${seen ?? "no clear pattern"}${often}. ` +
      `Confidence ${value("confidence")}, mean entropy of its rows ${value("entropy")}.`
    );
  }
}

// A matrix ready to be drawn: `rows` and `columns` are {text, shown, positions}, positions of the tokens behind them,
// rows of the decoder with what they were `fed` and `predict`.
export class Shown {
  constructor(attention, name, heads, { rows, words, specials, top, together }) {
    Object.assign(this, { attention, name, heads, together });
    const sides = attention.sides(name, rows);
    this.rows = grouped(sides.queries, words, specials);
    this.columns = grouped(sides.keys, words, specials);
    if (name === "decoder") { // without rows that have nothing left to read
      this.rows = this.rows.filter(({ positions }) => this.columns[0]?.positions[0] <= positions.at(-1));
    }
    if (name !== "encoder") this.nameSteps(rows === "both tokens");
    this.most = together === "sum" ? heads.length : 1; // what a row can sum to
    // A weight of the model itself is exact to four decimals.
    this.digits = heads.length > 1 || words === "words" || specials === "renormalised" ? 3 : 4;
    this.values = this.merged(attention.sum(name, heads), attention.kind(name).keys);
    if (specials === "renormalised") this.renormalise();
    this.kept = top < 100 ? largestTogether(this.values, this.columns.length, top / 100) : null;
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

  // Both tokens of each step; where rows are named by both, that is what they are called.
  nameSteps(areCalledSo) {
    const { fed, predicted } = this.attention.header.sides;
    for (const row of this.rows) {
      const [from, to] = [fed, predicted].map(({ tokens }) => named(tokens, row.positions));
      Object.assign(row, { fed: from.text, predicts: to.text, reads: from.shown, writes: to.shown });
      if (!areCalledSo) continue;
      Object.assign(row, { text: from.text + JOINT + to.text, shown: from.shown + JOINT + to.shown });
    }
  }

  // Rows divided by what is left of them, so that they sum to what they summed to before.
  renormalise() {
    const { values, columns, most } = this;
    for (let start = 0; start < values.length; start += columns.length) {
      const row = values.subarray(start, start + columns.length);
      const sum = row.reduce((total, weight) => total + weight, 0);
      if (sum > 0) row.forEach((weight, at) => (row[at] = (most * weight) / sum));
    }
  }

  get isEmpty() {
    return !this.rows.length || !this.columns.length;
  }

  // Where the tokens of a side come from.
  get queriesFrom() {
    return this.name === "encoder" ? "source" : "target";
  }

  get keysFrom() {
    return this.name === "decoder" ? "target" : "source";
  }

  side(name) {
    return name === "queries" ? this.rows : this.columns;
  }

  at(row, column) {
    return this.values[row * this.columns.length + column];
  }

  isMasked(row, column) {
    return this.name === "decoder" && this.columns[column].positions[0] > this.rows[row].positions.at(-1);
  }

  isShown(row, column) {
    return !this.isMasked(row, column) && (!this.kept || this.kept[row * this.columns.length + column] === 1);
  }

  // Of what is shown: weights that were left out count neither here nor there.
  sumOf(side, indexes, at) {
    let sum = 0;
    for (const index of indexes) {
      const [row, column] = side === "queries" ? [index, at] : [at, index];
      if (this.isShown(row, column)) sum += this.at(row, column);
    }
    return sum;
  }

  // −Σ w ln w in nats, of the row as it is shown.
  entropy(row) {
    let sum = 0;
    for (let column = 0; column < this.columns.length; column++) {
      const weight = this.at(row, column);
      if (weight > 0) sum -= weight * Math.log(weight);
    }
    return sum;
  }

  largestOfRow(row) {
    return this.columns.reduce((best, _, at) => (this.at(row, at) > this.at(row, best) ? at : best), 0);
  }

  get largest() {
    return this.values.reduce((most, value) => Math.max(most, value), 0);
  }

  // The weight that the strongest colour stands for.
  full(scale) {
    return scale === "per map" ? this.largest || 1 : this.most;
  }

  // In sentences

  queryText(row) {
    const { text, fed, predicts } = this.rows[row];
    return fed === undefined ? `“${text}”` : `Input token “${fed}” (output token “${predicts}”)`;
  }

  weightText(row, column) {
    return this.at(row, column).toFixed(this.digits);
  }

  cellText(row, column) {
    const query = this.queryText(row), key = this.columns[column].text;
    if (this.isMasked(row, column)) return `${query} may not attend to “${key}”, which comes later: it is masked.`;
    return `${query} attends to “${key}” with weight ${this.weightText(row, column)}.`;
  }

  // Tokens of a side: what they attend to most, or what attends to them most, summed where they are several.
  tokensText(side, indexes) {
    const others = this.side(side === "queries" ? "keys" : "queries"), several = indexes.length > 1;
    const sums = others.map((_, at) => this.sumOf(side, indexes, at)), most = sums.indexOf(Math.max(...sums));
    const names = indexes.map((index) => `“${this.side(side)[index].text}”`).join(", "), other = others[most].text;
    const weight = sums[most].toFixed(several ? 3 : this.digits);
    const total = sums.reduce((sum, each) => sum + each, 0).toFixed(2);
    if (side === "keys") {
      const get = several ? "together get" : "gets";
      return `${names} ${get} most attention in the row “${other}”: ${weight}; over all rows ${total}.`;
    }
    if (several) return `${names} together attend to “${other}” most: ${weight} in sum, of ${total}.`;
    return `${this.queryText(indexes[0])} attends to “${other}” most: ${weight}.`;
  }

  // The rows of a table, first its head.
  tableRows() {
    const name = ({ text, fed, predicts }) => (fed === undefined ? text : `input ${fed}, output ${predicts}`);
    const weight = (row, column) => {
      if (this.isMasked(row, column)) return "masked";
      return this.isShown(row, column) ? this.weightText(row, column) : "left out";
    };
    return [
      ["query", ...this.columns.map(({ text }) => text), "entropy"],
      ...this.rows.map((group, row) => {
        return [name(group), ...this.columns.map((_, column) => weight(row, column)), this.entropy(row).toFixed(2)];
      }),
    ];
  }
}

// Tokens of a side as they are shown: single, merged into words, or a word's first token alone; specials may be left
// out.
function grouped({ tokens, special, words }, as, specials) {
  const groups = [], hidden = new Set(specials === "shown" ? [] : special);
  tokens.forEach((token, position) => {
    if (hidden.has(position)) return;
    const before = groups.at(-1), inside = before && before.word === words[position];
    if (!inside || as === "pieces") groups.push({ word: words[position], positions: [position] });
    else if (as === "words") before.positions.push(position);
  });
  return groups.map((group) => ({ ...group, ...named(tokens, group.positions) }));
}

// What tokens that are shown as one are to the letter, and how they look.
function named(tokens, positions) {
  const [first, ...others] = positions, looks = shownTokens(tokens)[first];
  return {
    text: positions.map((position) => tokens[position]).join(""),
    shown: looks + others.map((position) => chipText(tokens[position])).join(""),
  };
}

// Of each row the largest weights that together hold this share of it: 1 where kept.
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
