// How much each attention head matters to a translation: what its tokens lose in log P when that head alone is
// ablated, as `head_importance` of transformer/interpret/what_if/importance.py.

import { KINDS } from "./engine.js";

// Yields for each head in turn { head: "cross.2.4", losses: [target], turned }: what log P of each target id loses
// without it, in nats, and whether greedy decoding would leave this translation. Gives the log P of each id with all
// heads. What another run has overwritten in the meantime is computed anew.
export function* headLosses(engine, source, target) {
  const { num_heads, forced_first_token } = engine.config, forced = Number(forced_first_token);
  let base = null;
  for (const [kind, layer, head] of everyHead(engine)) {
    if (base?.run !== engine.run) base = runWithAll(engine, source, target, forced);
    const at = layer * num_heads + head;
    engine.off[kind][at] = 1;
    runFrom(engine, base, kind, layer);
    engine.off[kind][at] = 0;
    const { logs, turned } = scores(engine, target, forced);
    yield { head: `${kind}.${layer}.${head}`, losses: logs.map((each, step) => base.logs[step] - each), turned };
  }
  return base.logs;
}

// The encoder last, for its runs change the memory.
function* everyHead(engine) {
  for (const kind of [...KINDS.slice(1), KINDS[0]]) {
    const { length } = kind === "encoder" ? engine.encoder : engine.decoder;
    for (let layer = 0; layer < length; layer++) {
      for (let head = 0; head < engine.config.num_heads; head++) yield [kind, layer, head];
    }
  }
}

// One pass with all heads that keeps what each layer is given.
function runWithAll(engine, source, target, forced) {
  const { begin_id, d_model: d } = engine.config, rows = target.length, fed = [begin_id, ...target.slice(0, -1)];
  const inputs = { encoder: [], decoder: [] };
  engine.begin(source);
  engine.encoded = null; // the memory will be that of other heads
  engine.encode(source, (layer) => { inputs.encoder[layer] = engine.x.slice(0, source.length * d); });
  engine.advance(fed, 0, (layer) => { inputs.decoder[layer] = engine.x.slice(0, rows * d); });
  const { logs } = scores(engine, target, forced);
  return { run: engine.run, inputs, logs, source: source.length, rows };
}

// Below its own layer a head changes nothing, so the pass begins there; caches above it are all computed anew.
function runFrom(engine, { inputs, source, rows }, kind, layer) {
  if (kind === "encoder") {
    engine.x.set(inputs.encoder[layer]);
    engine.runEncoder(source, layer);
  }
  const from = kind === "encoder" ? 0 : layer;
  engine.x.set(inputs.decoder[from]);
  engine.runDecoder(rows, from);
}

// log P of each target id from what the decoder has just left in `x`, 0 for those that are forced, and whether one of
// the others is not greedy's.
function scores(engine, target, forced) {
  const { logits, vocab, kernel, never } = engine, logs = new Float64Array(target.length);
  let turned = false;
  engine.eachLogits(target.length, (row, at) => {
    if (row < forced) return;
    const chosen = logits[at + target[row]];
    let peak = kernel.peak(logits, at, vocab);
    logs[row] = chosen - peak - Math.log(kernel.tally(logits, at, vocab, peak).sum);
    if (never.some((id) => logits[at + id] >= peak)) {
      for (const id of never) logits[at + id] = -Infinity;
      peak = kernel.peak(logits, at, vocab);
    }
    // Of equal ones greedy decoding takes the first.
    turned ||= chosen < peak || logits.indexOf(peak, at) !== at + target[row];
  });
  return { logs, turned };
}
