// The linked explorer: overview, map or lines, sentence and numbers share one choice; nothing here waits for the server.
// Weights, labels and measures come from Python; here they are averaged, summed and drawn. Token text is hostile until it
// is set as text.

const KINDS = ["encoder", "decoder", "cross"];
const TELL_EXPLORER_AFTER = 350; // ms after the last choice
const WIDE = 820, GUTTER = 32, LONG = 48; // pixels of two panes side by side, between them; tokens that need a whole width

class Explorer {
  constructor(root) {
    this.root = root;
    this.find = (selector) => root.querySelector(selector);
    this.said = new Said();
    this.choice = new Choice(() => this.changed());
    const linked = {
      point: (pointed) => this.point(pointed),
      choose: (side, index, more) => this.choice.takeTokens(side, this.shown.side(side)[index].places, more),
    };
    this.overview = new Overview(this.find(".overview canvas"), {
      point: (head) => this.preview(head),
      choose: (kind, heads, more) => this.choice.takeHeads(kind, heads.map(({ layer, head }) => ({ layer, head })), more),
    });
    this.map = new MapView(this.find(".map canvas"), linked);
    this.lines = new Lines(this.find(".lines"), linked);
    this.sentence = new Sentence(this.find(".sentence"), linked);
    this.weights = new Table(this.find("details.weights"), () => `Weights. ${this.find(".heads_name").textContent}`, () => weightRows(this));
    this.heads = new Table(this.find("details.heads"), () => `Heads: ${WORDS.kinds[this.choice.kind]}`, () => headRows(this));
    this.controls();
    root.addEventListener("keydown", (event) => event.key === "Escape" && this.choice.clear());
    const frame = this.find(".explorer");
    frame.addEventListener("transitionend", (event) => event.target === frame && this.draw()); // its text colour: another theme
    this.resized = new ResizeObserver(() => this.width !== frame.clientWidth && this.draw());
    this.resized.observe(frame);
    this.heard = (event) => this.address(event.detail);
    document.addEventListener("headlight:choice", this.heard);
    document.dispatchEvent(new CustomEvent("headlight:asks"));
  }

  leave() {
    clearTimeout(this.telling);
    this.resized.disconnect();
    document.removeEventListener("headlight:choice", this.heard);
  }

  receive(bytes) {
    const came = new Attention(bytes), before = this.attention?.header.id;
    if (came.header.id === before) return;
    this.attention = came;
    this.draw();
    if (before && this.choice.tokens.length) this.choice.set({ tokens: [] }); // places in the sentence before mean nothing in this one
  }

  // What the address says, told by the component beside this one.
  address(written) {
    if (!this.said.isNews(inOrder(written))) return;
    this.choice.read(written);
    this.draw();
  }

  changed() {
    this.draw();
    clearTimeout(this.telling);
    this.telling = setTimeout(() => {
      const written = this.choice.written();
      if (this.said.tell(inOrder(written))) this.setTriggerValue("choice", written);
    }, TELL_EXPLORER_AFTER);
  }

  controls() {
    const { choice } = this, options = (select, pairs) => pairs.map(([value, text]) => select.add(new Option(text, value)));
    options(this.find("[name=label]"), [["all", "any"], ...Object.keys(WORDS.patterns).map((name) => [name, name]), ["none", "no clear pattern"]]);
    options(this.find("[name=sort]"), [["layer", "layer and head"], ...Object.keys(WORDS.measures).map((name) => [name, name])]);
    for (const input of this.root.querySelectorAll("[name]")) {
      input.oninput = () => choice.set({ [input.name]: input.type === "range" ? Number(input.value) : input.value });
    }
    this.find(".rules ul").replaceChildren(...WORDS.rules.map((text) => element("li", "", text)));
    const pressed = (event, name) => event.target.closest("button")?.dataset[name];
    this.find(".kinds").onclick = (event) => {
      const kind = pressed(event, "kind");
      if (kind) choice.takeKind(kind, this.attention.kind(kind));
    };
    this.find(".views").onclick = (event) => pressed(event, "view") && choice.set({ view: pressed(event, "view") });
    const heads = (fits) => choice.set({ heads: this.attention.everyHead(choice.kind).filter((each) => fits(each, choice.heads[0])) });
    this.find(".all").onclick = () => heads(() => true);
    this.find(".layer").onclick = () => heads((each, { layer }) => each.layer === layer);
    this.find(".across").onclick = () => heads((each, { head }) => each.head === head);
    this.find(".several").onclick = () => {
      choice.several = !choice.several;
      this.find(".several").setAttribute("aria-pressed", choice.several);
    };
    this.find(".clear").onclick = () => choice.clear();
  }

  // Everything anew; what is not in sight is not drawn.
  draw() {
    const { attention, choice } = this, width = (this.width = this.find(".explorer").clientWidth);
    if (!width || !attention) return;
    const kind = attention.kind(choice.kind), beside = width >= WIDE && Math.max(kind.queries, kind.keys) <= LONG;
    this.half = beside ? (width - GUTTER) / 2 : width;
    this.find(".panes").classList.toggle("beside", beside);
    this.showControls(kind);
    this.overview.draw(attention, choice, this.half);
    this.drawHeads(this.chosenHeads());
    this.weights.draw();
    this.heads.draw();
  }

  // Those that this model has: its weights and the address may come one after the other.
  chosenHeads() {
    const { layers, heads } = this.attention.kind(this.choice.kind);
    const fitting = this.choice.heads.filter((each) => each.layer < layers && each.head < heads);
    return fitting.length ? fitting : [{ layer: 0, head: 0 }];
  }

