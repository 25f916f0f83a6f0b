// The steps of one attention block, linked by what is chosen: a query, a key, a dimension. All matrices come from Python;
// here they are drawn, and the sum behind a cell is written out. Token text is hostile until it is set as text.

const TELL_AFTER = 350; // ms after the last choice, so that moving quickly asks the server once
const NEAR = 300; // pixels above and below what is in sight
const LEAST_WORDS = 400; // pixels: words stand beside a map that leaves them as much
const NEURONS = { products: "Neuron view: one query against all keys", values: "The weighted average, dimension by dimension" };

class Steps {
  constructor(root) {
    this.root = root;
    this.find = (selector) => root.querySelector(selector);
    this.drawn = []; // {matrix, panel, entry}
    this.resized = new ResizeObserver(() => this.data && this.width !== this.list.clientWidth && this.draw());
    this.list = this.find(".steps");
    this.resized.observe(this.list);
    this.find(".dimension input").onchange = (event) => this.chooseOnly({ dimension: event.target.valueAsNumber - 1 });
  }

  receive(data) {
    const other = this.data?.id !== data.id || this.data.head !== data.head;
    this.data = data;
    this.grids = Object.fromEntries(Object.entries(data.arrays).map(([name, array]) => [name, Grid.from(array)]));
    this.sums = new Sums(data, this.grids);
    if (data.turn !== this.turn || other || !this.chosen) this.take(data.chosen);
    this.turn = data.turn;
    this.layOutChooser();
    this.layOutSteps();
    this.draw();
  }

  leave() {
    clearTimeout(this.telling);
    clearTimeout(this.later);
    this.resized.disconnect();
  }

  // What is chosen

  take([query, key, dimension]) {
    this.chosen = this.inside({ query: query - 1, key: key - 1, dimension: dimension - 1 });
    this.told = [query, key, dimension].join();
  }

  inside({ query, key, dimension }) {
    const within = (value, count) => Math.min(Math.max(0, Number.isFinite(value) ? value : 0), count - 1);
    const { queries, keys } = this.data;
    return {
      query: within(query, queries.length), key: within(key, keys.length),
      dimension: within(dimension, this.grids.query.columns),
    };
  }

  chooseOnly(some) {
    this.chosen = this.inside({ ...this.chosen, ...some });
    this.draw();
    clearTimeout(this.telling);
    this.telling = setTimeout(() => {
      const told = [this.chosen.query + 1, this.chosen.key + 1, this.chosen.dimension + 1];
      if (told.join() !== this.told) this.setTriggerValue("choice", told);
      this.told = told.join();
    }, TELL_AFTER);
  }

  // A cell of a panel as what it stands for.
  standsFor(panel, { row, column }) {
    const some = {};
    if (panel.rows === "queries") some.query = row;
    if (panel.rows === "keys") some.key = row;
    if (panel.columns === "keys") some.key = column;
    if (panel.columns === "model") some.dimension = column;
    if (panel.columns === "head") some.dimension = this.data.head * this.data.d_k + column;
    return some;
  }

  // The chosen cell of a panel; -1 where the chosen dimension is another head's.
  cellIn(panel) {
    const { query, key, dimension } = this.chosen, { head, d_k } = this.data;
    const row = { queries: query, keys: key, query: 0 }[panel.rows];
    const inside = dimension - head * d_k;
    const column = { keys: key, model: dimension, head: inside >= 0 && inside < d_k ? inside : -1 }[panel.columns];
    return { row, column };
  }

  layOutChooser() {
    const { queries, keys } = this.data;
    this.find(".chooser").hidden = false;
    this.find(".dimension input").max = this.grids.query.columns;
    const group = (place, name, tokens, choose) => {
      const heading = element("span", "name", name);
      const buttons = tokens.map((token, index) => {
        const button = element("button", "token", token);
        button.onclick = () => choose(index);
        return button;
      });
      place.replaceChildren(heading, ...buttons);
    };
    const tokens = JSON.stringify([queries, keys]);
    if (tokens === this.tokens) return;
    this.tokens = tokens;
    group(this.find(".queries"), "Query", queries, (query) => this.chooseOnly({ query }));
    group(this.find(".keys"), "Key", keys, (key) => this.chooseOnly({ key }));
  }

  // The steps

  layOutSteps() {
    const order = this.data.steps.map(({ name }) => name).join();
    if (order !== this.order) {
      this.order = order;
      this.entries = this.data.steps.map((step) => new Entry(step.name));
      this.list.replaceChildren(...this.entries.map(({ item }) => item));
      this.drawn = [];
    }
    this.entries.forEach((entry, index) => entry.say(this.data.steps[index]));
  }

  // The steps in sight at once, the others right after them, one by one: there may be twenty large matrices.
  draw() {
    this.width = this.list.clientWidth;
    if (!this.width) return;
    const inSight = ({ item }) => {
      const { top, bottom } = item.getBoundingClientRect();
      return bottom > -NEAR && top < innerHeight + NEAR;
    };
    const near = this.entries.map(inSight), places = [...near.keys()];
    this.markChosen();
    this.list.removeAttribute("data-drawn");
    places.filter((place) => near[place]).forEach((place) => this.drawStep(place));
    this.drawLater(places.filter((place) => !near[place]));
  }

  drawLater([place, ...others]) {
    clearTimeout(this.later);
    if (place === undefined) return this.list.setAttribute("data-drawn", "");
    this.later = setTimeout(() => {
      this.drawStep(place);
      this.drawLater(others);
    });
  }

  drawStep(place) {
    const entry = this.entries[place], step = this.data.steps[place];
    const groups = [panelsOf(step, this.data, this.grids), neuronsOf(step.name, this.data, this.grids, this.chosen.query)];
    groups.forEach((panels, group) => this.drawPanels(entry, group, panels, this.width));
    this.tell(entry, null);
  }

