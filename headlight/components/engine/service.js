// The verbs of headlight.js by name, in a worker or on the page itself.

import { kernelNeeds } from "./engine.js";
import { plainKernel, simdKernel } from "./kernel.js";
import { Runs } from "./runs.js";
import { Translator } from "./translator.js";

// The WebAssembly kernel of these bytes; plain JavaScript without any, where WebAssembly is forbidden or has no SIMD.
function chooseKernel(header, bytes) {
  try {
    return bytes?.length ? simdKernel(bytes, kernelNeeds(header)) : plainKernel();
  } catch {
    return plainKernel();
  }
}

export class Service {
  // { header, weights, kernel }: see headlight.js.
  constructor({ header, weights, kernel }) {
    const chosen = chooseKernel(header, kernel);
    this.translator = new Translator(header, weights, chosen);
    this.hasCopied = chosen.hasCopied;
    this.runs = new Runs();
    this.kernelName = chosen.name;
  }

  // The answer to a verb; each(value): called with what it yields.
  ask(verb, args, { lane = null } = {}, each = () => {}) {
    const background = verb === "headLosses";
    return this.runs.add(() => this.translator[verb](...args), { lane, background, each });
  }

  giveUp(lane) {
    this.runs.giveUp(lane);
  }
}
