// Losses of all heads, part by part, by the model's service and a helper: a second worker with the weights, without a
// tokenizer, that ends a while after its last part.

import { GivenUp } from "./runs.js";

const LEAVES = 1000; // ms after its last part, so that it is there for what is typed next

export class Sharing {
  // own: the model's service; hire(weights): a promise of another one with `end()`, or of null; null for no helper.
  constructor(service, hire) {
    Object.assign(this, { service, hire, runs: new Map(), under: 0, helper: null });
  }

  // Call each({ kind, layer, head, losses, turned }) for each head; gives log P of each id with all heads, see
  // headlight.js.
  async measure(text, target, each, lane) {
    const run = { lane, isGivenUp: false };
    this.giveUp(lane);
    if (lane !== null) this.runs.set(lane, run);
    clearTimeout(this.leaving);
    this.under++;
    try {
      return await this.work(run, text, target, each);
    } finally {
      if (this.runs.get(lane) === run) this.runs.delete(lane);
      if (--this.under === 0) this.leaving = setTimeout(() => this.letGo(), LEAVES);
    }
  }

  async work(run, text, target, each) {
    const { lane } = run, { source, parts } = await this.service.ask("headParts", [text, target], { lane });
    let logs = null;
    const workOff = async (service) => {
      while (parts.length) {
        if (run.isGivenUp) throw new GivenUp();
        const losses = await service.ask("headLosses", [source, target, parts.shift()], { lane });
        if (run.isGivenUp) throw new GivenUp();
        ({ logs } = losses);
        losses.each.forEach(each);
      }
    };
    let helping = null; // a helper that comes when all is done has no part
    const help = (helper) => {
      if (!helper || !parts.length) return;
      helping = workOff(helper);
      helping.catch(() => {}); // the error is thrown below
    };
    this.hired()?.then(help, () => {});
    await workOff(this.service);
    await helping;
    return logs;
  }

  hired() {
    if (this.hire) this.helper ??= this.service.ask("packed", [], {}).then(this.hire);
    return this.helper;
  }

  giveUp(lane) {
    if (!this.runs.has(lane)) return;
    this.runs.get(lane).isGivenUp = true;
    this.helper?.then((helper) => helper?.giveUp(lane), () => {});
  }

  letGo() {
    this.helper?.then((helper) => helper?.end(), () => {});
    this.helper = null;
  }
}
