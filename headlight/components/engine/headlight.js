// The live model's face: a translator with its every attention weight, without a server.
//
//   const headlight = openModel({ header, weights, kernel, worker });
//   await headlight.ready;                                  // { kernel: "WebAssembly SIMD", where: "worker" }
//   await headlight.translate("Hello!");                    // "Hallo!"
//   const trace = await headlight.trace("Hello!", { off: ["cross.3.5"] });
//
// header and weights: the two that `pack` of transformer/exchange/int8.py makes of a checkpoint, the second a
// Uint8Array; kernel: the bytes of kernel.wasm, or null for plain JavaScript; worker: the text of the bundle of
// worker.js with a call of its default, or null to compute on the page in slices, as is done by itself where no worker
// may be. weights are taken over: use them no more.
//
// Verbs, each a promise:
//   translate(text, options)                      the translation
//   trace(text, options)                          everything of one sentence, see below
//   search(text, options)                         a beam search: { ended, kept, logProbabilities, scoreBounds }, see
//                                                 decoding.js, which also says what the option `watched` adds; of what
//                                                 ended also `text` and `tokens`, and keptTokens: [step][path] of the
//                                                 last ids
//   headLosses(text, targetIds, each, { lane })   losses without each head alone: each({ kind, layer, head,
//                                                 losses, turned }), counted from 0, is called head by head,
//                                                 behind all other runs and in no order, see sharing.js;
//                                                 resolves to log P of each id
//   ask("stages", [text, targetIds, { kind, layer, head }], options)   one attention block: see stages.js
//   ask("vectors", [text, targetIds, dimensions], options)             some numbers of each vector: see vectors.js
// Options:
//   prefix    a text or ids that the translation begins with
//   target    a text or ids: the translation itself, which is replayed in one teacher-forced pass
//   beam      1 for greedy decoding, a size, or { size, alpha, penalty: "gnmt" or "length" }
//   sampling  { temperature, topK, seed }: drawn, in place of the most probable
//   off       heads whose output is zero: ["cross.3.5"], layer and head counted from 1 as in addresses
//   hidden    source positions, from 0, that no head of cross-attention may read, as "forbid:cross.*.*:k"
//   lane      a name: a newer run of the same lane gives up the older one, whose promise rejects with GivenUp; without
//             one, runs wait for their turn
//
// A trace, after `Trace` of transformer/interpret/trace.py:
//   sourceText, targetText, origin ("decoded", "target", "prefix"), finished, off, hidden,
//   sourceIds, sourceTokens, decoderInputIds, decoderInputTokens, targetIds, targetTokens: arrays
//   encoder, decoder, cross: { shape: [layers, heads, queries, keys], weights: Float32Array }
//   targetProbabilities, targetRanks, entropies: [target], logProbability of all, in nats
//   candidateIds, candidateProbabilities: [target x 10], most probable first; candidateTokens: [target][10]
//
// Errors of a text have the names and sentences of Python's: EmptyTextError, TooLongError. RangeError for what the
// model does not have.

import { Distant } from "./distant.js";
import { Service } from "./service.js";
import { Sharing } from "./sharing.js";

export function openModel(model) {
  return new Headlight(model);
}

class Headlight {
  constructor({ header, weights, kernel = null, worker = null }) {
    this.config = header.config;
    this.ready = this.open({ header, weights, kernel }, worker);
    this.ready.catch(() => {}); // the verbs report it
  }

  async open(model, worker) {
    const address = worker === null ? null : URL.createObjectURL(new Blob([worker], { type: "text/javascript" }));
    const there = address === null ? null : await Distant.open(address, model);
    this.service = there ?? new Service(model);
    const { header: { config, tensors }, kernel } = model, hasTwo = there && navigator.hardwareConcurrency > 1;
    const hire = (weights) => Distant.open(address, { header: { config, tensors }, weights, kernel });
    this.sharing = new Sharing(this.service, hasTwo ? hire : null);
    return { kernel: this.service.kernelName, where: there ? "worker" : "page" };
  }

  translate(text, options) {
    return this.ask("translate", [text], options);
  }

  trace(text, options) {
    return this.ask("trace", [text], options);
  }

  search(text, options) {
    return this.ask("search", [text], options);
  }

  async headLosses(text, target, each, { lane = null } = {}) {
    await this.ready;
    return this.sharing.measure(text, [...target], each, lane);
  }

  // Give up the runs of a lane.
  giveUp(lane) {
    this.service?.giveUp(lane);
    this.sharing?.giveUp(lane);
  }

  // A verb of translator.js by its name.
  async ask(verb, args, { lane = null, ...options } = {}, each = () => {}) {
    await this.ready;
    return this.service.ask(verb, [...args, options], { lane }, each);
  }
}
