// The live model's face: a translator with its every attention weight, without a server.
//
//   const headlight = openModel({ header, weights, kernel, worker });
//   await headlight.ready;                                  // { kernel: "WebAssembly SIMD", where: "worker" }
//   await headlight.translate("Hello!");                    // "Hallo!"
//   const trace = await headlight.trace("Hello!", { off: ["cross.2.4"] });
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
//                                                 decoding.js; of what ended also `text` and `tokens`
//   translateWithoutEach(text, sets, each, options)   greedily once for each set of hidden source positions;
//                                                 each({ index, hidden, targetIds, targetTokens, targetText,
//                                                 logProbability, finished }) is called as they come
//   headLosses(text, targetIds, each, options)    what each head alone is worth: each({ head: "cross.2.4", losses,
//                                                 turned }) is called head by head, behind all other runs; gives log P
//                                                 of each id
//   stages(text, targetIds, { kind, layer, head }, options)   one attention block, stage by stage: see stages.js
//   masked({ source, target }, longest, disabled, options)    a sentence, ids, in a padded batch: see masks.js
//   entering(text, options)                       what enters the encoder: { tokens, embeddings, positions, total },
//                                                 and withoutPositions, the translation of the embeddings alone
//   positions(options)                            what is added at each position: see positions.js
// Options:
//   prefix    a text or ids that the translation begins with
//   target    a text or ids: the translation itself, which is replayed in one teacher-forced pass
//   beam      1 for greedy decoding, a size, or { size, alpha, penalty: "gnmt" or "length" }
//   sampling  { temperature, topK, seed }: drawn, in place of the most probable
//   off       heads whose output is zero: ["cross.2.4"], kind, layer and head from 0, as Python's "zero:cross.2.4"
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

import { GivenUp } from "./runs.js";
import { Service } from "./service.js";
import { Tokenizer } from "./tokenizer.js";

export function openModel(model) {
  return new Headlight(model);
}

class Headlight {
  constructor({ header, weights, kernel = null, worker = null }) {
    this.config = header.config;
    this.tokenizer = new Tokenizer(header.tokenizer);
    this.ready = this.open({ header, weights, kernel }, worker);
    this.ready.catch(() => {}); // whoever asks for something is told
  }

  async open(model, worker) {
    const there = worker === null ? null : await Distant.open(model, worker);
    this.service = there ?? new Service(model);
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

  translateWithoutEach(text, sets, each, options) {
    return this.ask("translateWithoutEach", [text, sets], options, each);
  }

  stages(text, target, chosen, options) {
    return this.ask("stages", [text, [...target], chosen], options);
  }

  masked(sentence, longest, disabled, options) {
    return this.ask("masked", [sentence, longest, disabled], options);
  }

  entering(text, options) {
    return this.ask("entering", [text], options);
  }

  positions(options) {
    return this.ask("positions", [], options);
  }

  headLosses(text, target, each, options) {
    return this.ask("headLosses", [text, [...target]], options, each);
  }

  // Give up the runs of a lane.
  giveUp(lane) {
    this.service?.giveUp(lane);
  }

  // A verb of translator.js by its name.
  async ask(verb, given, { lane = null, ...options } = {}, each = () => {}) {
    await this.ready;
    return this.service.ask(verb, [...given, options], { lane }, each);
  }
}

// A service in a worker.
class Distant {
  // Null where no worker may be; the model is then still here.
  static async open(model, text) {
    let worker;
    const address = URL.createObjectURL(new Blob([text], { type: "text/javascript" }));
    try {
      worker = new Worker(address);
    } catch {
      return null;
    }
    const distant = new Distant(worker);
    return (await distant.begin(model)) ? distant : null;
  }

  constructor(worker) {
    this.worker = worker;
    this.asked = new Map();
  }

  // Send the model once the worker has begun; false where it cannot.
  begin(model) {
    return new Promise((resolve, reject) => {
      this.worker.onerror = () => resolve(false); // its policy forbids it: nothing has been sent
      this.worker.onmessage = ({ data }) => {
        if (data.begun) this.worker.postMessage({ model }, [model.weights.buffer]);
        else if (data.failed) reject(Object.assign(new Error(), data.failed));
        else {
          this.kernelName = data.ready.kernel;
          this.worker.onmessage = ({ data }) => this.hear(data);
          resolve(true);
        }
      };
    });
  }

  ask(verb, given, options, each) {
    const number = (this.last = (this.last ?? 0) + 1);
    return new Promise((resolve, reject) => {
      this.asked.set(number, { resolve, reject, each });
      this.worker.postMessage({ number, verb, given, options });
    });
  }

  hear({ number, each, value, error }) {
    const asked = this.asked.get(number);
    if (each !== undefined) return asked.each(each);
    this.asked.delete(number);
    if (error === undefined) return asked.resolve(value);
    return asked.reject(error.name === "GivenUp" ? new GivenUp() : Object.assign(new Error(), error));
  }

  giveUp(lane) {
    this.worker.postMessage({ givenUp: lane });
  }
}
