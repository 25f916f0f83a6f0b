// The facts of the views, from the model in this page in place of the app's server.

const MOST_ANSWERS = 40; // in memory

export class LocalSource {
  // model: that of openModel in engine/headlight.js; words: texts and data that are the same for every sentence.
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

  // Losses of a translation without each head: all of { kind, layer, head, losses, turned }. progress(count): called
  // with the number of heads measured so far.
  losses(trace, progress, lane = "losses") {
    const measure = async () => {
      const heads = [];
      const each = (measured) => progress(heads.push(measured));
      await this.model.headLosses(trace.sourceText, trace.targetIds, each, { lane });
      return heads;
    };
    return this.once(JSON.stringify(["losses", trace.sourceText, trace.targetIds]), measure);
  }

  // What engine/headlight.js is asked about a trace: "stages" of a head, or "vectors" at some dimensions.
  of(verb, { sourceText, targetIds }, chosen) {
    const ask = () => this.model.ask(verb, [sourceText, [...targetIds], chosen], { lane: verb });
    return this.once(JSON.stringify([verb, sourceText, targetIds, chosen]), ask);
  }

  // Cache answers, those under way too, so that a repeated question gives up no run of its lane; drop failures and the
  // oldest answers.
  once(question, ask) {
    if (!this.answers.has(question)) {
      const answer = ask();
      this.answers.set(question, answer);
      answer.catch(() => this.answers.get(question) === answer && this.answers.delete(question));
      if (this.answers.size > MOST_ANSWERS) this.answers.delete(this.answers.keys().next().value);
    }
    return this.answers.get(question);
  }
}