  markChosen() {
    const mark = (place, chosen) => this.root.querySelectorAll(`${place} button`).forEach((button, index) => {
      button.setAttribute("aria-pressed", index === chosen);
    });
    mark(".queries", this.chosen.query);
    mark(".keys", this.chosen.key);
    this.find(".dimension input").value = this.chosen.dimension + 1;
  }

  drawPanels(entry, place, panels, width) {
    entry.makeRoom(place, panels.length, (matrixEntry, index) => ({
      look: (cell) => this.tell(entry, cell && { place, index, cell }),
      choose: (cell) => this.clicked(entry, entry.panels[place][index], cell),
    }));
    entry.panels[place] = panels;
    panels.forEach((panel, index) => entry.shown[place][index].draw(this.picture(panel), this.cellIn(panel), width, panel));
    const small = panels.length === 1 && panels[0].columns === "keys" && entry.shown[place][0].matrix.width + LEAST_WORDS < width;
    if (place === 0) entry.item.classList.toggle("beside", small);
  }

  picture(panel) {
    const { queries, keys } = this.data;
    const rows = { queries, keys, query: [queries[this.chosen.query]] }[panel.rows];
    const columns = panel.columns === "keys" ? keys : null;
    const name = panel.text ?? panel.symbol.replace(/<[^>]*>/g, "");
    const label = `${name}: ${rows.length} rows, ${panel.grid.columns} columns. Arrow keys move, Enter chooses.`;
    return {
      grid: panel.grid, rows, columns, scale: panel.scale, closed: panel.closed, frame: panel.frame, start: panel.start,
      reach: panel.reach, named: Math.max(labelWidth(queries), labelWidth(keys)), notes: panel.notes ? rows.map((_, row) => panel.notes(row)) : null, square: columns !== null, label,
    };
  }

  clicked(entry, panel, cell) {
    if (this.data.editable && entry.name === "mask") this.setTriggerValue("mask", [cell.row + 1, cell.column + 1]);
    this.chooseOnly(this.standsFor(panel, cell));
  }

  // Write out the sum of the cell that is pointed at; otherwise of the chosen one in the step's first matrix.
  tell(entry, found) {
    const { place, index, cell } = found ?? { place: 0, index: 0, cell: null };
    const panel = entry.panels[place][index], { row, column } = cell ?? this.cellIn(panel);
    if (row < 0 || column < 0) return entry.byHand(`Dimension ${this.chosen.dimension + 1} is another head's.`);
    entry.byHand(sumWords(this.sums.of(panel, row, column), `${this.data.whose} has`));
  }
}

// One step on the page.
class Entry {
  constructor(name) {
    this.name = name;
    this.item = element("li", `step ${name}`);
    this.parts = Object.fromEntries(["shape", "why", "hand", "see", "gap"].map((part) => [part, element("p", part)]));
    this.title = element("h3");
    this.formula = element("p", "formula");
    this.places = [element("div", "panels"), element("div", "panels neurons")];
    this.panels = [[], []];
    this.shown = [[], []];
    const { shape, why, hand, see, gap } = this.parts;
    hand.setAttribute("aria-live", "polite");
    this.item.append(this.title, this.formula, shape, why, this.places[0], hand, see, gap);
    if (NEURONS[name]) this.item.insertBefore(this.places[1], see), this.item.insertBefore(element("h4", "", NEURONS[name]), this.places[1]);
  }

  say(step) {
    this.title.textContent = step.title;
    formula(this.formula, step.formula);
    for (const part of ["shape", "why", "see"]) this.parts[part].textContent = step[part];
    this.parts.gap.textContent = step.gap === null ? "" : `Recomputed in float64 from X on: largest difference ${tiny(step.gap)}.`;
  }

  byHand(text) {
    if (this.parts.hand.textContent !== text) this.parts.hand.textContent = text;
  }

  makeRoom(place, count, hear) {
    if (this.shown[place].length === count) return;
    this.shown[place] = Array.from({ length: count }, (_, index) => new Figure(hear(this, index)));
    this.places[place].replaceChildren(...this.shown[place].map(({ figure }) => figure));
  }
}

// A matrix with its name and the range of its colours.
class Figure {
  constructor({ look, choose }) {
    this.figure = element("figure");
    this.caption = element("figcaption");
    this.scroller = element("div", "scroller");
    this.cursor = element("i", "cursor");
    const canvas = element("canvas");
    this.scroller.append(canvas, this.cursor);
    this.figure.append(this.caption, this.scroller);
    this.matrix = new Matrix(canvas, {
      choose,
      look: (cell) => {
        this.frame(cell);
        look(cell);
      },
    });
  }

  draw(picture, chosen, width, panel) {
    this.matrix.draw(picture, chosen, width);
    const range = panel.scale === "weights" ? "0 to 1" : `${MINUS}${number(this.matrix.shown, 2)} (blue) to ${number(this.matrix.shown, 2)} (orange)`;
    if (panel.text) this.caption.textContent = panel.text;
    else formula(this.caption, panel.symbol);
    this.caption.append(element("small", "", ` ${picture.grid.rows} × ${picture.grid.columns}, colours ${range}`));
    this.frame(this.matrix.under);
  }

  frame(cell) {
    this.cursor.hidden = !cell;
    if (!cell) return;
    const { left, top, wide, high } = this.matrix;
    Object.assign(this.cursor.style, {
      left: `${left + cell.column * wide - 1}px`, top: `${top + cell.row * high - 1}px`, width: `${Math.max(4, wide) + 2}px`, height: `${high + 2}px`,
    });
  }
}

export default mounted(Steps);
