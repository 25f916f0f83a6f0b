// The model and its tokenizer as one: texts in; translations and traces out. Each verb is a generator that yields
// between two steps, so that whoever runs it may breathe, or give it up; `finish` runs one at once.

import { Engine } from "./engine.js";
import { Tokenizer } from "./tokenizer.js";

const MOST_CHARACTERS_A_TOKEN = 64; // a longer text is refused before it is tokenized

// What a visitor can cause, with a sentence for the page; `name` is that of Python's error.
export class ReadingError extends Error {
  constructor(name, message) {
    super(message);
    this.name = name;
  }
}

// Run a generator to its end and return its result.
export function finish(run) {
  for (;;) {
    const { done, value } = run.next();
    if (done) return value;
  }
}

export class Translator {
  constructor(header, bytes, kernel) {
    this.config = header.config;
    this.tokenizer = new Tokenizer(header.tokenizer);
    this.engine = new Engine(header, bytes, kernel);
  }

  // The translation of a text.
  *translate(text, options = {}) {
    return (yield* this.trace(text, options)).targetText;
  }

  // Everything of one sentence; see headlight.js.
  *trace(text, { prefix = [], target = null, off = [] } = {}) {
    const { engine, config } = this;
    const source = [...this.read(text, "text"), config.end_id];
    const begun = typeof prefix === "string" ? this.tokenizer.encode(prefix) : [...prefix];
    const given = typeof target === "string" ? [...this.read(target, "target"), config.end_id] : target;
    const found = given ? engine.force(source, given, { off }) : engine.translate(source, { prefix: begun, off });
    yield;
    const origin = given ? "target" : begun.length ? "prefix" : "decoded";
    return { ...this.told(text, origin, found), off: [...off] };
  }

  told(text, origin, found) {
    const { tokenizer } = this, { sourceIds, fedIds, nextIds, candidateIds } = found;
    const tokens = (ids) => Array.from(ids, (id) => tokenizer.pieces[id]);
    const count = candidateIds.length / nextIds.length;
    return {
      sourceText: text,
      targetText: tokenizer.decode(nextIds),
      origin,
      finished: found.finished,
      sourceIds,
      sourceTokens: tokens(sourceIds),
      decoderInputIds: fedIds,
      decoderInputTokens: tokens(fedIds),
      targetIds: nextIds,
      targetTokens: tokens(nextIds),
      encoder: found.encoder,
      decoder: found.decoder,
      cross: found.cross,
      targetProbabilities: found.nextProbabilities,
      targetRanks: found.nextRanks,
      entropies: found.entropies,
      logProbability: found.logProbability,
      candidateIds,
      candidateProbabilities: found.candidateProbabilities,
      candidateTokens: nextIds.map((_, step) => tokens(candidateIds.subarray(step * count, (step + 1) * count))),
    };
  }

  // What each head alone is worth to a translation, ids: yields `{ head, losses, turned }` head by head.
  headLosses(text, target) {
    return this.engine.headLosses([...this.read(text, "text"), this.config.end_id], target);
  }

  // The ids of a "text" or a "target" without special tokens; throws ReadingError as transformer/data/reading.py does.
  read(text, side) {
    const limit = this.config.max_length - 1, commas = (number) => number.toLocaleString("en");
    if (text.length > limit * MOST_CHARACTERS_A_TOKEN) {
      const most = `the model reads at most ${limit} tokens.`;
      throw new ReadingError("TooLongError", `The ${side} has ${commas([...text].length)} characters; ${most}`);
    }
    const ids = this.tokenizer.encode(text);
    if (!ids.length) throw new ReadingError("EmptyTextError", `The ${side} is empty: please write a sentence.`);
    if (ids.length > limit) {
      const most = `the model reads at most ${limit}. Please shorten it.`;
      throw new ReadingError("TooLongError", `The ${side} has ${ids.length} tokens; ${most}`);
    }
    return ids;
  }
}
