// The computation of one cell from the numbers before it, in double precision and written out.

import { shortened } from "../lib/canvas.js";
import { MINUS, number } from "../lib/format.js";
import { sum } from "../lib/trace.js";
import { say } from "./texts.toml";

const LARGE_SCORE = 50; // exp of larger ones is out of people's reach, and at 710 of a computer's
const SHOWN_TERMS = 4; // the largest of a sum; the others are added up

export class Sums {
  constructor(data) {
    Object.assign(this, { data, grids: data.grids });
  }

  // {name, parts: texts of the computation, value: recomputed, own: the model's}; null for an input.
  of(panel, row, column) {
    const { recipe } = panel, result = panel.grid.at(row, column), name = this.name(panel, row, column);
    if (!recipe) return { name, parts: [], value: null, result };
    return { name, result, ...this[recipe.kind](recipe, row, column, result) };
  }

  name(panel, row, column) {
    const { queries, keys } = this.data;
    if (panel.columns === "keys") return say("pair", { query: queries[row], key: keys[column] });
    const token = (panel.rows === "keys" ? keys : queries)[row];
    const dimension = panel.columns === "head" ? this.data.head * this.data.headSize + column : column;
    return say("cell", { token, dimension: dimension + 1 });
  }

  // A dot product: its largest terms one by one, the others together. where(index) names a term.
  product(lefts, rights, where) {
    const terms = Array.from(lefts, (left, index) => {
      return { left, right: rights[index], value: left * rights[index], index };
    });
    const total = (some) => sum(some.map(({ value }) => value)), whole = total(terms);
    terms.sort((one, other) => Math.abs(other.value) - Math.abs(one.value));
    const largest = terms.splice(0, SHOWN_TERMS);
    const parts = largest.map(({ left, right, value, index }) => {
      return `${number(left)} × ${number(right)} = ${number(value)} (${where(index)})`;
    });
    const rest = { count: terms.length, value: total(terms) };
    if (rest.count) parts.push(say("rest", { others: others(rest.count), sum: rest.value }));
    return { parts, sum: whole, terms: largest, rest };
  }

  // A dimension of the model as a column of the chosen head, and whose it is, counted from 1.
  inHead(dimension) {
    const { head, headSize } = this.data, owner = Math.floor(dimension / headSize);
    return { inside: dimension - head * headSize, owner: owner + 1, isChosen: owner === head };
  }

  projected({ left, right, bias, ofHead }, row, column) {
    const { inside, owner, isChosen } = this.inHead(column), at = ofHead ? inside : column;
    if (ofHead && !isChosen) return { parts: [say("of_other_head", { owner })], value: null };
    const lefts = this.grids[left].row(row), rights = this.grids[right].column(at);
    const { parts, sum: product } = this.product(lefts, rights, (index) => say("dimension", { number: index + 1 }));
    if (!bias) return { parts, value: product };
    const offset = this.grids[bias].at(0, at);
    return { parts: [...parts, say("bias", { offset })], value: product + offset };
  }

  cut({ of }, row, column) {
    const from = this.data.head * this.data.headSize + column;
    const part = say("cut", { column: from + 1, matrix: of[0].toUpperCase() });
    return { parts: [part], value: this.grids[of].at(row, from) };
  }

  dot({ left, right }, row, column) {
    const first = this.data.head * this.data.headSize + 1;
    const lefts = this.grids[left].row(row), rights = this.grids[right].row(column);
    const where = (index) => say("dimension", { number: first + index });
    const { sum: value, ...product } = this.product(lefts, rights, where);
    return { ...product, value, query: this.data.queries[row], key: this.data.keys[column], first };
  }

  divided({ of }, row, column) {
    const { headSize } = this.data, product = this.grids[of].at(row, column), root = Math.sqrt(headSize);
    const parts = [`${number(product)} / √${headSize} = ${number(product)} / ${number(root)}`];
    return { parts, value: product / root };
  }

  // The bias of relative positions, by the bucket of the distance.
  biased({ of }, row, column) {
    const { bias, buckets } = this.grids, before = this.grids[of].at(row, column), added = bias.at(row, column);
    const far = say("bucket", { distance: distanceText(column - row), number: buckets.at(row, column) });
    return { parts: [say("before", { before }), far, say("learned", { added })], value: before + added };
  }

  isMasked(row, column) {
    return !this.grids.unmasked.at(row, column);
  }

  masked({ of }, row, column) {
    if (this.isMasked(row, column)) return { parts: [say("masked")], value: -Infinity, result: -Infinity };
    return { parts: [say("unmasked")], value: this.grids[of].at(row, column) };
  }

