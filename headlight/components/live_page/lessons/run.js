// What a measure of a lesson asks of the model, for one sentence: the counterpart of `Run` of
// headlight/lessons/answer.py and of what headlight/app/results computes. Translations are greedy.

import { GivenUp } from "../../engine/runs.js";
import { wordRanges } from "../../lib/tokens.js";
import { positionsOf } from "../payloads/lines.js";
import { measureHeads, plainestHead } from "../payloads/patterns.js";
import { logProbabilities } from "../payloads/switches.js";
import { filled } from "../payloads/text.js";

// A sentence, or a model, does not decide a question; its message says why.
export class Undecided extends Error {}

export class Run {
  // source: a LocalSource; told: what the page is told of lessons (headlight/lessons/live.py); trace: of the sentence;
  // address: what the page shows now; isCurrent: whether anybody still waits for what is measured; lane: of what takes
  // long, so that another sentence's gives it up.
  constructor(source, told, trace, { address = {}, isCurrent = () => true, lane = null } = {}) {
    Object.assign(this, { source, told, trace, address, isCurrent, lane, text: trace.sourceText });
    this.config = source.model.config;
    this.law = source.words.law;
    this.forced = Number(this.config.forced_first_token);
  }

  // The sentences of a measure, "attention.most_read": say("truth", ...) fills one.
  say(name) {
    const phrases = this.told.phrases[name];
    return (place, ...values) => filled(phrases[place], values);
  }

  // The thresholds of a file of measures.
  limits(file) {
    return this.told.limits[file];
  }

  get scoredSteps() {
    return this.trace.targetIds.map((_, step) => step).filter((step) => step >= this.forced);
  }

  // All heads of a kind, as patterns.js measures them.
  heads(kind) {
    const { trace } = this, keys = kind === "decoder" ? trace.decoderInputTokens : trace.sourceTokens;
    return measureHeads(kind, trace[kind], keys, trace.targetTokens, this.law);
  }

  // The head that the pages begin with.
  firstHead(kind) {
    const { layer, head } = plainestHead(this.heads(kind), this.source.words.roles, this.law);
    return { layer, head };
  }

  // The rows of one head's map.
  rows(kind, { layer, head }) {
    const { shape: [, heads, queries, keys], weights } = this.trace[kind];
    const from = (layer * heads + head) * queries * keys;
    return Array.from({ length: queries }, (_, row) => weights.subarray(from + row * keys, from + (row + 1) * keys));
  }

  // The translation of another text, with a beginning that is forced, or without some heads.
  async traceOf(options, text = this.text) {
    if (!this.isCurrent()) throw new GivenUp();
    return this.source.trace(text, options, null);
  }

  get words() {
    return wordRanges(this.trace.sourceTokens);
  }

  // The translation without each word of the source, as texts.
  async withoutEachWord() {
    const found = await this.source.withoutEach(this.text, this.words.map(positionsOf), null);
    return found.map(({ targetText }) => targetText);
  }

  // What log P of each output token loses without each source token: [source][output].
  async lostWithout() {
    const { sourceTokens, targetIds } = this.trace, before = logProbabilities(this.trace), found = [];
    for (let place = 0; place < sourceTokens.length; place++) {
      const unread = sourceTokens.length === 1 ? [] : [place];
      const after = logProbabilities(await this.traceOf({ target: [...targetIds], unread }));
      found.push(before.map((each, at) => each - after[at]));
    }
    return found;
  }

  // What is lost without each head: see LocalSource.
  losses() {
    return this.source.losses(this.trace, () => {}, this.lane);
  }

  stages(kind, { layer, head }) {
    return this.source.stages(this.trace, { kind, layer, head }, null);
  }

  tempered(step, temperatures) {
    return this.source.tempered(this.text, this.trace.targetIds.slice(0, step), temperatures);
  }

  async ended(size, alpha) {
    const { ended } = await this.source.search(this.text, { beam: { size, alpha } }, this.lane);
    return ended.slice(0, size);
  }
}
