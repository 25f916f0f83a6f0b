// The linked explorer: overview, map or lines, and sentence share one choice; nothing here waits for the server.
// Weights, labels and measures come from Python; here they are averaged, summed and drawn. Token text is hostile until it
// is set as text.

const TELL_EXPLORER_AFTER = 350; // ms after the last choice

class Explorer {
  constructor(root) {
    this.root = root;
    this.find = (selector) => root.querySelector(selector);
    this.said = new Said();
    this.choice = new Choice(() => this.changed());
    const tell = (text) => (this.find(".readout").textContent = text);
    this.tell = tell;
    this.overview = new Overview(this.find(".overview canvas"), {
      choose: (layer, head, more) => this.choice.takeHead(this.choice.kind, layer, head, more),
      tell: (found) => tell(found ? this.headWords(found) : this.words(null)),
    });
    const linked = {
      choose: (side, index, more) => this.chooseGroup(side, index, more),
    };
    this.map = new MapView(this.find(".map canvas"), { ...linked, look: (cell) => this.lookAtCell(cell) });
    this.lines = new Lines(this.find(".lines"), { ...linked, look: (found) => this.lookAtToken(found, this.sentence) });
    this.sentence = new Sentence(this.find(".sentence"), { ...linked, look: (found) => this.lookAtToken(found, this.lines) });
    this.controls();
    root.addEventListener("keydown", (event) => event.key === "Escape" && this.choice.clear());
    this.resized = new ResizeObserver(() => this.attention && this.width !== this.find(".explorer").clientWidth && this.draw());
    this.resized.observe(this.find(".explorer"));
    this.heard = (event) => this.address(event.detail);
    document.addEventListener("headlight:choice", this.heard);
  }

  leave() {
    clearTimeout(this.telling);
    this.resized.disconnect();
    document.removeEventListener("headlight:choice", this.heard);
  }

  receive(bytes) {
    const fresh = !this.attention || this.bytes !== bytes;
    if (!fresh) return;
    this.bytes = bytes;
    const before = this.attention?.header.id;
    this.attention = new Attention(bytes);
    if (this.written) this.choice.read(this.written, this.attention);
    if (before && before !== this.attention.header.id) this.choice.tokens = [];
    this.draw();
  }

  // What the address says, told by the component beside this one.
  address(written) {
    if (!this.said.isNews(JSON.stringify(written))) return;
    this.written = written;
    if (!this.attention) return;
    this.choice.read(written, this.attention);
    this.draw();
  }

  changed() {
    this.draw();
    clearTimeout(this.telling);
    this.telling = setTimeout(() => {
      const written = this.choice.written();
      if (this.said.tell(JSON.stringify(written))) this.setTriggerValue("choice", written);
    }, TELL_EXPLORER_AFTER);
  }

  controls() {
    for (const input of this.root.querySelectorAll("[name]")) {
      input.oninput = () => this.choice.set({ [input.name]: input.type === "range" ? Number(input.value) : input.value });
    }
    this.find(".kinds").onclick = (event) => {
      const kind = event.target.closest("button")?.dataset.kind;
      if (kind) this.choice.set({ kind, heads: [{ layer: 0, head: 0 }], tokens: [] });
    };
    this.find(".views").onclick = (event) => {
      const view = event.target.closest("button")?.dataset.view;
      if (view) this.choice.set({ view });
    };
    this.find(".all").onclick = () => this.choice.set({ heads: this.everyHead() });
    this.find(".layer").onclick = () => {
      const { layer } = this.choice.heads[0];
      this.choice.set({ heads: this.everyHead().filter((each) => each.layer === layer) });
    };
    this.find(".clear").onclick = () => this.choice.clear();
  }

  everyHead() {
    const { layers, heads } = this.attention.kind(this.choice.kind);
    return Array.from({ length: layers * heads }, (_, number) => ({ layer: Math.floor(number / heads), head: number % heads }));
  }

  chooseGroup(side, index, more) {
    const group = (side === "queries" ? this.shown.rows : this.shown.columns)[index];
    const { choice } = this, same = side === choice.side && group.places.every((place) => choice.tokens.includes(place));
    const kept = more && side === choice.side ? choice.tokens.filter((token) => !group.places.includes(token)) : [];
    const tokens = same && (more || choice.tokens.length === group.places.length) ? kept : [...kept, ...group.places];
    choice.set({ side, tokens: tokens.sort((a, b) => a - b) });
  }

  draw() {
    const { attention, choice } = this, width = (this.width = this.find(".explorer").clientWidth);
    if (!width) return;
    const half = width >= 900 ? (width - 32) / 2 : width;
    this.shown = new Shown(attention, choice.kind, choice.heads, choice);
    const dim = (layer, head) => choice.label !== "all" && (this.measures(layer, head).label ?? "none") !== choice.label;
    this.overview.draw(attention, choice, half, dim);
    this.find(".map").hidden = choice.view !== "map";
    this.find(".lines").hidden = choice.view !== "lines";
    if (choice.view === "map") this.map.draw(this.shown, choice, half);
    else this.lines.draw(choice.heads.map((head) => new Shown(attention, choice.kind, [head], choice)), this.shown, choice, half);
    this.sentence.draw(this.shown, choice);
    this.showControls();
    this.tell(this.words(null));
  }

