// Where the views get what they show: the model in this page, in the place of the app's server. What a component
// reports becomes a question to it, as in the app a report becomes a run.

const KEPT = 40; // answers

export class LocalSource {
  // model: what openModel of engine/headlight.js gives; words: what is said the same of every sentence.
  constructor(model, words) {
    Object.assign(this, { model, words });
    this.answers = new Map();
  }

  // A trace, see engine/headlight.js. A newer question of the same lane gives up the older one.
  trace(text, options = {}, lane = "sentence") {
    return this.once(JSON.stringify([text, options]), () => this.model.trace(text, { ...options, lane }));
  }

  // A beam search, see engine/headlight.js.
  search(text, options, lane = "search") {
    const ask = () => this.model.search(text, { ...options, lane });
    return this.once(JSON.stringify(["search", text, options]), ask);
  }

  // The translation without each of some sets of source positions: { targetIds, targetText }.
  withoutEach(text, sets, lane = "without each") {
    return this.once(JSON.stringify(["without", text, sets]), async () => {
      const found = [];
      await this.model.translateWithoutEach(text, sets, (each) => (found[each.index] = each), { lane });
      return found;
    });
  }

  // What each head alone is worth to a translation: all of {kind, layer, head, losses, turned}. told(n) hears how many
  // are known.
  losses(trace, told, lane = "losses") {
    const measure = async () => {
      const found = [];
      const each = ({ head: name, losses, turned }) => {
        const [kind, layer, head] = name.split(".");
        found.push({ kind, layer: Number(layer), head: Number(head), losses, turned });
        told(found.length);
      };
      await this.model.headLosses(trace.sourceText, trace.targetIds, each, { lane });
      return found;
    };
    return this.once(JSON.stringify(["losses", trace.sourceText, trace.targetIds]), measure);
  }

  // One attention block of a trace, stage by stage: see engine/stages.js.
  stages(trace, chosen, lane = "stages") {
    const ask = () => this.model.stages(trace.sourceText, trace.targetIds, chosen, { lane });
    return this.once(JSON.stringify(["stages", trace.sourceText, trace.targetIds, chosen]), ask);
  }

  // An answer that was had before, or is on its way: the same question twice is no newer one, which would give it up.
  // The oldest answers are forgotten, and what failed is asked again.
  once(question, ask) {
    if (!this.answers.has(question)) {
      const answer = ask();
      this.answers.set(question, answer);
      answer.catch(() => this.answers.get(question) === answer && this.answers.delete(question));
      if (this.answers.size > KEPT) this.answers.delete(this.answers.keys().next().value);
    }
    return this.answers.get(question);
  }
}
