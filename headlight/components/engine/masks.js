// A sentence of a padded batch, with its masks or with one of them disabled: `run_masked` of
// transformer/interpret/mask_ablation.py. The others of the batch only say how much padding there is.

import { KINDS, stackOf } from "./engine.js";
import { Steps } from "./steps.js";

const DISABLED = ["nothing", "causal", "padding"];

// ids: { source, target }, the target with its end; longest: { source, target }, to how many tokens they are filled up.
// Gives of each kind { shape: [layers, heads, queries, keys], scores, weights, unmasked: [queries x keys] }, scores
// being there before the mask, and of the sentence's own steps targetProbabilities, bestIds, bestProbabilities.
export function recordMasked(engine, { source, target }, longest, disabled = "nothing") {
  const { pad_id: pad, begin_id: begin, max_length: most } = engine.config;
  if (!DISABLED.includes(disabled)) throw new RangeError(`no mask ${disabled}`);
  const sizes = ["source", "target"].map((side) => longest[side]);
  if (!sizes.every((size) => size <= most)) throw new RangeError(`a batch has at most ${most} tokens`);
  const filled = (ids, size) => [...ids, ...Array(size - ids.length).fill(pad)];
  const [rows, steps] = sizes, all = (count, value) => new Int32Array(count).fill(value);
  const readable = disabled === "padding" ? rows : source.length;
  const found = Object.fromEntries(KINDS.map((kind) => [kind, room(engine, kind, rows, steps)]));
  const note = (counts) => (kind, layer) => copyLayer(engine, found[kind], kind, layer, counts);

  engine.begin(filled(source, rows));
  engine.encoded = null; // neither what was encoded just now nor what is left behind is the sentence alone
  const plan = { ...engine.copies(1, rows), counts: all(rows, readable), places: engine.identity };
  engine.embed("encoder", filled(source, rows), engine.identity);
  engine.runEncoder(plan, { noted: note(plan.counts) });

  const fed = filled([begin, ...target.slice(0, -1)], steps), at = Int32Array.from(fed, (_, row) => row);
  // Padding is always later: under the causal mask alone no real row reads it either.
  const least = disabled === "padding" ? steps : target.length;
  const counts = at.map((row) => (disabled === "causal" ? target.length : Math.min(row + 1, least)));
  const slots = Array(steps).fill(engine.identity), own = { rows: steps, counts, slots, places: at };
  const read = { rows: steps, counts: all(steps, readable), slots, places: at };
  engine.embed("decoder", fed, at);
  engine.runDecoder({ own, at, read }, {
    noted: (kind, layer) => note(kind === "cross" ? read.counts : counts)(kind, layer),
  });
  return { ...found, ...stepsOf(engine, target) };
}

function room(engine, kind, rows, steps) {
  const queries = kind === "encoder" ? rows : steps, keys = kind === "decoder" ? steps : rows;
  const shape = [engine[stackOf(kind)].length, engine.config.num_heads, queries, keys];
  const cells = shape.reduce((product, size) => product * size);
  return {
    shape, scores: new Float32Array(cells), weights: new Float32Array(cells), unmasked: new Uint8Array(queries * keys),
  };
}

// What an attention has just computed: every score, masked or not, and the weights of what is not.
function copyLayer(engine, { shape: [, heads, queries, keys], scores, weights, unmasked }, kind, layer, counts) {
  const { d_model: d, max_length: length } = engine.config, { projected } = engine, width = d / heads;
  const isCross = kind === "cross", from = isCross ? engine.memoryKeys[layer] : projected;
  const [queryStride, keyStride, first] = isCross ? [d, 2 * d, 0] : [3 * d, 3 * d, d], root = Math.sqrt(width);
  for (let head = 0; head < heads; head++) {
    for (let row = 0; row < queries; row++) {
      const place = layer * heads + head, to = (place * queries + row) * keys;
      const query = row * queryStride + head * width;
      for (let key = 0; key < keys; key++) {
        const at = key * keyStride + first + head * width;
        let sum = 0;
        for (let i = 0; i < width; i++) sum += projected[query + i] * from[at + i];
        scores[to + key] = sum / root;
        unmasked[row * keys + key] = Number(key < counts[row]);
      }
      const map = (place * length + row) * length;
      weights.set(engine.maps[kind].subarray(map, map + counts[row]), to);
    }
  }
}

// What the model gives each token of the translation, and what it would choose.
function stepsOf(engine, target) {
  const steps = new Steps(engine, target.length);
  engine.eachLogits(target.length, (row, at) => steps.read(at, () => target[row]));
  const { targetProbabilities, candidateIds, candidateProbabilities } = steps.told(), { count } = steps;
  const best = (all) => all.filter((_, at) => at % count === 0);
  return { targetProbabilities, bestIds: best(candidateIds), bestProbabilities: best(candidateProbabilities) };
}
