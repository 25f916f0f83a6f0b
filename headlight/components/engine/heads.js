// How much each attention head matters to a translation: what its tokens lose in log P when that head alone is
// ablated, as `head_importance` of transformer/interpret/what_if/importance.py.

import { KINDS } from "./engine.js";

// Yields for each head in turn { head: "cross.2.4", losses: [target], turned }: what log P of each target id loses
// without it, in nats, and whether greedy decoding would leave this translation. Gives the log P of each id with all
// heads. What another run has overwritten in the meantime is computed anew.
export function* headLosses(engine, source, target) {
  const { num_heads, max_length, forced_first_token } = engine.config, forced = Number(forced_first_token);
  const fitting = Math.floor(Math.min(engine.kernel.rows, max_length) / Math.max(source.length, target.length));
  const atOnce = Math.min(num_heads, Math.max(1, fitting));
  let base = null;
  // The encoder last, for its runs change the memory.
  for (const kind of ["decoder", "cross", "encoder"]) {
    const { length } = kind === "encoder" ? engine.encoder : engine.decoder;
    for (let layer = 0; layer < length; layer++) {
      for (let first = 0; first < num_heads; first += atOnce) {
        if (base?.run !== engine.run) base = runWithAll(engine, source, target, forced);
        const heads = Array.from({ length: Math.min(atOnce, num_heads - first) }, (_, at) => first + at);
        runWithoutEach(engine, base, kind, layer, heads);
        for (const [at, { logs, turned }] of scores(engine, target, heads.length, forced).entries()) {
          const losses = logs.map((each, step) => base.logs[step] - each);
          yield { head: `${kind}.${layer}.${heads[at]}`, losses, turned };
        }
      }
    }
  }
  return base.logs;
}

// One pass with all heads that keeps what each attention reads, and what its heads made of it.
function runWithAll(engine, source, target, forced) {
  const { begin_id, d_model: d } = engine.config, fed = [begin_id, ...target.slice(0, -1)];
  const noted = Object.fromEntries(KINDS.map((kind) => [kind, []]));
  const note = (kind, layer) => {
    const size = d * (kind === "encoder" ? source.length : fed.length);
    noted[kind][layer] = { x: engine.x.slice(0, size), mixed: engine.mixed.slice(0, size) };
  };
  engine.begin(source);
  engine.encoded = null; // the memory will be that of other heads
  engine.encode(source, note);
  engine.advance(fed, 0, note);
  const [{ logs }] = scores(engine, target, 1, forced);
  return { run: engine.run, noted, logs, source: source.length, fed };
}

// Below its own layer a head changes nothing, so that the pass begins there: a copy of the sentence for each of some
// heads of a layer, side by side.
function runWithoutEach(engine, { noted, source, fed }, kind, layer, heads) {
  const count = heads.length, { x, mixed } = noted[kind][layer];
  const fill = (into) => heads.forEach((head, copy) => {
    into.set(mixed, copy * mixed.length);
    clear(engine, into, copy * mixed.length, mixed.length, head);
  });
  const given = { kind, layer, fill };
  const own = engine.copies(count, fed.length), at = Int32Array.from(own.counts, (_, row) => row);
  own.counts = at.map((row) => (row % fed.length) + 1);
  heads.forEach((_, copy) => engine.x.set(x, copy * x.length));
  if (kind !== "encoder") {
    engine.runDecoder({ own, at, read: engine.readMemory(own.rows, null) }, { given });
    return;
  }
  const encoder = engine.copies(count, source), ids = Array.from({ length: count }, () => fed).flat();
  engine.runEncoder(encoder, { given });
  engine.embed("decoder", ids, at.map((row) => row % fed.length));
  const slots = ids.map((_, row) => encoder.slots[Math.floor(row / fed.length) * source]);
  engine.runDecoder({ own, at, read: { ...engine.readMemory(own.rows, null), slots } });
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
  const found = Array.from({ length: count }, () => ({ logs: new Float64Array(target.length), turned: false }));
  engine.eachLogits(count * target.length, (row, at) => {
    const copy = found[Math.floor(row / target.length)], step = row % target.length;
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
  return found;
}
