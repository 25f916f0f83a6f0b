// From a source to a translation, ids to ids, as transformer/decoding/*.py: greedy, sampling, beam search. Each is a
// generator that yields after a step.

import { Best, Steps } from "./steps.js";

const LENGTH_MARGIN = 50; // a translation may have this many tokens more than its source (paper, 6.1)
const MOST_PATHS = 32; // in a beam: each has keys and values of its own

// The most tokens that a translation may have.
function lengthLimit({ config }, source) {
  return Math.min(source.length + LENGTH_MARGIN, config.max_length);
}

// Greedy decoding, or sampling where `choose` is a `sampler`; the translation begins with the ids in `prefix`. Gives
// the steps; the maps are in the engine. source: ids with the end of sentence.
export function* decode(engine, source, { prefix = [], off, hidden, choose = chooseBest(engine) } = {}) {
  const { begin_id, end_id } = engine.config, limit = lengthLimit(engine, source);
  checkPrefix(prefix, limit);
  engine.begin(source, { off, hidden });
  const steps = new Steps(engine, limit);
  let token = begin_id;
  do {
    const forced = prefix[steps.ids.length];
    engine.advance([token], steps.ids.length);
    engine.eachLogits(1, (_, at) => {
      token = steps.read(at, (from, best) => forced ?? choose(from, best));
    });
    yield;
  } while (token !== end_id && steps.ids.length < limit);
  return steps;
}

// The teacher-forced pass over a translation, end of sentence included.
export function* replay(engine, source, target, { off, hidden } = {}) {
  engine.begin(source, { off, hidden });
  engine.advance([engine.config.begin_id, ...target.slice(0, -1)], 0);
  yield;
  const steps = new Steps(engine, target.length);
  engine.eachLogits(target.length, (row, at) => steps.read(at, () => target[row]));
  return steps;
}

function checkPrefix(prefix, limit) {
  if (prefix.length >= limit) throw new RangeError("the prefix is as long as its translation may become");
}

// The most probable token that decoding may choose: neither padding nor begin of sentence.
function chooseBest({ never }) {
  return (_, best) => best.ids.find((id) => !never.includes(id));
}

// Draws from softmax(logits / temperature) among the `topK` most probable, 0 for all. The same seed draws the same,
// which is not what PyTorch draws. Throws RangeError.
export function sampler(engine, { temperature = 1, topK = 0, seed = 1 } = {}) {
  if (!(temperature > 0 && topK >= 0)) throw new RangeError("temperature must be positive and topK not negative");
  const { vocab, never } = engine, random = mulberry32(seed), count = Math.min(topK || vocab, vocab);
  return (at) => {
    const scores = Float64Array.from(engine.logits.subarray(at, at + vocab), (logit) => logit / temperature);
    for (const id of never) scores[id] = -Infinity;
    const order = Float64Array.from(scores).sort(), peak = order[vocab - 1], least = order[vocab - count];
    const shares = scores.map((score) => (score < least ? 0 : Math.exp(score - peak)));
    let left = random() * shares.reduce((a, b) => a + b, 0), last = 0;
    for (let id = 0; id < vocab; id++) {
      if (shares[id] === 0) continue;
      left -= shares[id];
      last = id;
      if (left < 0) break;
    }
    return last;
  };
}