  measures(layer, head) {
    const kind = this.attention.kind(this.choice.kind);
    return kind.measures[layer * kind.heads + head];
  }

  showControls() {
    const { choice } = this;
    const press = (selector, name) => this.root.querySelectorAll(`${selector} button`).forEach((button) => {
      button.setAttribute("aria-pressed", button.dataset[name] === choice[name]);
    });
    press(".kinds", "kind");
    press(".views", "view");
    for (const input of this.root.querySelectorAll("[name]")) input.value = choice[input.name];
    this.find(".top_value").textContent = choice.top === 100 ? "all" : `top ${choice.top} %`;
    this.find(".scale_legend").textContent = choice.scale === "0 to 1" ? "colour: 0 to 1" : `colour: 0 to ${this.shown.reach.toFixed(2)}, this map's largest`;
    this.find(".heads_name").textContent = this.headsName();
    this.find(".legend").replaceChildren(...(choice.view === "lines" && choice.heads.length > 1 ? choice.heads : []).map(({ layer, head }, number) => {
      const item = element("span", "", `${layer + 1}.${head + 1}`);
      item.style.borderBottom = `3px solid ${PALETTE[number % PALETTE.length]}`;
      return item;
    }));
  }

  headsName() {
    const { heads, kind } = this.choice, name = this.attention.kind(kind).name;
    if (heads.length === 1) return `${name}, layer ${heads[0].layer + 1}, head ${heads[0].head + 1}`;
    return `${name}, mean of ${heads.length} heads`;
  }

  // Words

  headWords({ layer, head }) {
    const measured = this.measures(layer, head), share = (name) => `${Math.round(100 * measured[name])} %`;
    const pattern = measured.label ? `${PATTERNS[measured.label]} in ${share(measured.label)} of its rows` : "no clear pattern";
    return `Layer ${layer + 1}, head ${head + 1}: ${pattern}; mean row entropy ${measured.entropy?.toFixed(2) ?? "–"} nats, confidence ${measured.confidence?.toFixed(2) ?? "–"}.`;
  }

  reader(row) {
    const { text, predicts } = this.shown.rows[row];
    return predicts ? `Fed “${text}”, to predict “${predicts}”,` : `“${text}”`;
  }

  lookAtCell(cell) {
    this.sentence.colour(cell ? { side: "queries", index: cell.row } : null);
    this.tell(this.words(cell));
  }

  lookAtToken(found, other) {
    if (other === this.sentence) this.sentence.colour(found);
    else if (this.choice.view === "lines") this.lines.show(found);
    this.tell(found ? this.tokenWords(found.side, [found.index]) : this.words(null));
  }

  words(cell) {
    const { shown, choice } = this;
    if (!shown) return "";
    if (cell) {
      const reader = this.reader(cell.row), key = shown.columns[cell.column].text;
      if (!shown.isOpen(cell.row, cell.column)) return `${reader} may not read “${key}”, which comes later.`;
      return `${reader} reads “${key}” with weight ${shown.at(cell.row, cell.column).toFixed(4)}. ${this.rowWords(cell.row)}`;
    }
    const groups = choice.side === "queries" ? shown.rows : shown.columns;
    const indexes = groups.flatMap(({ places }, index) => (places.some((place) => choice.tokens.includes(place)) ? [index] : []));
    if (indexes.length) return this.tokenWords(choice.side, indexes);
    return "Point at a token, a cell or a head; click to choose, with shift for several; Escape clears.";
  }

  rowWords(row) {
    const { shown } = this, largest = shown.largest(row);
    return `Row: largest ${shown.at(row, largest).toFixed(4)} at “${shown.columns[largest].text}”, entropy ${shown.entropy(row).toFixed(2)} nats.`;
  }

  tokenWords(side, indexes) {
    const { shown } = this;
    if (side === "queries" && indexes.length === 1) return `${this.reader(indexes[0])} reads. ${this.rowWords(indexes[0])}`;
    const sum = (at) => indexes.reduce((total, index) => total + (side === "queries" ? shown.at(index, at) : shown.at(at, index)), 0);
    const others = side === "queries" ? shown.columns : shown.rows, totals = others.map((_, at) => sum(at));
    const most = totals.indexOf(Math.max(...totals)), names = indexes.map((index) => `“${(side === "queries" ? shown.rows : shown.columns)[index].text}”`).join(", ");
    const verb = side === "queries" ? "together read most" : "read most by";
    return side === "queries"
      ? `${names} ${verb}: “${others[most].text}”, ${totals[most].toFixed(4)} in sum.`
      : `${names} ${indexes.length > 1 ? "are" : "is"} ${verb} “${others[most].text}”: ${totals[most].toFixed(4)}; over all rows ${totals.reduce((a, b) => a + b, 0).toFixed(4)}.`;
  }
}

const PATTERNS = {
  previous: "looks at the previous token", same: "looks at the token itself", next: "looks at the next token",
  mirrored: "looks at the mirrored place", "end of sentence": "looks at the end of sentence", punctuation: "looks at punctuation",
  alignment: "agrees with the mean of all cross-attention heads",
};

export default mounted(Explorer);
