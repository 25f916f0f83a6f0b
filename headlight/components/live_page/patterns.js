// Patterns of attention heads in one sentence, as in transformer/interpret/head_patterns.py: the positions of the rows'
// largest weights, their sharpness, and the name of the pattern. `rules` has thresholds and offsets from there.

import { isMarks } from "../lib/tokens.js";

const isWord = (token) => /[\p{L}\p{N}]/u.test(token) && !(token.startsWith("<") && token.endsWith(">"));

// The rows of one map: where the largest weight is, whether a row has a choice of keys, and whether two are largest.
function rowsOf(map, at, queries, keys, causal) {
  const maxima = new Int32Array(queries), choice = new Uint8Array(queries);
  let tied = false;
  for (let row = 0; row < queries; row++) {
    const count = causal ? Math.min(row + 1, keys) : keys, from = at + row * keys;
    let best = 0, times = 0;
    for (let key = 0; key < count; key++) {
      if (map[from + key] > map[from + best]) {
        best = key;
        times = 0;
      }
      times += map[from + key] === map[from + best];
    }
    maxima[row] = best;
    choice[row] = count > 1;
    tied ||= times > 1;
  }
  return { maxima, choice, tied };
}

// The mean over rows with a choice; NaN without any.
function meanOf(choice, value) {
  let sum = 0, count = 0;
  choice.forEach((has, row) => {
    if (!has) return;
    sum += value(row);
    count += 1;
  });
  return count ? sum / count : NaN;
}

// For each output token the source word on which all heads together put most, in float32 as NumPy adds; -1 for none.
function alignedKeys({ shape: [layers, heads, queries, keys], weights }, sources, outputs) {
  const words = sources.map(isWord), cells = queries * keys, sum = new Float32Array(cells);
  for (let head = 0; head < layers * heads; head++) {
    for (let cell = 0; cell < cells; cell++) sum[cell] += weights[head * cells + cell];
  }
  const mean = sum.map((value) => value / (layers * heads));
  return outputs.map((token, row) => {
    if (!isWord(token) || !words.some(Boolean)) return -1;
    let best = -1;
    for (let key = 0; key < keys; key++) {
      if (words[key] && (best < 0 || mean[row * keys + key] > mean[row * keys + best])) best = key;
    }
    return best;
  });
}

// All heads of a kind, layer by layer: {kind, layer, head, counts: {pattern: [rows, eligible]}, entropy, confidence,
// label, tied}. map: {shape, weights}; outputs: the output tokens.
export function measureHeads(kind, map, keys, outputs, rules) {
  const [layers, heads, queries, width] = map.shape, causal = kind === "decoder", measured = [];
  const aligned = kind === "cross" && layers * heads > 1 ? alignedKeys(map, keys, outputs) : null;
  for (let place = 0; place < layers * heads; place++) {
    const at = place * queries * width, rows = rowsOf(map.weights, at, queries, width, causal);
    const counts = countsOf(kind, rows, keys, aligned, rules);
    const reaches = ([pattern, least]) => shareOf(counts[pattern], rules) >= least;
    const reached = Object.entries(rules.thresholds).find(reaches);
    const values = (row) => map.weights.subarray(at + row * width, at + (row + 1) * width);
    measured.push({
      kind, layer: Math.floor(place / heads), head: place % heads, counts, tied: rows.tied,
      entropy: meanOf(rows.choice, (row) => entropyOf(values(row))),
      confidence: confidenceOf(rows.choice, values, keys),
      label: rows.tied ? null : reached?.[0] ?? null,
    });
  }
  return measured;
}

const shareOf = ([rows, eligible], { leastRows: least }) => (eligible >= least ? rows / eligible : NaN);

function entropyOf(row) {
  let sum = 0;
  for (const weight of row) if (weight > 0) sum += weight * Math.log(weight);
  return -sum;
}

// The mean of the rows' largest weights, the end of sentence left out.
function confidenceOf(choice, values, keys) {
  const others = keys.flatMap((key, at) => (key === "</s>" ? [] : [at]));
  if (!others.length) return 0;
  return meanOf(choice, (row) => others.reduce((most, at) => Math.max(most, values(row)[at]), 0)) || 0;
}

