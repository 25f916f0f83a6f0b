// The linked explorer: overview, map or lines, and numbers share one state; nothing here waits for the server. Weights
// and patterns come as facts; here they are averaged, summed, named and drawn. Token text is hostile until it is set as
// text.

import { offerDownload } from "../export/menu.js";
import { element } from "../lib/canvas.js";
import { HEADS } from "../lib/colours.js";
import { unpackFacts } from "../lib/facts.js";
import { Component, mounted } from "../lib/mount.js";
import { heightBelow, press } from "../lib/screen.js";
import { Table } from "../lib/table.js";
import { Overview, everyHead } from "../lib/thumbnails.js";
import { ExplorerState, findHeads, groupOf, headButton, headRows, inOrder, limitOf } from "./state.js";
import { allHeadsFigure, chosenFigure } from "./picture.js";
import { chosenIndexes } from "./sides.js";
import { Lines, WeightsMap } from "./views.js";
import { Attention, Shown } from "./weights.js";
import {
  headsTitle, kindText, kindTitle, largestText, limitText, measureText, notes,
  tileName,
} from "./words.js";
import { inWords } from "../lib/tokens.js";
import { say } from "./texts.toml";

const WIDE = 820, GUTTER = 28; // pixels of two panes side by side, and between them
const GRID = 0.4, LEAST_GRID = 360, MOST_GRID = 600; // the overview's share of the width, and its limits in pixels
const AROUND = 105, LEAST_HIGH = 240; // pixels above and below the map beside the overview, and its least height
const LONG = 48; // tokens that need the whole width

class Explorer extends Component {
  constructor(root) {
    super(root);
    this.state = new ExplorerState(() => this.changed());
    this.views();
    this.controls();
    const frame = this.find(".explorer");
    // Its text colour has changed: another theme.
    frame.addEventListener("transitionend", (event) => event.target === frame && this.draw());
    this.whenResized(frame, () => this.width !== frame.clientWidth && this.draw());
    this.listen(window, "resize", () => this.draw());
    this.listen(document, "headlight:choice", (event) => this.follow(event.detail));
    document.dispatchEvent(new CustomEvent("headlight:asks"));
  }

  views() {
    const linked = {
      point: (pointed) => this.point(pointed),
      choose: (side, index, more) => this.state.takeTokens(side, this.shown.side(side)[index].positions, more),
    };
    this.overview = new Overview(this.find(".overview canvas"), {
      point: (head) => this.preview(head),
      choose: (kind, heads, more) => {
        this.state.takeHeads(kind, heads.map(({ layer, head }) => ({ layer, head })), more);
      },
    });
    this.overview.listenToKeys();
    this.map = new WeightsMap(this.find(".sheet"), linked);
    this.lines = new Lines(this.find(".lines"), linked);
    closeElsewhere(this.find(".options"), this);
    const title = () => say("weights", { heads: this.find(".heads_name").textContent });
    this.weights = new Table(this.find("details.weights"), title, () => this.shown.tableRows());
    const kind = () => say("kind", { kind: kindTitle(this.attention.kind(this.state.kind)) });
    this.heads = new Table(this.find("details.heads"), kind, () => headRows(this.attention, this.state));
  }

  controls() {
    const { state } = this;
    for (const input of this.root.querySelectorAll("[name]")) {
      input.oninput = () => state.set({ [input.name]: input.type === "range" ? Number(input.value) : input.value });
    }
    const pressed = (event, name) => event.target.closest("button")?.dataset[name];
    this.find(".kinds").onclick = (event) => {
      const kind = pressed(event, "kind");
      if (kind) state.takeKind(kind, this.attention.kind(kind));
    };
    this.find(".views").onclick = (event) => pressed(event, "view") && state.set({ view: pressed(event, "view") });
    const take = (fits) => {
      const heads = everyHead(this.attention.kind(state.kind)).map((each) => ({ kind: state.kind, ...each }));
      state.set({ heads: heads.filter((each) => fits(each, state.heads[0])) });
    };
    this.find(".all").onclick = () => take(() => true);
    this.find(".layer").onclick = () => take((each, { layer }) => each.layer === layer);
    this.find(".across").onclick = () => take((each, { head }) => each.head === head);
    this.find(".several").onclick = () => {
      state.several = !state.several;
      this.find(".several").setAttribute("aria-pressed", state.several);
    };
    this.find(".clear").onclick = () => state.clear();
    this.find(".overview .title").append(offerDownload(say("download_all"), () => allHeadsFigure(this)));
    this.download = offerDownload(say("download_chosen"), () => chosenFigure(this.chosen()));
    this.find(".main .title").append(this.download);
    this.root.addEventListener("keydown", (event) => event.key === "Escape" && state.clear());
  }