  // Map or lines, and sentence, of these heads: the chosen ones, or one that is only pointed at.
  drawHeads(heads) {
    const { attention, choice } = this, name = choice.kind, of = (some) => new Shown(attention, name, some, choice);
    const before = this.shown, shown = (this.shown = of(heads)), empty = !shown.rows.length || !shown.columns.length, apart = heads.length <= PALETTE.length;
    this.find(".empty").hidden = !empty;
    this.find(".map").hidden = empty || choice.view !== "map";
    this.find(".lines").hidden = empty || choice.view !== "lines";
    this.find(".heads_name").textContent = headsTitle(attention, name, heads, apart && choice.view === "lines" ? "" : `${choice.together} of `);
    this.find(".scale_legend").textContent = choice.scale === "0 to 1" ? `colours: 0 to ${shown.most}` : `colours: 0 to ${shown.reach.toFixed(2)}, this map’s largest`;
    this.find(".axes").textContent = axesWords(shown, choice.rows);
    this.find(".notes").textContent = notes(shown, choice).join(" ");
    this.legend(heads, apart);
    if (before?.name !== name || before.rows.length !== shown.rows.length || before.columns.length !== shown.columns.length) this.pointed = null;
    this.sentence.draw(shown, choice);
    if (!empty && choice.view === "map") this.map.draw(shown, choice, this.half);
    if (!empty && choice.view === "lines") this.lines.draw(apart ? heads.map((head) => of([head])) : [shown], shown, choice, this.half);
    this.point(this.pointed);
  }

  legend(heads, apart) {
    const { view, together } = this.choice, words = apart ? heads.map(({ layer, head }) => `${layer + 1}.${head + 1}`) : [`${together} of ${heads.length} heads: too many for a colour each`];
    const items = view === "lines" && heads.length > 1 ? words.map((text, number) => {
      const item = element("span", "", text);
      item.style.borderBottomColor = PALETTE[number];
      return item;
    }) : [];
    this.find(".legend").replaceChildren(...items);
  }

  preview(tile) {
    if (tile && tile.kind === this.choice.kind) this.drawHeads([tile]);
    else this.drawHeads(this.chosenHeads());
    if (tile) this.tell(headWords(this.attention, tile));
  }

  // What is pointed at in one view shows in all: {row, column}, one of them, or null.
  point(pointed) {
    if (!this.shown) return;
    this.pointed = pointed;
    this.numbers(pointed);
    if (!this.shown.rows.length || !this.shown.columns.length) return;
    if (this.choice.view === "map") this.map.show(pointed);
    else this.lines.show(pointed);
    this.sentence.show(pointed);
  }

  numbers(pointed) {
    const { shown, choice } = this, chosen = chosenIndexes(shown, choice);
    let { row, column } = pointed ?? { [choice.side === "queries" ? "row" : "column"]: chosen[0] };
    const nothing = row === undefined && column === undefined;
    if (!shown.rows.length || !shown.columns.length) return this.find(".numbers").replaceChildren(), this.tell("");
    if (nothing) row = Math.floor(shown.values.indexOf(shown.reach) / shown.columns.length);
    row ??= shown.largestOfColumn(column);
    const at = column ?? shown.largestOfRow(row);
    this.find(".numbers").replaceChildren(...numbersOf(shown, row, at).map(([name, value]) => {
      const pair = element("div");
      pair.append(element("dt", "", name), element("dd", "", value));
      return pair;
    }));
    if (nothing) this.tell("The largest weight here. Point at a token, a cell or a head; click to choose, with shift for several; Escape clears.");
    else if (!pointed) this.tell(tokensWords(shown, choice.side, chosen));
    else if (pointed.row !== undefined && pointed.column !== undefined) this.tell(cellWords(shown, row, at));
    else this.tell(tokensWords(shown, pointed.row === undefined ? "keys" : "queries", [pointed.row ?? pointed.column]));
  }

  tell(text) {
    this.find(".readout").textContent = text;
  }

  showControls(kind) {
    const { choice, attention } = this, { sort } = choice;
    for (const name of ["kind", "view"]) {
      for (const button of this.root.querySelectorAll(`[data-${name}]`)) button.setAttribute("aria-pressed", button.dataset[name] === choice[name]);
    }
    for (const input of this.root.querySelectorAll("[name]")) input.value = choice[input.name];
    for (const option of this.find("[name=sort]").options) option.disabled = option.value !== "layer" && !kind.measures[option.value];
    this.find(".naming").hidden = choice.kind === "encoder";
    this.find(".told").textContent = WORDS.told[choice.kind];
    this.find(".top_value").textContent = choice.top === 100 ? "all weight" : `top ${choice.top} %`;
    this.find(".least").hidden = !kind.measures[sort];
    if (kind.measures[sort]) {
      this.find(".least span").textContent = WORDS.measures[sort][2];
      this.find(".least_value").textContent = choice.least ? measureText(sort, limitOf(kind, sort, choice.least)) : "any";
    }
    const found = findHeads(attention, choice.kind, choice), left = found.filter(({ stays }) => stays).length;
    this.find(".count").textContent = left < found.length ? `${left} of ${found.length} fit, the others are faint` : "click one, shift-click several";
    if (this.looked !== kind) this.showLook(kind);
  }

  // Once a kind of a sentence: a button that is focused stays where it is.
  showLook(kind) {
    this.looked = kind;
    this.find(".look").replaceChildren(...kind.look.map(([layer, head, words]) => {
      const item = element("li"), button = element("button", "", words);
      button.onclick = (event) => this.choice.takeHeads(this.choice.kind, [{ layer, head }], withMore(event));
      item.append(button);
      return item;
    }));
  }
}

// The same words for the same choice, in whatever order Python and we have put it.
const inOrder = (written) => JSON.stringify(Object.entries(written).sort());

export default mounted(Explorer);
