// The steps of one attention block, linked by the chosen query, key and dimension: matrices, and the sum behind a cell,
// drawn from the facts of the block (see story.js). Token text is hostile until it is set as text.

import { offerPicture } from "../export/capture.js";
import { JOINT, button, element, prepare, setFormula } from "../lib/canvas.js";
import { decodeFacts } from "../lib/facts.js";
import { number } from "../lib/format.js";
import { Heatmap } from "../lib/heatmap.js";
import { Component, mounted } from "../lib/mount.js";
import { windowHeight } from "../lib/screen.js";
import { chipText, inWords, joined, spoken, wordRanges } from "../lib/tokens.js";
import { changesBetween } from "./changes.js";
import {
  FEW_COLUMNS, cellIn, inputsOf, isCut, isWide, neuronsOf, panelsOf, pictureOf, plainSymbol, stripOf, windowOf,
} from "./panels.js";
import { figureOf } from "./picture.js";
import { Rail } from "./rail.js";
import { ALL, choiceOf, dimensionsOf, storyOf } from "./story.js";
import { Sums, sumText } from "./sums.js";
import { say } from "./texts.toml";
import { workedCell } from "./worked.js";

const NEAR = 300; // pixels above and below what is in sight
const LEAST_TEXT = 360; // pixels: text stands beside a map that leaves it as much
const SCROLLS_FROM = 500; // pixels of a matrix that scrolls in its own place
const OWN = 0, NEURONS = 1, INPUTS = 2; // the groups of a step's panels
const AROUND = 430, LEAST_MAP = 130, MOST_MAP = 260; // pixels: what of a window is not for a map between tokens
const NARROW = 760; // pixels of the whole: the steps' numbers stand in a row above them
const FIRST_DIMENSIONS = 8; // drawn of a matrix with many, until all are asked for
const INPUTS_BELOW = "products"; // the step with its inputs in the neuron view
const TEXTS = ["shape", "purpose", "finding", "gap"]; // of a step
const LEAST_WIDTH = 440, EDGE = 2, INPUTS_SHARE = 0.4, GAP = 16; // of a step whose inputs stand on its left
const NEURON_VIEWS = { products: say("neuron_products"), values: say("neuron_values") };

class Steps extends Component {
  constructor(root) {
    super(root);
    this.list = this.find(".steps");
    this.whenResized(this.list, () => this.data && this.width !== this.list.clientWidth && this.draw());
    this.ends.push(() => clearTimeout(this.later));
    this.find(".dimension input").onchange = (event) => this.chooseOnly({ dimension: event.target.valueAsNumber - 1 });
    this.limit = FIRST_DIMENSIONS;
    this.find(".whole").onclick = () => this.switchDimensions();
    this.rail = new Rail(this.find(".rail"), (step) => this.chooseOnly({ step }));
  }

  // { facts, chosen: texts of query, key, dimension and step, turn, editable }: see story.js.
  receive({ facts, chosen, turn, editable = false }) {
    const before = this.data, data = storyOf(decodeFacts(facts), editable);
    const isOther = ["kind", "layer", "sentence", "head"].some((name) => before?.[name] !== data[name]);
    const changes = editable && !isOther ? changesBetween(before.grids, data.grids) ?? this.changes : {};
    Object.assign(this, { data, changes, sums: new Sums(data) });
    const dimension = this.chosen?.dimension;
    if (turn !== this.turn || !this.chosen) this.take(chosen);
    else this.chosen = choiceOf(this.choice, data);
    this.turn = turn;
    this.layOutChooser();
    this.layOutSteps();
    this.draw();
    if (before && dimension === this.chosen.dimension) this.goAlong(before);
  }

  // All dimensions of every matrix, or the first few.
  switchDimensions() {
    this.limit = this.limit === Infinity ? FIRST_DIMENSIONS : Infinity;
    this.find(".whole").setAttribute("aria-pressed", this.limit === Infinity);
    this.draw();
  }

  // With another head goes the chosen dimension, if it was one of the head before.
  goAlong({ head, headSize }) {
    const { dimension } = this.chosen, by = (this.data.head - head) * headSize;
    if (by && Math.floor(dimension / headSize) === head) this.chooseOnly({ dimension: dimension + by });
  }

  // The choice

  take(chosen) {
    this.chosen = choiceOf(chosen, this.data);
    this.echo.forget();
    this.echo.isNews(this.choice.join());
  }

  chooseOnly(some) {
    this.chosen = { ...this.chosen, ...some };
    this.chosen = choiceOf(this.choice, this.data);
    this.draw();
    this.echo.later(() => {
      if (this.echo.isWorthReporting(this.choice.join())) this.setTriggerValue("choice", this.choice);
    });
  }

