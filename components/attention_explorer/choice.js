// What is chosen in the explorer, the same for all its views; each is told when it changes.

const KINDS = ["encoder", "decoder", "cross"];
const PALETTE = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#8c6bb1", "#7f7f7f"];

class Choice {
  constructor(changed) {
    Object.assign(this, {
      changed, kind: "cross", heads: [{ layer: 0, head: 0 }], view: "map", side: "queries", tokens: [], words: "pieces",
      specials: "shown", top: 100, scale: "0 to 1", sort: "layer", label: "all",
    });
  }

  set(some) {
    Object.assign(this, some);
    this.changed();
  }

  has({ layer, head }) {
    return this.heads.some((each) => each.layer === layer && each.head === head);
  }

  // A head alone, or with `more` in addition to those that are chosen, or no longer.
  takeHead(kind, layer, head, more) {
    if (kind !== this.kind) return this.set({ kind, heads: [{ layer, head }], tokens: [] });
    if (!more) return this.set({ heads: [{ layer, head }] });
    const others = this.heads.filter((each) => each.layer !== layer || each.head !== head);
    const heads = others.length < this.heads.length ? others : [...this.heads, { layer, head }];
    this.set({ heads: heads.length ? heads : this.heads });
  }

  takeToken(side, index, more) {
    const same = side === this.side ? this.tokens : [];
    const chosen = same.includes(index);
    if (more) return this.set({ side, tokens: chosen ? same.filter((each) => each !== index) : [...same, index].sort((a, b) => a - b) });
    this.set({ side, tokens: chosen && same.length === 1 ? [] : [index] });
  }

  clear() {
    this.set({ tokens: [] });
  }

  // As plain texts for the address.
  written() {
    return {
      kind: this.kind, view: this.view, heads: this.heads.map(({ layer, head }) => `${layer + 1}.${head + 1}`).join("-"),
      tokens: this.tokens.length ? `${this.side === "queries" ? "q" : "k"}${this.tokens.map((token) => token + 1).join("-")}` : "",
      words: this.words, specials: this.specials, top: String(this.top), scale: this.scale, sort: this.sort, label: this.label,
    };
  }

  // From the address; what makes no sense there is left as it was.
  read(written, attention) {
    const some = {};
    if (KINDS.includes(written.kind)) some.kind = written.kind;
    const kind = attention.kind(some.kind ?? this.kind);
    const heads = [...(written.heads ?? "").matchAll(/(\d+)\.(\d+)/g)].map(([, layer, head]) => ({ layer: layer - 1, head: head - 1 }));
    some.heads = heads.filter(({ layer, head }) => layer >= 0 && head >= 0 && layer < kind.layers && head < kind.heads);
    if (!some.heads.length) some.heads = [{ layer: 0, head: 0 }];
    const tokens = /^([qk])([\d-]+)$/.exec(written.tokens ?? "");
    some.side = tokens?.[1] === "k" ? "keys" : "queries";
    some.tokens = tokens ? tokens[2].split("-").map((token) => token - 1).filter((token) => token >= 0) : [];
    for (const [name, allowed] of Object.entries(ALLOWED)) if (allowed.includes(written[name])) some[name] = written[name];
    const top = Number(written.top);
    some.top = top >= 1 && top <= 100 ? Math.round(top) : 100;
    Object.assign(this, some);
  }
}

const ALLOWED = { view: ["map", "lines"], words: ["pieces", "words"], specials: ["shown", "hidden"], scale: ["0 to 1", "per map"] };