function countsOf(kind, { maxima, choice }, keys, aligned, rules) {
  const counted = (follows, could = () => true) => {
    let rows = 0, eligible = 0;
    choice.forEach((has, row) => {
      if (!has || !could(row)) return;
      eligible += 1;
      rows += Boolean(follows(row));
    });
    return [rows, eligible];
  };
  const begins = keys.map((key, at) => {
    return key === "<s>" || key === "<pad>" || (kind === "decoder" && at === 0 && key === "</s>");
  });
  const columns = {
    "end of sentence": keys.map((key, at) => key === "</s>" && !begins[at]),
    "beginning of sentence": begins,
    punctuation: keys.map(isMarks),
  };
  const counts = Object.fromEntries(Object.keys(rules.thresholds).map((pattern) => [pattern, [0, 0]]));
  for (const [pattern, sort] of Object.entries(columns)) {
    if (sort.some(Boolean)) counts[pattern] = counted((row) => sort[maxima[row]]);
  }
  if (kind !== "cross") {
    for (const [pattern, offset] of Object.entries(rules.offsets)) {
      if (kind === "decoder" && offset > 0) continue;
      const there = (row) => row + offset >= 0 && row + offset < keys.length;
      counts[pattern] = counted((row) => maxima[row] === row + offset, there);
    }
  }
  if (kind !== "decoder") counts.mirrored = mirrored(maxima, choice, rules);
  if (!aligned) return counts;
  // Here rows without a choice count, too; the row's input token is the output token of the row before.
  const inputs = [-1, ...aligned.slice(0, -1)];
  for (const [pattern, words] of Object.entries({ alignment: aligned, "input alignment": inputs })) {
    const could = words.filter((word) => word >= 0).length;
    counts[pattern] = [words.filter((word, row) => word >= 0 && word === maxima[row]).length, could];
  }
  return counts;
}

// The most rows whose row and column have one sum, of all with a choice.
function mirrored(maxima, choice, { leastRows: least }) {
  const lines = [...maxima].flatMap((key, row) => (choice[row] ? [row + key] : [])), times = new Map();
  if (lines.length < 2 * least) return [0, 0];
  for (const line of lines) times.set(line, (times.get(line) ?? 0) + 1);
  return [Math.max(...times.values()), lines.length];
}

// The measures of all heads of a trace by kind, as facts of the explorer (`pattern_facts` of headlight/app/facts.py).
export function patternFacts(trace, rules, roles) {
  const { sourceTokens, decoderInputTokens, targetTokens } = trace;
  const facts = ["encoder", "decoder", "cross"].map((kind) => {
    const keys = kind === "decoder" ? decoderInputTokens : sourceTokens;
    return [kind, factsOfKind(measureHeads(kind, trace[kind], keys, targetTokens, rules), roles)];
  });
  return Object.fromEntries(facts);
}

function factsOfKind(measured, roles) {
  const finite = (value) => (Number.isFinite(value) ? value : null);
  const counts = Object.keys(measured[0].counts).map((name) => [name, measured.map((head) => head.counts[name])]);
  const labelled = ({ kind, layer, head, label }) => {
    return roles && label ? roles.labelled[kind][layer][head][label] ?? 0 : null;
  };
  return {
    labels: measured.map(({ label }) => label),
    confidence: measured.map(({ confidence }) => finite(confidence)),
    entropy: measured.map(({ entropy }) => finite(entropy)),
    counts: Object.fromEntries(counts.filter(([, rows]) => rows.some(([, eligible]) => eligible))),
    labelled: measured.map(labelled),
  };
}

// The head of a kind whose pattern one sees at a glance: of cross-attention the best aligner of this sentence, of
// self-attention the best to read the token before or after; of several the best over the corpus; where no corpus was
// measured, the most confident head (head_roles.py).
export function plainestHead(measured, roles, rules) {
  const largest = (value) => measured.reduce((best, each) => (value(each) > value(best) ? each : best));
  if (!roles) return largest(({ confidence }) => confidence);
  const patterns = measured[0].kind === "cross" ? ["alignment"] : ["previous", "next"];
  const here = ({ counts }) => Math.max(...patterns.map((pattern) => shareOf(counts[pattern], rules) || 0));
  const corpus = ({ kind, layer, head }) => Math.max(...patterns.map((pattern) => {
    const [rows, eligible] = ["rows", "eligible"].map((of) => roles[of][kind][layer][head][pattern] ?? 0);
    return rows / Math.max(eligible, 1);
  }));
  const most = here(largest(here));
  return largest((each) => (here(each) === most ? corpus(each) : -1));
}