  // As an address has it, which leaves out the first step.
  get choice() {
    const { query, key, dimension, step } = this.chosen;
    return [...[query, key, dimension].map((at) => String(at + 1)), step === this.data.start ? "" : step];
  }

  // A cell of a panel as what it stands for.
  standsFor(panel, { row, column }) {
    const dimension = panel.columns === "head" ? this.data.head * this.data.headSize + column : column;
    const byRow = { queries: { query: row }, keys: { key: row } }[panel.rows];
    return { ...byRow, ...(panel.columns === "keys" ? { key: column } : { dimension }) };
  }

  layOutChooser() {
    const { queries, keys } = this.data;
    this.find(".chooser").hidden = false;
    const dimensions = dimensionsOf(this.data);
    this.find(".dimension input").max = dimensions;
    this.find(".whole").hidden = dimensions <= FEW_COLUMNS;
    const tokens = JSON.stringify([queries, keys]);
    if (tokens === this.tokens) return;
    this.tokens = tokens;
    const group = (place, name, tokens, choose) => {
      const firsts = tokens.map((token) => token.split(JOINT)[0]); // of two, what the query is made of
      const buttons = tokens.map((token, index) => {
        const chip = button(chipText(firsts[index]), () => choose(index), "token");
        return Object.assign(chip, { ariaLabel: spoken(token) });
      });
      const isMadeUp = firsts.some((token) => token.includes(" ")); // "token 1"
      place.replaceChildren(element("span", "name", name), ...joined(buttons, isMadeUp ? [] : wordRanges(firsts)));
    };
    group(this.find(".queries"), say("query"), queries, (query) => this.chooseOnly({ query }));
    group(this.find(".keys"), say("key"), keys, (key) => this.chooseOnly({ key }));
  }

  // The steps

  layOutSteps() {
    const order = this.data.steps.map(({ name }) => name).join();
    if (order !== this.order) {
      this.order = order;
      this.entries = this.data.steps.map((step, index) => new Entry(step.name, this.download(index)));
      this.list.replaceChildren(...this.entries.map(({ item }) => item));
    }
    this.entries.forEach((entry, index) => entry.describe(this.data.steps[index], index + 1));
    this.rail.layOut(this.data.steps);
  }

  download(index) {
    const figure = () => figureOf({ data: this.data, chosen: this.chosen, step: this.data.steps[index] });
    const elements = () => [...this.entries[index].item.querySelectorAll(".equation, .maps")];
    return offerPicture("", figure, this.find(".player"), elements, () => this.drawStep(index));
  }

  // The steps in sight at once, the others right after them, one by one: there may be twenty large matrices.
  draw() {
    const frame = this.find(".player");
    frame.classList.toggle("narrow", frame.clientWidth < NARROW);
    this.width = this.list.clientWidth;
    if (!this.width) return;
    this.rail.mark(this.chosen.step);
    this.entries.forEach(({ name, item }) => (item.hidden = ![ALL, name].includes(this.chosen.step)));
    const inSight = ({ item }) => {
      const { top, bottom } = item.getBoundingClientRect();
      return bottom > -NEAR && top < innerHeight + NEAR;
    };
    const shown = [...this.entries.keys()].filter((index) => !this.entries[index].item.hidden);
    const near = this.entries.map(inSight);
    this.markChosen();
    this.list.removeAttribute("data-drawn");
    shown.filter((index) => near[index]).forEach((index) => this.drawStep(index));
    this.drawLater(shown.filter((index) => !near[index]));
  }

  drawLater([index, ...others]) {
    clearTimeout(this.later);
    if (index === undefined) return this.list.setAttribute("data-drawn", "");
    this.later = setTimeout(() => {
      this.drawStep(index);
      this.drawLater(others);
    });
  }

  drawStep(index) {
    const { data } = this, entry = this.entries[index], step = data.steps[index];
    const hasInputs = this.chosen.step !== ALL && step.name !== INPUTS_BELOW;
    const inputs = hasInputs ? inputsOf(step, data) : [];
    const panels = panelsOf(step, data), wide = [...inputs, ...panels].some(isWide);
    entry.item.classList.toggle("wide", wide);
    entry.item.classList.toggle("from_inputs", inputs.length > 0 && !wide && this.width > LEAST_WIDTH);
    this.drawPanels(entry, INPUTS, inputs);
    this.drawPanels(entry, OWN, panels);
    this.drawPanels(entry, NEURONS, neuronsOf(step.name, data, this.chosen.query));
    this.writeSum(entry, null);
  }

  markChosen() {
    const mark = (place, chosen) => this.root.querySelectorAll(`${place} button`).forEach((button, index) => {
      button.setAttribute("aria-pressed", index === chosen);
    });
    mark(".queries", this.chosen.query);
    mark(".keys", this.chosen.key);
    this.find(".dimension input").value = this.chosen.dimension + 1;
  }

