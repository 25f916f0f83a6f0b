// The model and its tokenizer as one: texts in; translations, traces and searches out. Each verb is a generator that
// yields between two steps, so that its caller may pause it or give it up. headlight.js documents the verbs.

import { beamSearch, decode, replay, sampler } from "./decoding.js";
import { Engine, KINDS } from "./engine.js";
import { partLosses, partsOf } from "./heads.js";
import { recordStages } from "./stages.js";
import { say } from "./texts.toml";
import { Tokenizer } from "./tokenizer.js";
import { recordVectors } from "./vectors.js";

const MOST_CHARACTERS_PER_TOKEN = 64; // a longer text is refused before it is tokenized

// An error that a visitor can cause, with a sentence for the page; `name` is that of Python's error.
class ReadingError extends Error {
  constructor(name, message) {
    super(message);
    this.name = name;
  }
}

// The option `beam` as options of beamSearch.
const beamOptions = (beam) => (typeof beam === "number" ? { size: beam } : beam);

export class Translator {
  // header and bytes: of transformer/exchange/int8.py; kernel: one of kernel.js. Without the header's tokenizer it has
  // ids alone.
  constructor(header, bytes, kernel) {
    this.config = header.config;
    this.tokenizer = header.tokenizer && new Tokenizer(header.tokenizer);
    this.engine = new Engine(header, bytes, kernel);
  }

  // The translation of a text.
  *translate(text, options) {
    return (yield* this.trace(text, options)).targetText;
  }

  // All facts of one sentence, of its translation or of the option `target`.
  *trace(text, options = {}) {
    const { engine, config } = this, { target = null, beam = 1, off = [], hidden = [] } = options;
    const source = this.sourceIds(text), prefix = this.prefixIds(options.prefix), changes = { off, hidden };
    let steps, ids = typeof target === "string" ? [...this.read(target, "target"), config.end_id] : target;
    if (ids === null && beam !== 1) {
      [{ ids }] = (yield* beamSearch(engine, source, { ...beamOptions(beam), prefix, ...changes })).ended;
    }
    if (ids === null) {
      const choose = options.sampling && sampler(engine, options.sampling);
      steps = yield* decode(engine, source, { prefix, choose, ...changes });
    } else steps = yield* replay(engine, source, ids, changes);
    const origin = target !== null ? "target" : prefix.length ? "prefix" : "decoded";
    return { ...this.traceOf(text, origin, source, steps), off: [...off], hidden: [...hidden] };
  }

  // A beam search with what the beam held at each step.
  *search(text, { beam = 4, prefix, off, hidden, watched } = {}) {
    const options = { ...beamOptions(beam), prefix: this.prefixIds(prefix), off, hidden, watched };
    const record = yield* beamSearch(this.engine, this.sourceIds(text), options);
    const named = (each) => ({ ...each, text: this.tokenizer.decode(each.ids), tokens: this.tokens(each.ids) });
    const keptTokens = record.kept.map((paths) => this.tokens(paths.map((ids) => ids.at(-1))));
    return { ...record, ended: record.ended.map(named), keptTokens };
  }

  // One attention block of the pass over a translation, ids, stage by stage: see stages.js. chosen: kind, layer, head.
  *stages(text, target, chosen) {
    yield; // a later question for another block gives this one up
    return recordStages(this.engine, this.sourceIds(text), target, chosen);
  }

  // The vectors of the pass over a translation, ids: see vectors.js.
  *vectors(text, target, dimensions) {
    yield;
    return recordVectors(this.engine, this.sourceIds(text), target, dimensions);
  }

  // The parts in which all heads are measured, see heads.js, and the ids of the source.
  *headParts(text, target) {
    yield;
    const source = this.sourceIds(text);
    return { source, parts: partsOf(this.engine, source, target) };
  }

  // Losses of a translation without each head of a part, ids to ids.
  *headLosses(source, target, part) {
    yield;
    return partLosses(this.engine, source, target, part);
  }

  // A copy of the packed weights, for a helper.
  *packed() {
    yield;
    return this.engine.packed.slice();
  }

  traceOf(text, origin, source, steps) {
    const { engine, config } = this, results = steps.results(Number(config.forced_first_token));
    const { targetIds: ids, candidateIds } = results, fed = [config.begin_id, ...ids.slice(0, -1)], { count } = steps;
    return {
      sourceText: text,
      targetText: this.tokenizer.decode(ids),
      origin,
      finished: ids.at(-1) === config.end_id,
      sourceIds: source,
      sourceTokens: this.tokens(source),
      decoderInputIds: fed,
      decoderInputTokens: this.tokens(fed),
      targetTokens: this.tokens(ids),
      ...results,
      candidateTokens: ids.map((_, step) => this.tokens(candidateIds.subarray(step * count, (step + 1) * count))),
      ...Object.fromEntries(KINDS.map((kind) => [kind, engine.mapsOf(kind, ids.length)])),
    };
  }

  tokens(ids) {
    return Array.from(ids, (id) => this.tokenizer.pieces[id]);
  }

  sourceIds(text) {
    return [...this.read(text, "text"), this.config.end_id];
  }

  // The ids of a prefix, a text or ids. Throws ReadingError, and RangeError for ids that are none.
  prefixIds(prefix = []) {
    const ids = typeof prefix === "string" ? this.tokenizer.encode(prefix) : [...prefix], { max_length } = this.config;
    const known = ids.every((id) => Number.isInteger(id) && id >= 0 && id < this.engine.vocab);
    if (!known) throw new RangeError(`ids must be in 0 to ${this.engine.vocab - 1}, got ${ids}`);
    if (ids.length < max_length) return ids;
    throw new ReadingError("TooLongError", say("prefix", { tokens: ids.length, limit: max_length }));
  }

  // The ids of a "text" or a "target" without special tokens; throws ReadingError as transformer/data/reading.py does.
  read(text, name) {
    const side = say(name === "target" ? "target" : "text");
    const limit = this.config.max_length - 1, characters = [...text].length;
    if (characters > limit * MOST_CHARACTERS_PER_TOKEN) {
      throw new ReadingError("TooLongError", say("characters", { side, characters, limit }));
    }
    const ids = this.tokenizer.encode(text);
    if (!ids.length) throw new ReadingError("EmptyTextError", say("empty", { side }));
    if (ids.length <= limit) return ids;
    throw new ReadingError("TooLongError", say("tokens", { side, tokens: ids.length, limit }));
  }
}
