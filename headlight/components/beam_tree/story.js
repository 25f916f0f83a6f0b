// The tree of the branches of a search, those of a step after those of the step before:
// { ids, token, parent, logProbability, place, outcome, rank, score, reads }. `parent` is the number of a branch or -1,
// `outcome` "ended", "fell out", "open" or null for a branch that went on, `reads` weights over the source.

import { say } from "./texts.toml";

const LOOKS = { ended: "ended", "fell out": "dropped" };

// The best continuation of a branch comes first.
export function treeOf(branches) {
  const best = new Set(pathTo(branches, bestBranch(branches))), rows = rowsOf(branches, best);
  const numbers = new Map([...rows.keys()].map((number, at) => [number, at]));
  return [...rows].map(([number, row]) => {
    const branch = branches[number], before = branches[branch.parent]?.logProbability ?? 0;
    const chance = Math.min(1, Math.exp(branch.logProbability - before));
    return {
      parent: numbers.get(branch.parent) ?? -1, step: branch.ids.length - 1, row, token: branch.token,
      note: String(branch.rank ?? ""), ids: branch.ids.join("."), chance, logProbability: branch.logProbability,
      look: `${best.has(number) ? "best " : ""}${LOOKS[branch.outcome] ?? ""}`.trim(),
      words: branchText(branch, chance), reads: branch.reads,
    };
  });
}

export function findingOf(branches) {
  const count = (outcome) => branches.filter((branch) => branch.outcome === outcome).length;
  const counts = Object.fromEntries(["ended", "fell out", "open"].map((outcome) => [outcome, count(outcome)]));
  const way = pathTo(branches, bestBranch(branches)).map((number) => branches[number]);
  const worst = way.reduce((one, other) => ((other.place ?? 0) > (one.place ?? 0) ? other : one));
  return treeFinding(branches.length, counts, counts.ended ? { step: worst.ids.length, place: worst.place } : null);
}

// The number of the branch that ended with the best score; the first of a search in which none ended.
const bestBranch = (branches) => Math.max(0, branches.findIndex(({ rank }) => rank === 1));

// The branches on the way to one of them, the first token's first.
function pathTo(branches, number) {
  const way = [];
  for (; number >= 0; number = branches[number].parent) way.unshift(number);
  return way;
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

function branchText({ ids, token, logProbability, place, outcome, rank, score }, chance) {
  return say("branch", {
    token, step: ids.length, chance, sum: logProbability, place: place ? say("place", { place }) : "",
    outcome: outcome === "ended" ? say("ended", { rank, score: score ?? 0 })
      : outcome ? say(outcome === "open" ? "fate_open" : "fate_fell_out") : "",
  });
}

// counts: branches by their outcome; worst: the farthest place of the best translation on its way, { step, place }, or
// null where none ended.
function treeFinding(branches, { ended, open, "fell out": fellOut }, worst) {
  const more = say("grown", { branches, ended, fell_out: fellOut, open }), attempt = say("attempt");
  if (worst?.place > 1) return { headline: say("close", worst), more: say("grown_close", { grown: more }), attempt };
  return { headline: say(!worst ? "none_ended" : worst.place === null ? "first_token" : "led"), more, attempt };
}
