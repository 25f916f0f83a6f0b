// A beam search as a tree: what headlight/components/beam_tree draws, as headlight/views/what_if/beam_tree.py makes it
// of `search_tree` of transformer/decoding/beam.py.

import { chanceWords, quoted, rint, signed } from "./text.js";

const LOOKS = { ended: "ended", "fell out": "dropped" };
const digits = (value) => rint(value * 1e4) / 1e4;

// All branches of a search (see engine/headlight.js, with a head that is watched), those of a step after those of the
// step before: { ids, token, parent, logProbability, place, outcome, rank, score, reads }.
export function searchTree({ ended, kept, keptTokens, logProbabilities, reads }) {
  const numbers = new Map(), before = (ids) => String(ids.slice(0, -1)), branches = [];
  const wentOn = new Set([...kept.flat(), ...ended.map(({ ids }) => ids)].map(before));
  const steps = Math.max(kept.length, ...ended.map(({ ids }) => ids.length));
  const add = (branch) => {
    numbers.set(String(branch.ids), branches.length);
    branches.push({ ...branch, parent: numbers.get(before(branch.ids)) ?? -1 });
  };
  for (let step = 1; step <= steps; step++) {
    ended.forEach(({ ids, tokens, logProbability, score, reads }, at) => {
      const told = { token: tokens.at(-1), logProbability, place: null, outcome: "ended", rank: at + 1, score, reads };
      if (ids.length === step) add({ ids, ...told });
    });
    (kept[step - 1] ?? []).forEach((ids, at) => {
      const last = step === kept.length ? "open" : "fell out", outcome = wentOn.has(String(ids)) ? null : last;
      const told = { logProbability: logProbabilities[step - 1][at], reads: reads[step - 1][at] };
      add({ ids, token: keptTokens[step - 1][at], ...told, place: at + 1, outcome, rank: null, score: null });
    });
  }
  return branches;
}

// The number of the branch that ended with the best score; the first of a search in which none ended.
const bestBranch = (branches) => Math.max(0, branches.findIndex(({ rank }) => rank === 1));

// The branches on the way to one of them, the first token's first.
function pathTo(branches, number) {
  const way = [];
  for (; number >= 0; number = branches[number].parent) way.unshift(number);
  return way;
}

// source: its tokens; reader: says whose weights are read. The best continuation of a branch comes first.
export function treePayload(branches, source, reader) {
  const best = new Set(pathTo(branches, bestBranch(branches))), rows = rowsOf(branches, best);
  const numbers = new Map([...rows.keys()].map((number, at) => [number, at]));
  const drawn = [...rows].map(([number, row]) => {
    const branch = branches[number], before = branches[branch.parent]?.logProbability ?? 0;
    const chance = Math.min(1, Math.exp(branch.logProbability - before));
    return {
      parent: numbers.get(branch.parent) ?? -1,
      step: branch.ids.length - 1,
      row,
      token: branch.token,
      note: String(branch.rank ?? ""),
      ids: branch.ids.join("."),
      chance: digits(chance),
      log_probability: digits(branch.logProbability),
      look: `${best.has(number) ? "best " : ""}${LOOKS[branch.outcome] ?? ""}`.trim(),
      words: branchWords(branch, chance),
      reads: Array.from(branch.reads, digits),
    };
  });
  return { branches: drawn, source, reader };
}

// The row of each branch, by number: the first continuation has the row of its branch, others have new ones.
function rowsOf(branches, best) {
  const order = branches.map((_, number) => number).sort((one, other) => {
    return best.has(other) - best.has(one) || branches[other].logProbability - branches[one].logProbability;
  });
  const children = new Map(), rows = new Map();
  for (const number of order) {
    const { parent } = branches[number];
    children.set(parent, [...(children.get(parent) ?? []), number]);
  }
  const waiting = children.get(-1).toReversed();
  for (let free = 0; waiting.length;) {
    const number = waiting.pop(), { parent } = branches[number];
    const isFirst = parent >= 0 && number === children.get(parent)[0];
    rows.set(number, isFirst ? rows.get(parent) : free++);
    waiting.push(...(children.get(number) ?? []).toReversed());
  }
  return rows;
}

function branchWords({ ids, token, logProbability, place, outcome, rank, score }, chance) {
  const fates = {
    ended: ` It ended, rank ${rank} with the score ${signed(score ?? 0, 2)}.`,
    "fell out": " None of its continuations was kept.",
    open: " Unfinished when the search stopped.",
  };
  const inBeam = place ? `, place ${place} in the beam` : "", fate = fates[outcome] ?? "";
  return (
    `${quoted(token)}, step ${ids.length}: ${chanceWords(chance)} after what came before; ` +
    `log P of all so far ${signed(logProbability, 2)}${inBeam}.${fate}`
  );
}

export function describeTree(branches) {
  const count = (outcome) => branches.filter((branch) => branch.outcome === outcome).length;
  const grown =
    `The search grew ${branches.length} branches, one for each token: of these ${count("ended")} ended, ` +
    `${count("fell out")} fell out of the beam, ${count("open")} stayed open at the end.`;
  if (!count("ended")) return { headline: "No translation had ended when the search stopped.", more: grown };
  const way = pathTo(branches, bestBranch(branches)).map((number) => branches[number]);
  const worst = way.reduce((found, branch) => ((branch.place ?? 0) > (found.place ?? 0) ? branch : found));
  if (worst.place === null) return { headline: "The best translation ended with its first token.", more: grown };
  if (worst.place === 1) {
    return { headline: "The best translation led the unfinished ones at every step.", more: grown };
  }
  return {
    headline: `After step ${worst.ids.length} the best translation was only in place ${worst.place}.`,
    more: `At no step was it farther back among the unfinished ones. ${grown}`,
  };
}