  // The pixels that a group of panels has.
  widthOf(entry, group) {
    const width = this.width - EDGE;
    if (!entry.item.classList.contains("from_inputs") || group === NEURONS) return width;
    return group === INPUTS ? width * INPUTS_SHARE - GAP : width * (1 - INPUTS_SHARE) - GAP;
  }

  drawPanels(entry, group, panels) {
    entry.makeRoom(group, panels.length, (index) => ({
      point: (cell) => this.writeSum(entry, cell && { group, index, cell }),
      choose: (cell) => this.clicked(entry, entry.panels[group][index], cell),
    }));
    const width = this.widthOf(entry, group);
    entry.panels[group] = panels.map((panel) => ({ ...panel, ...this.windowAndMarks(panel, width) }));
    entry.panels[group].forEach((panel, index) => {
      const most = this.chosen.step === ALL ? Infinity : this.mostHigh;
      const picture = pictureOf(panel, this.data, width, most);
      entry.figures[group][index].draw(panel, picture, cellIn(panel, this.chosen, this.data));
    });
    if (group !== OWN) return;
    const small = panels.length === 1 && panels[0].columns === "keys";
    const { geometry } = entry.figures[OWN][0].heatmap;
    const alone = !entry.item.classList.contains("from_inputs");
    entry.item.classList.toggle("beside", alone && small && geometry.width + LEAST_TEXT < this.width);
  }

  // The part of a panel that is drawn, and its changes by the last edit.
  windowAndMarks(panel, width) {
    const places = this.changes[panel.array], { columns } = panel.grid;
    const marked = places ? (row, column) => places.has(row * columns + column) : null;
    return { window: windowOf(panel, this.chosen, this.data, width, this.limit), marked, changes: places?.size ?? 0 };
  }

  // A map of one step is in sight with all that stands above it.
  get mostHigh() {
    return Math.min(MOST_MAP, Math.max(LEAST_MAP, windowHeight(this.list) - AROUND));
  }

  clicked(entry, panel, cell) {
    this.chooseOnly(this.standsFor(panel, cell));
    if (!this.data.editable || entry.name !== "mask") return;
    // In one report with the choice: of two, a busy server would take the later one alone.
    this.echo.cancel();
    this.echo.isWorthReporting(this.choice.join());
    this.setTriggerValue("mask", [cell.row + 1, cell.column + 1, ...this.choice]);
  }

  // Write out the sum of the cell that is pointed at; otherwise of the chosen one in the step's first matrix.
  writeSum(entry, pointed) {
    const { group, index, cell } = pointed ?? { group: OWN, index: 0, cell: null };
    const panel = entry.panels[group][index], { row, column } = cell ?? cellIn(panel, this.chosen, this.data);
    const { hand } = entry.parts, dimension = this.chosen.dimension + 1, { columns } = panel.grid;
    const elsewhere = say(panel.columns === "model" ? "beyond" : "elsewhere", { dimension, columns });
    const sum = row < 0 || column < 0 ? null : this.sums.of(panel, row, column);
    const text = inWords(sum ? sumText(sum, this.data.owner) : elsewhere);
    if (hand.dataset.text === text) return;
    hand.dataset.text = text;
    hand.replaceChildren(...(sum?.terms ? workedCell(sum, this.data.owner) : [text]));
  }
}

// One step on the page.
class Entry {
  constructor(name, download) {
    Object.assign(this, { name, download });
    this.parts = Object.fromEntries(TEXTS.map((part) => [part, element("p", part)]));
    this.parts.hand = element("div", "hand");
    this.title = element("h3");
    this.formula = element("p", "formula");
    this.groups = ["own", "neurons", "inputs"].map((group) => element("div", `panels ${group}`));
    this.panels = [[], [], []];
    this.figures = [[], [], []];
    const { shape, purpose, hand, finding, gap } = this.parts;
    const neurons = NEURON_VIEWS[name] ? [element("h4", "", NEURON_VIEWS[name]), this.groups[NEURONS]] : [];
    hand.setAttribute("aria-live", "polite");
    const maps = element("div", "maps", this.groups[INPUTS], this.groups[OWN]);
    const equation = element("div", "equation", this.formula, shape);
    const heading = element("div", "heading", this.title, download);
    this.item = element("li", `step ${name}`, heading, equation, purpose, maps, hand, finding, ...neurons, gap);
  }

  describe(step, number) {
    this.title.replaceChildren(element("span", "number", number), step.title);
    this.download.setAttribute("aria-label", say("download", { title: step.title }));
    setFormula(this.formula, step.formula);
    for (const part of TEXTS) this.parts[part].textContent = inWords(step[part]);
  }

