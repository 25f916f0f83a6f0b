// Importance of each attention head for a translation: the loss of its tokens in log P when that head alone is
// ablated, as `head_importance` of transformer/interpret/what_if/importance.py.

import { KINDS } from "./engine.js";

const MOST_ROWS = 48; // of a part: small enough that two workers come to their ends together

// All heads in parts that are measured at once: { kind, layer, heads }, the costly ones first. source, target: ids.
export function partsOf(engine, source, target) {
  const { num_heads, max_length } = engine.config, rows = Math.min(engine.kernel.rows, max_length, MOST_ROWS);
  const atOnce = Math.max(1, Math.floor(rows / Math.max(source.length, target.length)));
  const all = Array.from({ length: num_heads }, (_, head) => head), parts = [];
  for (const kind of KINDS) {
    for (let layer = 0; layer < (kind === "encoder" ? engine.encoder : engine.decoder).length; layer++) {
      for (let first = 0; first < num_heads; first += atOnce) {
        parts.push({ kind, layer, heads: all.slice(first, first + atOnce) });
      }
    }
  }
  return parts;
}

// Of each head of a part { kind, layer, head, losses: [target], turned }, counted from 0: what log P of each target id
// loses without it, in nats, and whether greedy decoding would leave this translation. Besides `logs`, the log P with
// all heads.
export function partLosses(engine, source, target, { kind, layer, heads }) {
  const base = withAll(engine, source, target), forced = Number(engine.config.forced_first_token);
  runWithoutEach(engine, base, kind, layer, heads);
  const each = scores(engine, target, heads.length, forced).map(({ logs, turned }, at) => {
    const losses = base.logs.map((complete, step) => complete - logs[step]);
    return { kind, layer, head: heads[at], losses, turned };
  });
  return { each, logs: base.logs.slice() };
}

// One pass with all heads that keeps what each attention reads, and what its heads made of it; that of the part before
// where no other run has come between.
function withAll(engine, source, target) {
  const pass = `${source} ${target}`, { base } = engine;
  if (base?.pass === pass && base.run === engine.run) return base;
  const { begin_id, d_model: d } = engine.config, fed = [begin_id, ...target.slice(0, -1)];
  const noted = Object.fromEntries(KINDS.map((kind) => [kind, []]));
  const note = (kind, layer) => {
    const size = d * (kind === "encoder" ? source.length : fed.length);
    noted[kind][layer] = { x: engine.x.slice(0, size), mixed: engine.mixed.slice(0, size) };
  };
  engine.begin(source);
  engine.encode(source, note);
  engine.advance(fed, 0, note);
  const [{ logs }] = scores(engine, target, 1, Number(engine.config.forced_first_token));
  const read = engine.memoryKeys.map((keys) => keys.slice(0, source.length * 2 * d));
  return (engine.base = { pass, run: engine.run, noted, logs, read, source: source.length, fed });
}

// Below its own layer a head changes nothing, so that the pass begins there: a copy of the sentence for each of some
// heads of a layer, side by side.
function runWithoutEach(engine, { noted, source, fed, read }, kind, layer, heads) {
  const count = heads.length, { x, mixed } = noted[kind][layer];
  const fill = (into) => heads.forEach((head, copy) => {
    into.set(mixed, copy * mixed.length);
    clear(engine, into, copy * mixed.length, mixed.length, head);
  });
  const replaced = { kind, layer, fill };
  const selfPlan = engine.copies(count, fed.length), at = Int32Array.from(selfPlan.counts, (_, row) => row);
  selfPlan.counts = at.map((row) => (row % fed.length) + 1);
  heads.forEach((_, copy) => engine.x.set(x, copy * x.length));
  if (kind !== "encoder") {
    engine.runDecoder({ selfPlan, at, read: engine.readMemory(selfPlan.rows, null) }, { replaced });
    return;
  }
  const encoder = engine.copies(count, source), ids = Array.from({ length: count }, () => fed).flat();
  engine.runEncoder(encoder, { replaced });
  engine.embed("decoder", ids, at.map((row) => row % fed.length));
  const slots = ids.map((_, row) => encoder.slots[Math.floor(row / fed.length) * source]);
  engine.runDecoder({ selfPlan, at, read: { ...engine.readMemory(selfPlan.rows, null), slots } });
  engine.memoryKeys.forEach((keys, number) => keys.set(read[number])); // those of all heads are there again
}

// Nothing of a head in the heads of some rows.
function clear({ config }, mixed, from, size, head) {
  const { d_model: d, num_heads } = config, width = d / num_heads;
  for (let row = from; row < from + size; row += d) mixed.fill(0, row + head * width, row + (head + 1) * width);
}

// Of each copy of a translation from what the decoder has just left in `x`: log P of each target id, 0 for those that
// are forced, and whether one of the others is not greedy's.
function scores(engine, target, count, forced) {
  const { logits, vocab, kernel, never } = engine;
  const copies = Array.from({ length: count }, () => ({ logs: new Float64Array(target.length), turned: false }));
  engine.eachLogits(count * target.length, (row, at) => {
    const copy = copies[Math.floor(row / target.length)], step = row % target.length;
    if (step < forced) return;
    const chosen = logits[at + target[step]];
    let peak = kernel.peak(logits, at, vocab);
    copy.logs[step] = chosen - peak - Math.log(kernel.tally(logits, at, vocab, peak).sum);
    if (never.some((id) => logits[at + id] >= peak)) {
      for (const id of never) logits[at + id] = -Infinity;
      peak = kernel.peak(logits, at, vocab);
    }
    // Of equal ones greedy decoding takes the first.
    copy.turned ||= chosen < peak || logits.indexOf(peak, at) !== at + target[step];
  });
  return copies;
}