  // data: facts, or bytes of them.
  receive(data) {
    // The same once more, after Back: the address decides anew what is chosen.
    if (data === this.data) return void document.dispatchEvent(new CustomEvent("headlight:asks"));
    this.data = data;
    const attention = new Attention(ArrayBuffer.isView(data) ? unpackFacts(data) : data), before = this.attention;
    if (attention.id === before?.id && attention.isWhole && before.isWhole) return;
    this.attention = attention;
    if (!before) this.offer();
    this.draw();
    // Positions in the sentence before mean nothing in this one.
    if (before && before.id !== attention.id && this.state.tokens.length) this.state.set({ tokens: [] });
  }

  // Options that are the same for every sentence.
  offer() {
    const options = (names) => names.map(([value, name]) => new Option(name, value));
    const patterns = Object.entries(this.attention.facts.patternWords).map(([value, [, , name]]) => [value, name]);
    const sorts = [["layer", say("unsorted")], ["confidence", say("confidence")], ["entropy", say("by_entropy")]];
    this.find("[name=label]").append(...options([["all", say("any")], ...patterns, ["none", say("no_pattern")]]));
    this.find("[name=sort]").append(...options([...sorts, ...patterns]));
  }

  // Take the address from the component beside this one.
  follow(address) {
    if (!this.echo.isNews(inOrder(address))) return;
    this.state.parse(address);
    this.draw();
  }

  changed() {
    this.draw();
    this.echo.later(() => {
      const address = this.state.serialize();
      if (this.echo.isWorthReporting(inOrder(address))) this.setTriggerValue("choice", address);
    });
  }

  // Everything anew; what is not in sight is not drawn.
  draw() {
    const { attention, state } = this;
    if (!attention) return;
    const width = (this.width = this.find(".explorer").clientWidth);
    if (!width) return;
    const kind = attention.kind(state.kind), beside = width >= WIDE && Math.max(kind.queries, kind.keys) <= LONG;
    this.grid = beside ? Math.round(Math.min(MOST_GRID, Math.max(LEAST_GRID, GRID * width))) : width;
    // Beside the overview all of the map is in sight at once; below it, and where it is long, it is as high as it is.
    const high = beside ? Math.max(LEAST_HIGH, heightBelow(this.find(".panes")) - AROUND) : Infinity;
    this.room = { wide: beside ? width - GUTTER - this.grid : width, high };
    this.find(".panes").classList.toggle("beside", beside);
    this.find(".panes").style.setProperty("--grid", `${this.grid}px`);
    this.showControls(kind);
    this.drawOverview();
    this.drawHeads(state.headsWithin(kind)); // the weights and the address may come one after the other
    this.weights.draw();
    this.heads.draw();
  }

  drawOverview() {
    const { attention, state, grid } = this, { kinds, kind, sort, label, least, scale } = state;
    const names = kinds === "one" ? [kind] : attention.kinds;
    const titles = names.map((name) => kindTitle(attention.kind(name)));
    const heads = names.flatMap((name) => everyHead(attention.kind(name)));
    const colour = getComputedStyle(this.find(".explorer")).color;
    const title = (at) => (names.length > 1 ? titles[at] : "");
    this.groups = names.map((name, at) => ({ ...groupOf(attention, name, state), title: title(at) }));
    this.overview.draw({
      key: JSON.stringify([attention.id, grid, kinds, names, sort, label, least, scale, colour]),
      groups: this.groups,
      isChosen: (tile) => state.has(tile.group.name, tile),
      label: say("overview", { count: heads.length, kinds: titles }),
    }, grid);
  }

  // Map or lines of these heads: the chosen ones, or one that is only pointed at.
  drawHeads(heads) {
    const { attention, state } = this, name = state.kind, of = (some) => new Shown(attention, name, some, state);
    this.find(".main").classList.toggle("waiting", !attention.holds(name, heads));
    if (!attention.holds(name, heads)) return this.announce(heads);
    const before = this.shown, shown = (this.shown = of(heads));
    const lines = state.view === "lines", apart = lines && heads.length <= (attention.isWhole ? HEADS.length : 1);
    this.find(".empty").hidden = !shown.isEmpty;
    this.download.hidden = shown.isEmpty;
    this.find(".map").hidden = shown.isEmpty || lines;
    this.find(".lines").hidden = shown.isEmpty || !lines;
    this.describe(heads, apart);
    const size = ({ rows, columns }) => `${rows.length} ${columns.length}`;
    if (before?.name !== name || size(before) !== size(shown)) this.pointed = null;
    if (!shown.isEmpty && !lines) this.map.drawWeights(shown, state, this.room);
    const each = () => (apart ? heads.map((head) => of([head])) : [shown]);
    if (!shown.isEmpty && lines) this.lines.draw(each(), shown, state, this.room);
    this.point(this.pointed);
  }

  // Of a long text the weights of other heads come when these are chosen.
  announce(heads) {
    const { attention, state: { kind, together } } = this;
    this.find(".heads_name").textContent = headsTitle(attention.kind(kind), heads, say("of", { together }));
    this.download.hidden = true;
    this.readOut(say("waiting"));
  }