  makeRoom(group, count, hearing) {
    if (this.figures[group].length === count) return;
    this.figures[group] = Array.from({ length: count }, (_, index) => new Figure(hearing(index)));
    this.groups[group].replaceChildren(...this.figures[group].map(({ figure }) => figure));
  }
}

// A heatmap with its name and the range of its colours; of many dimensions, all of them in a strip above a head's. Its
// cells are those of the whole matrix.
class Figure {
  constructor({ point, choose }) {
    this.caption = element("figcaption");
    this.cursor = element("i", "cursor");
    this.canvas = element("canvas");
    this.strip = element("canvas", "strip");
    this.scroller = element("div", "scroller", this.canvas, this.cursor);
    this.figure = element("figure", "", this.caption, this.scroller);
    this.heatmap = new Heatmap(this.canvas, {
      choose: (cell) => choose(this.inMatrix(cell)),
      point: (cell) => {
        this.frame(cell);
        point(cell && this.inMatrix(cell));
      },
    });
    const ofStrip = ({ column }) => ({ row: this.row, column });
    this.slider = new Heatmap(this.strip, {
      choose: (cell) => choose(ofStrip(cell)), point: (cell) => point(cell && ofStrip(cell)),
    });
    this.canvas.onfocus = () => this.heatmap.pointed || this.heatmap.pointAt(this.chosen);
  }

  inMatrix({ row, column }) {
    return { row: row + this.window.row, column: column + this.window.column };
  }

  // The chosen row and column are framed in the colour of text: other colours are taken by values.
  draw(panel, picture, cell) {
    const { window } = panel, { geometry, limit } = picture, { rows, columns } = panel.grid;
    const within = (at, first, count) => (at >= first && at < first + count ? at - first : -1);
    const row = within(cell.row, window.row, window.rows), column = within(cell.column, window.column, window.columns);
    Object.assign(this, { window, row: cell.row, chosen: { row: Math.max(0, row), column: Math.max(0, column) } });
    if (isCut(panel) && !panel.isBare) this.drawStrip(panel, picture, cell);
    else this.strip.remove();
    const pen = prepare(this.canvas, geometry.width, geometry.height);
    const name = panel.text ?? plainSymbol(panel);
    this.heatmap.draw(pen, picture, say("label", { name, rows, columns }));
    pen.strokeStyle = pen.fillStyle;
    pen.lineWidth = 2;
    if (row >= 0) this.heatmap.frameRow(pen, row);
    pen.setLineDash([3, 2]);
    if (column >= 0) this.heatmap.frameColumn(pen, column);
    pen.setLineDash([]);
    const most = number(limit, 2);
    this.describe(panel, say(picture.signed ? "signed" : "unsigned", { most }));
    this.frame(this.heatmap.pointed);
    if (row >= 0 && geometry.bottom > SCROLLS_FROM) {
      this.scroller.scrollTop = geometry.top + (row + 0.5) * geometry.high - this.scroller.clientHeight / 2;
    }
  }

  // All dimensions of the chosen token, those of the window framed.
  drawStrip(panel, picture, { row }) {
    const strip = stripOf(panel, row, picture), { geometry } = strip, { column, columns } = this.window;
    if (!this.strip.isConnected) this.scroller.before(this.strip);
    const pen = prepare(this.strip, geometry.width, geometry.height), most = panel.grid.columns;
    const name = panel.text ?? plainSymbol(panel), first = column + 1, last = column + columns;
    this.slider.draw(pen, strip, say("strip", { name, dimensions: most, first, last }));
    pen.strokeStyle = pen.fillStyle;
    pen.lineWidth = 2;
    const { left, top, wide, high } = geometry;
    pen.strokeRect(left + column * wide, top, columns * wide, high);
  }

  describe(panel, range) {
    this.caption.hidden = Boolean(panel.isBare);
    if (panel.text) this.caption.textContent = inWords(panel.text);
    else setFormula(this.caption, panel.symbol);
    const { column, columns } = this.window, { grid, changes } = panel;
    const first = panel.first + column, size = { rows: grid.rows, columns: grid.columns };
    const drawn = columns < grid.columns ? say("drawn", { first, last: first + columns - 1 }) : "";
    const edited = changes ? say("edited", { changes }) : "";
    this.caption.append(element("small", "", say("caption", { ...size, drawn, range, edited })));
  }

  frame(cell) {
    this.cursor.hidden = !cell;
    if (!cell) return;
    const { left, top, wide, high } = this.heatmap.geometry;
    Object.assign(this.cursor.style, {
      left: `${left + cell.column * wide - 1}px`, top: `${top + cell.row * high - 1}px`,
      width: `${Math.max(4, wide) + 2}px`, height: `${high + 2}px`,
    });
  }
}

export default mounted(Steps);