// Numbers in [0, 1) from a seed (Tommy Ettinger's mulberry32, public domain).
function mulberry32(seed) {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

// The divisor of a translation's log-probability: ((5 + length) / 6)^alpha (Wu et al. 2016, eq. 14), or length^alpha
// for "length".
function lengthPenalty({ alpha, penalty }, length) {
  return penalty === "gnmt" ? ((5 + length) / 6) ** alpha : length ** alpha;
}

// Search with the `size` best paths at each step, as `record_beam_search` of transformer/decoding/beam.py. Gives
//   ended             [{ ids, logProbability, score, finished }], best first
//   kept              [step][path] ids of the unfinished paths that were in the beam after a step
//   logProbabilities  [step][path] of these, in nats
//   scoreBounds       of each of the last of these the highest score that it could still have reached
// watched: a head of cross-attention, { layer, head }, whose weights [source] where the last token of a path was
// predicted come along: `reads` of what ended, and
//   reads             [step][path] of what was kept
export function* beamSearch(engine, source, options = {}) {
  const { size = 4, alpha = 0.6, penalty = "gnmt", prefix = [], off, hidden, watched = null } = options;
  const { begin_id, end_id, forced_first_token } = engine.config, limit = lengthLimit(engine, source);
  if (!(size >= 1 && size <= MOST_PATHS && alpha >= 0) || !["gnmt", "length"].includes(penalty)) {
    throw new RangeError(`a beam has 1 to ${MOST_PATHS} paths, an alpha of 0 or more, the penalty "gnmt" or "length"`);
  }
  checkPrefix(prefix, limit);
  engine.begin(source, { off, hidden });
  engine.reserve(limit * size);
  const divisor = (length) => lengthPenalty({ alpha, penalty }, length), best = new Best(size + engine.never.length);
  const record = { ended: [], kept: [], logProbabilities: [], ...(watched && { reads: [] }) };
  let paths = [{ ids: [], logProbability: 0, slots: new Int32Array(limit) }];
  const bounds = () => paths.map(({ logProbability }) => logProbability / divisor(limit));
  for (let step = 0; step < limit && paths.length; step++) {
    paths.forEach(({ slots }, row) => { slots[step] = step * size + row; });
    const newest = paths.map(({ ids }) => ids.at(-1) ?? begin_id);
    engine.advancePaths(newest, step, paths.map(({ slots }) => slots), watched !== null);
    const read = watched && paths.map((_, row) => engine.rowOf("cross", watched, row));
    const continuations = [];
    engine.eachLogits(paths.length, (row, at) => {
      const further = continued(engine, at, best, paths[row], prefix[step], forced_first_token && step === 0);
      continuations.push(...further.map((each) => ({ ...each, ...(watched && { reads: read[row] }) })));
    });
    continuations.sort((a, b) => b.logProbability - a.logProbability); // stable: of equal ones the better path's first
    paths = [];
    for (const { path, token, ...scores } of continuations.slice(0, size)) {
      const ids = [...path.ids, token], finished = token === end_id;
      if (finished || ids.length === limit) {
        record.ended.push({ ids, ...scores, score: scores.logProbability / divisor(ids.length), finished });
      } else paths.push({ ids, ...scores, slots: path.slots.slice() });
    }
    record.kept.push(paths.map(({ ids }) => ids));
    record.reads?.push(paths.map(({ reads }) => reads));
    record.logProbabilities.push(paths.map(({ logProbability }) => logProbability));
    yield;
    const top = record.ended.reduce((most, { score }) => Math.max(most, score), -Infinity);
    if (record.ended.length >= size && top >= Math.max(...bounds())) break;
  }
  return { ...record, ended: record.ended.sort((a, b) => b.score - a.score), scoreBounds: bounds() };
}

// The most probable continuations of a path whose logits begin at `at`, or the forced token alone.
function continued({ logits, vocab, kernel, never }, at, best, path, forced, isCertain) {
  const { logProbability } = path;
  if (forced !== undefined && isCertain) return [{ path, token: forced, logProbability }];
  best.find(logits, at, vocab);
  const peak = best.logits[0], all = peak + Math.log(kernel.tally(logits, at, vocab, peak).sum);
  const after = (token) => ({ path, token, logProbability: logProbability + logits[at + token] - all });
  if (forced !== undefined) return [after(forced)];
  const count = Math.min(best.ids.length, vocab);
  return Array.from(best.ids.subarray(0, count)).filter((id) => !never.includes(id)).map(after);
}
