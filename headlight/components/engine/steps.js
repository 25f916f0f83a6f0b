// Candidates, probabilities, ranks and entropies of a translation's steps, from their logits.

const CANDIDATES = 10; // per step

// Notes the steps of one translation, at most `limit`.
export class Steps {
  constructor(engine, limit) {
    this.engine = engine;
    this.count = Math.min(CANDIDATES, engine.vocab);
    this.best = new Best(this.count);
    this.candidateIds = new Int32Array(limit * this.count);
    this.candidateProbabilities = new Float32Array(limit * this.count);
    this.logProbabilities = new Float64Array(limit);
    this.ranks = new Int32Array(limit);
    this.entropies = new Float64Array(limit);
    this.ids = [];
  }

  // Note the next step, whose logits begin at `at`. choose(at, best): returns its token.
  read(at, choose) {
    const { engine, best, count } = this, { logits, vocab, kernel } = engine, step = this.ids.length;
    best.find(logits, at, vocab);
    const peak = best.logits[0], { sum, weighted } = kernel.tally(logits, at, vocab, peak);
    const token = choose(at, best), chosen = logits[at + token];
    let rank = 1;
    for (let id = 0; id < vocab; id++) if (logits[at + id] > chosen) rank++;
    for (let place = 0; place < count; place++) {
      this.candidateIds[step * count + place] = best.ids[place];
      this.candidateProbabilities[step * count + place] = Math.exp(best.logits[place] - peak) / sum;
    }
    this.logProbabilities[step] = chosen - peak - Math.log(sum);
    this.ranks[step] = rank;
    this.entropies[step] = Math.log(sum) - weighted / sum;
    this.ids.push(token);
    return token;
  }

  // The part of a trace that the steps give: see headlight.js. The first `forced` tokens are in no score.
  results(forced = 0) {
    const { candidateIds, candidateProbabilities, ranks, entropies, ids, count } = this;
    const logs = this.logProbabilities.slice(0, ids.length);
    return {
      targetIds: [...ids],
      targetProbabilities: Float32Array.from(logs, Math.exp),
      targetRanks: ranks.slice(0, ids.length),
      entropies: Float32Array.from(entropies.subarray(0, ids.length)),
      logProbability: logs.subarray(forced).reduce((a, b) => a + b, 0),
      candidateIds: candidateIds.slice(0, ids.length * count),
      candidateProbabilities: candidateProbabilities.slice(0, ids.length * count),
    };
  }
}

// The greatest logits of a row, the first of equal ones first.
export class Best {
  constructor(count) {
    this.ids = new Int32Array(count);
    this.logits = new Float64Array(count);
  }

  find(logits, at, vocab) {
    const { ids, logits: best } = this, last = ids.length - 1;
    best.fill(-Infinity);
    let least = -Infinity;
    for (let id = 0; id < vocab; id++) {
      const logit = logits[at + id];
      if (logit <= least) continue;
      let place = last;
      for (; place > 0 && best[place - 1] < logit; place--) {
        best[place] = best[place - 1];
        ids[place] = ids[place - 1];
      }
      best[place] = logit;
      ids[place] = id;
      least = best[last];
    }
  }
}