  describe(heads, apart) {
    const { attention, state, shown } = this, { kind, scale, together } = state;
    const full = shown.shareText(scale === "0 to 1" ? shown.most : shown.largest);
    this.write({
      ".heads_name": headsTitle(attention.kind(kind), heads, apart ? "" : say("of", { together })),
      ".scale_legend": say("colours", { full }), ".notes": notes(heads.length, state, shown.removed),
    });
    const names = apart
      ? heads.map(tileName)
      : [say(attention.isWhole ? "too_many" : "together", { together, count: heads.length })];
    const legend = state.view === "lines" && heads.length > 1 ? names.map((text) => element("span", "", text)) : [];
    legend.forEach((item, number) => (item.style.borderBottomColor = HEADS[number]));
    this.find(".legend").replaceChildren(...legend);
  }

  // The arguments of chosenFigure.
  chosen() {
    const { attention, state, shown, lines } = this, title = this.find(".heads_name").textContent;
    return { attention, state, shown, each: state.view === "lines" ? lines.each : null, title };
  }

  preview(tile) {
    const { attention, state } = this, isOfKind = tile?.group.name === state.kind;
    if (attention.isWhole) this.drawHeads(isOfKind ? [tile] : state.headsWithin(attention.kind(state.kind)));
    else if (!tile) this.point(null);
    if (tile) this.readOut(attention.headText(tile.group.name, tile));
  }

  // Mark {row, column}, one of them, or null in all views.
  point(pointed) {
    if (!this.shown) return;
    this.pointed = pointed;
    this.describePointed(pointed);
    if (this.shown.isEmpty) return;
    if (this.state.view === "map") this.map.show(pointed);
    else this.lines.show(pointed);
  }

  // Read out the pointed cell or token, else the chosen tokens, else the largest weight of the map.
  describePointed(pointed) {
    const { shown, state } = this, chosen = chosenIndexes(shown, state);
    if (shown.isEmpty) return this.readOut("");
    if (!pointed) return this.readOut(chosen.length ? shown.tokensText(state.side, chosen) : this.largestText());
    const { row, column } = pointed;
    if (row === undefined) this.readOut(shown.tokensText("keys", [column]));
    else if (column === undefined) this.readOut(shown.tokensText("queries", [row]));
    else this.readOut(shown.cellText(row, column));
  }

  largestText() {
    const { shown } = this, row = Math.floor(shown.values.indexOf(shown.largest) / shown.columns.length);
    return largestText(shown.cellText(row, shown.largestOfRow(row)));
  }

  readOut(text) {
    this.find(".readout").textContent = inWords(text);
  }

  showControls(kind) {
    const { state, attention } = this, { sort } = state;
    for (const name of ["kind", "view"]) {
      for (const button of this.root.querySelectorAll(`[data-${name}]`)) {
        button.setAttribute("aria-pressed", button.dataset[name] === state[name]);
      }
    }
    for (const input of this.root.querySelectorAll("[name]")) input.value = state[input.name];
    for (const option of this.find("[name=sort]").options) {
      option.disabled = option.value !== "layer" && !kind.measures[option.value];
    }
    this.find(".clear").disabled = !state.tokens.length && state.heads.length === 1;
    this.find(".naming").hidden = !kind.predicts;
    for (const each of this.root.querySelectorAll("[data-kind]")) each.hidden = !attention.ofKind[each.dataset.kind];
    for (const each of ["div.kinds", "label.kinds"]) this.find(each).hidden = attention.kinds.length === 1;
    this.find(".explanation").textContent = kindText(kind);
    this.find(".top_value").textContent = state.top === 100 ? say("all") : say("top", { share: state.top });
    this.find(".least").hidden = !kind.measures[sort];
    if (kind.measures[sort]) {
      const limit = limitOf(attention, state.kind, state);
      this.find(".least span").textContent = limitText(sort);
      this.find(".least_value").textContent = limit === null ? say("any") : measureText(sort, limit);
    }
    const members = findHeads(attention, state.kind, state), left = members.filter(({ fits }) => fits).length;
    const fitting = left < members.length && say("fitting", { fitting: left, heads: members.length });
    this.find(".count").textContent = fitting || say(press() === "tap" ? "tap" : "click");
    if (this.looked !== kind) this.showLooks(kind);
  }

  // Once a kind of a sentence: a button that is focused stays where it is.
  showLooks(kind) {
    this.looked = kind;
    const items = this.attention.looks(this.state.kind).map(({ head, text }) => {
      return element("li", "", headButton(this.state, head, text));
    });
    this.find(".look").replaceChildren(...items);
    Object.assign(this.find(".looks"), { textContent: say(`worth_${items.length}`), hidden: !items.length });
  }
}

// Close details over the page on Escape and on a click elsewhere.
function closeElsewhere(details, component) {
  details.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !details.open) return;
    event.stopPropagation(); // what is chosen stays
    details.open = false;
    details.querySelector("summary").focus();
  });
  component.listen(document, "pointerdown", (event) => {
    if (!event.composedPath().includes(details)) details.open = false;
  });
}

export default mounted(Explorer);
