// The branches of a beam search of the engine, as facts of the beam tree.

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
      if (ids.length !== step) return;
      const token = tokens.at(-1), rank = at + 1;
      add({ ids, token, logProbability, place: null, outcome: "ended", rank, score, reads });
    });
    (kept[step - 1] ?? []).forEach((ids, at) => {
      const last = step === kept.length ? "open" : "fell out", outcome = wentOn.has(String(ids)) ? null : last;
      const [token, logProbability, read] = [keptTokens, logProbabilities, reads].map((each) => each[step - 1][at]);
      add({ ids, token, logProbability, reads: read, place: at + 1, outcome, rank: null, score: null });
    });
  }
  return branches;
}
