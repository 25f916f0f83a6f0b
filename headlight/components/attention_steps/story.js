// Steps of an attention block from its facts: texts, matrices, and findings.
//
// Facts (headlight/views/inside/block_facts.py; engine/stages.js without the tokens):
//   kind, layer, head, sentence: counted from 0; batch, heads, headSize; toy: whether the numbers are made up
//   keys: tokens; queries: labels of the rows
//   norm: "post" or "pre", normType: "layer" or "rms", epsilon, divided: whether scores are divided by √d_k
//   embedding: { scaled, positioned, normalised }
//   gaps: the largest difference of each stage from its recomputation in double precision
//   arrays: { shape: [rows, columns], weights } by the names of matrices.js, of the chosen head alone where a matrix
//     belongs to a head; wQuery, wKey, wValue: the head's columns, wOutput, gamma, unmasked; not in every model:
//     bQuery, bKey, bValue, bOutput, beta, and of relative positions bias and buckets

import { tiny } from "../lib/format.js";
import { sum } from "../lib/trace.js";
import { LEAST_SHOWN, quotedAt } from "../lib/words.js";
import { gridsOf, stepsOf } from "./matrices.js";
import { FINDINGS, blockName, gapText, ownerText, shapeText, stepText, symbolsOf } from "./words.js";

export const ALL = "all"; // in place of a step

export function storyOf(facts, editable = false) {
  const grids = gridsOf(facts), { heads, headSize } = facts, width = grids.residual.columns;
  const block = { ...facts, editable, grids, width, isSquare: heads * headSize === width };
  const symbols = symbolsOf(block);
  const named = (each) => ({ ...each, symbol: symbols[each.array] });
  const steps = stepsOf(block).map(({ name, makes, takes }) => ({
    name, ...stepText(name, block),
    shape: shapeText(makes, block, symbols),
    finding: MEASURES[name] ? FINDINGS[name](MEASURES[name](block)) : "",
    gap: gapOf(makes, facts.gaps),
    panels: makes.map(named), inputs: takes.map(named),
  }));
  const start = facts.toy ? "softmax" : "products";
  return { ...block, steps, start, block: blockName(block), owner: ownerText(block) };
}

function gapOf(makes, gaps) {
  const known = makes.map(({ stage }) => gaps[stage]).filter((gap) => gap !== undefined);
  return known.length ? gapText(tiny(Math.max(...known))) : "";
}

// The choice of an address, counted from 0. written: the texts of query, key, dimension and step.
export function choiceOf([query, key, dimension, step], story) {
  const { queries, keys, grids, head, headSize, toy, steps, start } = story;
  const within = (text, count, otherwise) => {
    return Math.min(count, /^\d{1,6}$/.test(text) && Number(text) ? Number(text) : otherwise) - 1;
  };
  const row = within(query, queries.length, toy ? 1 : 3), most = [...grids.weights.row(row)];
  return {
    query: row,
    key: within(key, keys.length, toy ? 1 : most.indexOf(Math.max(...most)) + 1),
    dimension: within(dimension, dimensionsOf(story), head * headSize + 1),
    step: [ALL, ...steps.map(({ name }) => name)].includes(step) ? step : start,
  };
}

// Of the model or of all heads together, whichever are more: heads may have a size of their own.
export const dimensionsOf = ({ grids }) => Math.max(grids.query.columns, grids.residual.columns);

const mean = (values) => sum(values) / values.length;
const rowsOf = (grid) => Array.from({ length: grid.rows }, (_, row) => [...grid.row(row)]);
const squares = (values) => sum(values.map((value) => value * value));
const norms = (grid) => rowsOf(grid).map((row) => Math.sqrt(squares(row)));
const meanNorm = (grid) => mean(norms(grid));
const ends = (values) => [Math.min(...values), Math.max(...values)];
const indexOfEnds = (values) => ends(values).map((value) => values.indexOf(value));

function deviation(values) {
  const middle = mean(values);
  return Math.sqrt(mean(values.map((value) => (value - middle) ** 2)));
}

const queryAt = ({ queries }, row) => quotedAt(queries, row, "query");
const keyAt = ({ keys }, column) => quotedAt(keys, column, "key");
const rangesOf = (before, after) => ({ before: ends(norms(before)), after: ends(norms(after)) });

// The numbers of each finding.
export const MEASURES = {
  input(block) {
    const lengths = norms(block.grids.residual);
    const [low, high] = indexOfEnds(lengths).map((row) => ({ query: queryAt(block, row), norm: lengths[row] }));
    return { low, high };
  },

  norm_first: ({ grids }) => rangesOf(grids.residual, grids.x),

  split({ head, grids }) {
    const [query, key, value] = [grids.headQuery, grids.headKey, grids.headValue].map(meanNorm);
    return { head, query, key, value };
  },

  products(block) {
    const { values, columns } = block.grids.products;
    const [low, high] = indexOfEnds([...values]).map((at) => ({
      query: queryAt(block, Math.floor(at / columns)), key: keyAt(block, at % columns), value: values[at],
    }));
    return { low, high };
  },

  scale({ headSize, grids: { products, divided } }) {
    return { headSize, before: deviation([...products.values]), after: deviation([...divided.values]) };
  },

  // The distances of the largest and the smallest number, and how many queries it makes look elsewhere.
  bias({ grids: { bias, buckets, divided, unmasked } }) {
    const open = [...unmasked.values.keys()].filter((at) => unmasked.values[at]);
    const [low, high] = ends(open.map((at) => bias.values[at])).map((value) => {
      const bucket = buckets.values[open.find((at) => bias.values[at] === value)];
      const cells = open.filter((at) => buckets.values[at] === bucket);
      return { value, bucket, distances: cells.map((at) => (at % bias.columns) - Math.floor(at / bias.columns)) };
    });
    const moved = rowsOf(divided).filter((scores, row) => {
      const keys = [...scores.keys()].filter((key) => unmasked.at(row, key));
      const most = (score) => keys.reduce((best, key) => (score(key) > score(best) ? key : best));
      const before = most((key) => scores[key]), after = most((key) => scores[key] + bias.at(row, key));
      // Without positions equal tokens have equal products: a tie is not elsewhere.
      return scores[before] - scores[after] > LEAST_SHOWN;
    });
    return { low, high, moved: moved.length, queries: bias.rows };
  },

  mask({ grids: { unmasked: { values } } }) {
    return { masked: values.filter((open) => !open).length, cells: values.length };
  },

  softmax(block) {
    const { weights, unmasked } = block.grids;
    const rows = rowsOf(unmasked).flatMap((open, row) => (sum(open) > 1 ? [row] : []));
    if (!rows.length) return { low: null, high: null };
    const entropies = rows.map((row) => {
      return -sum(Array.from(weights.row(row), (weight) => (weight > 0 ? weight * Math.log(weight) : 0)));
    });
    const [low, high] = indexOfEnds(entropies).map((at) => {
      const values = [...weights.row(rows[at])], weight = Math.max(...values);
      const key = keyAt(block, values.indexOf(weight));
      return { query: queryAt(block, rows[at]), key, weight, entropy: entropies[at] };
    });
    return { low, high };
  },

  concatenate({ head, heads, grids }) {
    const whole = squares([...grids.concatenated.values]), part = squares([...grids.headOutput.values]);
    return { head, heads, share: whole ? part / whole : 0 };
  },

  residual: ({ grids }) => {
    return { input: meanNorm(grids.residual), added: meanNorm(grids.output), sum: meanNorm(grids.total) };
  },

  norm_last: ({ grids }) => rangesOf(grids.total, grids.result),
};
