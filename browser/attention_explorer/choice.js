// What is chosen in the explorer, the same for all its views; each is told when it changes.

// The colours of heads side by side, kept apart by any colour vision.
const PALETTE = ["#0072b2", "#e69f00", "#cc79a7", "#56b4e9", "#8c6bb1", "#a6611a", "#1b9aaa", "#7f7f7f"];

class Choice {
  constructor(changed) {
    Object.assign(this, {
      changed, kind: "cross", view: "map", heads: [{ layer: 0, head: 0 }], side: "queries", tokens: [], rows: "predicted",
      words: "pieces", specials: "shown", top: 100, together: "mean", scale: "0 to 1", kinds: "one", label: "all",
      sort: "layer", least: 0,
    });
    this.several = false; // whether a click adds to what is chosen: shift for those who have no such key
  }

  set(some) {
    Object.assign(this, some);
    this.changed();
  }

  has(kind, { layer, head }) {
    return kind === this.kind && this.heads.some((each) => each.layer === layer && each.head === head);
  }

  // These heads alone, or with `more` in addition to those that are chosen; once more, and they are so no longer.
  takeHeads(kind, heads, more) {
    if (kind !== this.kind) return this.set({ kind, heads, tokens: [] });
    if (!more && !this.several) return this.set({ heads });
    const others = this.heads.filter((one) => !heads.some((each) => each.layer === one.layer && each.head === one.head));
    const taken = heads.every((each) => this.has(kind, each)) ? others : [...others, ...heads];
    this.set({ heads: taken.length ? taken : this.heads });
  }

  // Another kind, with the same heads as far as it has them.
  takeKind(name, { layers, heads }) {
    const kept = this.heads.filter((each) => each.layer < layers && each.head < heads);
    this.set({ kind: name, heads: kept.length ? kept : [{ layer: 0, head: 0 }], tokens: [] });
  }

  // A group of tokens that are shown as one, alone or in addition.
  takeTokens(side, places, more) {
    more ||= this.several;
    const here = side === this.side ? this.tokens : [], chosen = places.every((place) => here.includes(place));
    const others = more ? here.filter((token) => !places.includes(token)) : [];
    const taken = chosen && (more || here.length === places.length) ? others : [...others, ...places];
    this.set({ side, tokens: taken.sort((one, other) => one - other) });
  }

  holds(side, places) {
    return side === this.side && places.some((place) => this.tokens.includes(place));
  }

  // First the tokens go, then all heads but the first.
  clear() {
    if (this.tokens.length) this.set({ tokens: [] });
    else if (this.heads.length > 1) this.set({ heads: this.heads.slice(0, 1) });
  }

  // As plain texts for the address.
  written() {
    return {
      kind: this.kind, view: this.view, heads: this.heads.map(({ layer, head }) => `${layer + 1}.${head + 1}`).join("-"),
      tokens: this.tokens.length ? `${this.side === "queries" ? "q" : "k"}${this.tokens.map((token) => token + 1).join("-")}` : "",
      rows: this.rows, words: this.words, specials: this.specials, top: String(this.top), together: this.together,
      scale: this.scale, kinds: this.kinds, label: this.label, sort: this.sort, least: String(this.least),
    };
  }

  // From the address; Python has put right what makes no sense there.
  read({ heads, tokens, top, least, ...texts }) {
    Object.assign(this, texts, { top: Number(top), least: Number(least) });
    this.heads = heads.split("-").map((each) => each.split(".")).map(([layer, head]) => ({ layer: layer - 1, head: head - 1 }));
    this.side = tokens.startsWith("k") ? "keys" : "queries";
    this.tokens = tokens ? tokens.slice(1).split("-").map((token) => token - 1) : [];
  }
}