  softmax({ of }, row, column) {
    const scores = this.grids[of].row(row), keys = [...scores.keys()].filter((key) => !this.isMasked(row, key));
    if (!keys.length) return { parts: [say("all_masked")], value: 0 };
    if (this.isMasked(row, column)) return { parts: [say("masked_power")], value: 0 };
    const largest = Math.max(...keys.map((key) => scores[key])), taken = largest > LARGE_SCORE ? largest : 0;
    const powers = keys.map((key) => Math.exp(scores[key] - taken)), power = Math.exp(scores[column] - taken);
    const all = sum(powers);
    const order = keys.map((key, index) => [powers[index], key]).sort((a, b) => b[0] - a[0]).slice(0, SHOWN_TERMS);
    const terms = order.map(([value, key]) => say("term", { value, key: shortened(this.data.keys[key]) }));
    const rest = keys.length - order.length, less = taken ? say("less", { taken }) : "";
    if (rest) terms.push(others(rest));
    const exponential = `exp(${number(scores[column])}${less}) = ${number(power)}`;
    const parts = [exponential, say("sum_of_row", { keys: keys.length, sum: all, terms })];
    return { parts, value: power / all, sign: say("ratio") };
  }

  weighted({ left, right }, row, column) {
    const values = this.grids[right].column(column), { keys } = this.data;
    const token = (at) => say("from", { key: shortened(keys[at]) });
    const { parts, sum: value } = this.product(this.grids[left].row(row), values, token);
    return { parts, value };
  }

  placed({ of }, row, column) {
    const { inside, owner, isChosen } = this.inHead(column);
    if (!isChosen) return { parts: [say("written", { owner })], value: null };
    return { parts: [say("column", { column: inside + 1, owner })], value: this.grids[of].at(row, inside) };
  }

  sum({ of: [first, second] }, row, column) {
    const [input, added] = [first, second].map((name) => this.grids[name].at(row, column));
    return { parts: [say("came_in", { input }), say("added", { added })], value: input + added };
  }

  normalised({ of }, row, column) {
    const values = Array.from(this.grids[of].row(row)), count = values.length;
    if (this.data.normType === "rms") return this.dividedByRoot(values, column);
    const mean = sum(values) / count, variance = sum(values.map((value) => (value - mean) ** 2)) / count;
    const gamma = this.grids.gamma.at(0, column), beta = this.grids.beta.at(0, column), { epsilon } = this.data;
    const deviation = Math.sqrt(variance + epsilon), scaled = (values[column] - mean) / deviation;
    const centred = `(${number(values[column])} ${mean < 0 ? "+" : MINUS} ${number(Math.abs(mean))})`;
    const division = `${centred} / ${number(deviation)} = ${number(scaled)}`;
    const parts = [division, `× γ ${number(gamma)}`, `+ β ${number(beta)}`];
    return { parts, value: scaled * gamma + beta, sign: say("gives"), joined: " " };
  }

  // RMSNorm: without a mean, and without β.
  dividedByRoot(values, column) {
    const square = sum(values.map((value) => value ** 2)) / values.length;
    const root = Math.sqrt(square + this.data.epsilon), gamma = this.grids.gamma.at(0, column);
    const scaled = values[column] / root, division = `${number(values[column])} / ${number(root)} = ${number(scaled)}`;
    return { parts: [division, `× γ ${number(gamma)}`], value: scaled * gamma, sign: say("gives"), joined: " " };
  }

  // A cell of the neuron view: one term of the dot product, or of the weighted average.
  term({ left, right }, row, column) {
    const a = left(row, column), b = right(row, column);
    return { parts: [`${number(a)} × ${number(b)}`], value: a * b };
  }
}

function distanceText(distance) {
  if (!distance) return say("distance_0");
  return say(distance > 0 ? "distance_after" : "distance_before", { distance, count: Math.abs(distance) });
}

export const others = (count) => say("others", { count });

// A cell in a sentence: the computation, its result, and the model's own number.
export function sumText({ name, parts, value, result, sign = say("sum"), joined = "; " }, owner) {
  if (value === null) return `${name}: ${parts.length ? `${parts.join(joined)}. ` : ""}${owner} ${number(result)}.`;
  const head = parts.length > 1 ? `${parts.join(joined)}${sign}: ` : `${parts[0]} = `;
  return `${name}: ${head}${number(value)}. ${owner} ${number(result)}.`;
}
