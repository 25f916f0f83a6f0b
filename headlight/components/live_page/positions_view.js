// The view of positions: why the order of words needs them, and the model's own waves.

import { element, setAttributes, svgElement } from "../lib/canvas.js";
import { HEADS } from "../lib/colours.js";
import { shownToken } from "../lib/tokens.js";
import { Choices, MapFigure } from "./maps.js";
import {
  cosines, describeCurves, describeLearned, describeMatrix, describeOrder, describeProducts, describeSize, dimensionsIn,
  dotProducts, encodingOf, exchanged, hasFormula, plainest, scaleLimit, sharedTokens,
} from "./payloads/positions.js";
import { filled, quoted, signed } from "./payloads/text.js";
import { View, finding } from "./views.js";

const MOST_COPIES = 2, DIMENSIONS_OF_COPIES = 32; // as in headlight/views/positions/content.py
const FIGURES = 3, HIGH = 300, LEFT = 34, TOP = 8, BELOW = 36;

export class Positions extends View {
  constructor(given) {
    super(given);
    this.told = this.words.positions;
    this.choices = new Choices(this.find(".choices"), (changes) => this.say(changes));
    this.figures = Array.from({ length: FIGURES }, () => new MapFigure());
    this.curves = element("div", "curves_of_positions");
    this.find(".maps").append(this.curves, ...this.figures.map(({ figure }) => figure));
    new ResizeObserver(() => this.redraw?.()).observe(this.curves);
  }

  async show({ text, trace, said, isCurrent, tell }) {
    const { views, words, labels } = this.told, { config } = this.source.model;
    const view = views.includes(said.positions) ? said.positions : views[0], isOrder = view === views[0];
    const other = said.reordered || exchanged(text);
    const tables = isOrder ? null : await this.source.positions();
    const order = isOrder ? await this.orderOf(trace, other, tell) : null;
    if (!isCurrent() || (isOrder && !order)) return;
    const usual = this.told.dims.join("."), isCurves = view === "curves" && hasFormula(config);
    this.choices.show([
      { name: "positions", label: labels.positions, options: views.map((each) => [each, each]), value: view, first: views[0] },
      ...(isOrder ? [{ name: "reordered", label: words.reordered, options: null, value: other, first: exchanged(text) }] : []),
      ...(isCurves ? [{ name: "dims", label: labels.dims, options: null, value: said.dims || usual, first: usual }] : []),
    ]);
    this.redraw = null;
    this.find(".sizes").textContent = "";
    this.find(".pairs").replaceChildren();
    if (isOrder) this.showOrder(trace, order);
    else if (hasFormula(config)) this.showEncoding(view, tables, said);
    else if (config.positions === "learned") this.showLearned(view === "similarity", tables);
    else this.draw([], { headline: words.no_positions, more: words.no_positions_more }, []);
  }

  draw(maps, found, notes, curves = null) {
    this.curves.hidden = !curves;
    this.curves.replaceChildren(...(curves ? [curves] : []));
    this.figures.forEach((figure, at) => {
      figure.figure.hidden = !maps[at];
      if (maps[at]) figure.show(maps[at]);
    });
    this.find(".maps").style.setProperty("--maps", maps.length || 1);
    this.find(".findings").replaceChildren(finding(found), ...notes.map((note) => element("p", "", note)));
  }

  // The other sentence's trace, and what enters the encoder for both; null where it cannot be read, which is told.
  async orderOf(trace, text, tell) {
    try {
      const other = await this.source.trace(text, {}, "second");
      const sums = [await this.source.entering(trace.sourceText), await this.source.entering(text)];
      return { other, sums };
    } catch (error) {
      if (error.name !== "GivenUp") tell(error.message);
      return null;
    }
  }

  showOrder(trace, { other, sums: [one, two] }) {
    const { words, parts, labels } = this.told, { config } = this.source.model, none = config.positions === "none";
    const translations = [trace, other].map(({ targetText }) => targetText);
    const found = describeOrder(one, two, translations, none, words);
    const copies = plainest(sharedTokens(one, two)).slice(0, MOST_COPIES), d = one.total.length / one.tokens.length;
    const rows = copies.flatMap((copy) => [[copy.token, one, copy.first], [copy.token, two, copy.second]]);
    const many = Math.min(DIMENSIONS_OF_COPIES, d);
    const cut = (name) => rows.map(([, sum, at]) => sum[name].subarray(at * d, at * d + many));
    const blocks = ["embeddings", "positions", "total"].map(cut), limit = scaleLimit(blocks.flat()) || 1;
    const names = rows.map(([token, , at]) => `${shownToken(token)} ${at}`);
    const maps = blocks.map((values, at) => ({
      title: parts[at], rows: names, columns: many, limit, signed: true, plain: true,
      at: (row, column) => values[row][column],
      told: (row, column) => filled(labels.copy, {
        part: parts[at], token: quoted(rows[row][0]), place: rows[row][2], dimension: column,
        value: signed(values[row][column], 4),
      }),
    }));
    this.find(".pairs").replaceChildren(...[trace, other].map((each, at) => element(
      "p", "", element("span", "", each.sourceText), " → ", element("strong", "", translations[at] || this.words.nothing), ` ${words.without}: `,
      element("strong", "", [one, two][at].withoutPositions || this.words.nothing),
    )));
    if (maps.length && copies.length) maps[1].caption = `${words.copies}: ${words.copies_more}`;
    this.draw(copies.length ? maps : [], { ...found, attempt: words.order_try }, [words.why.replace(/:$/, ".")]);
  }

  showEncoding(view, tables, said) {
    const { words, length, still, dims } = this.told, { config } = this.source.model;
    const encoding = encodingOf(config, tables.encoder, length), notes = [];
    this.find(".sizes").textContent = describeSize(encoding, words);
    if (encoding.first) notes.push(filled(words.first_position, { first: encoding.first }));
    if (config.positions === "multiplied") notes.push(words.multiplied);
    if (view === "curves") {
      const dimensions = dimensionsIn(said.dims, encoding, dims), found = describeCurves(encoding, dimensions, words);
      const drawn = () => curvesOf(encoding, dimensions, this.curves.clientWidth, this.told.labels);
      this.draw([], found, [words.pairs, words.joined, ...notes], element("div"));
      this.redraw = () => {
        if (this.curves.clientWidth === this.width) return;
        this.width = this.curves.clientWidth;
        this.curves.replaceChildren(drawn());
      };
      this.width = null;
      this.redraw();
    } else if (view === "matrix") {
      const map = this.tableMap(words.matrix, encoding.table, encoding.d, 1);
      this.draw([map], describeMatrix(encoding, still, words), notes);
    } else {
      const products = dotProducts(encoding), limit = products.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
      const map = this.pairsMap(words.similarity, products, encoding.length, limit);
      this.draw([map], describeProducts(products, words), notes);
    }
  }

  showLearned(similar, tables) {
    const { words, length } = this.told, { d_model: d } = this.source.model.config, all = tables.encoder.length / d;
    const shown = Object.fromEntries(Object.entries(tables).map(([stack, table]) => [stack, table.subarray(0, length * d)]));
    const maps = Object.entries(shown).map(([stack, table]) => {
      if (similar) return this.pairsMap(stack, cosines(table, d), table.length / d, 1);
      return this.tableMap(stack, table, d, table.reduce((most, value) => Math.max(most, Math.abs(value)), 0) || 1);
    });
    this.draw(maps, describeLearned(shown, d, all, similar, words), []);
  }

  tableMap(title, table, d, limit) {
    const { labels } = this.told, at = (row, column) => table[row * d + column];
    return {
      title, rows: table.length / d, columns: d, limit, signed: true, plain: true, at,
      told: (row, dimension) => filled(labels.cell, { row, dimension, value: signed(at(row, dimension), 4) }),
    };
  }

  pairsMap(title, values, count, limit) {
    const { labels } = this.told, at = (row, column) => values[row * count + column];
    return {
      title, rows: count, columns: count, limit, signed: true, plain: true, at,
      told: (p, q) => filled(labels.pair, { p, q, value: signed(at(p, q), 3) }),
    };
  }
}

// Some dimensions over position as lines; the two of a pair have one colour, the cosine is dashed.
function curvesOf({ table, d, length }, dimensions, width, labels) {
  const wide = Math.max(1, width - LEFT - 8), high = HIGH - TOP - BELOW, pairs = dimensions.map((each) => Math.floor(each / 2));
  const x = (position) => LEFT + (position / (length - 1)) * wide, y = (value) => TOP + ((1.08 - value) / 2.16) * high;
  const picture = svgElement("svg", { viewBox: `0 0 ${Math.max(1, width)} ${HIGH}`, role: "img", "aria-label": `${labels.curves} ${dimensions.join(", ")}` });
  const line = (x1, y1, x2, y2) => svgElement("line", { class: "grid", x1, y1, x2, y2 });
  const write = (text, at, below, anchor) => svgElement("text", { x: at, y: below, "text-anchor": anchor }, text);
  for (const value of [-1, 0, 1]) {
    picture.append(line(LEFT, y(value), LEFT + wide, y(value)), write(signed(value, 0), LEFT - 6, y(value) + 4, "end"));
  }
  for (let position = 0; position < length; position += 8) {
    picture.append(write(String(position), x(position), HIGH - BELOW + 16, "middle"));
  }
  picture.append(write(labels.position, LEFT + wide / 2, HIGH - 4, "middle"));
  const unlike = [...new Set(pairs)];
  dimensions.forEach((dimension, at) => {
    const points = Array.from({ length }, (_, position) => {
      return `${x(position).toFixed(1)},${y(table[position * d + dimension]).toFixed(1)}`;
    });
    const drawn = svgElement("polyline", { points: points.join(" "), class: dimension % 2 ? "cosine" : "sine" });
    setAttributes(drawn, { stroke: colourOf(unlike.indexOf(pairs[at])) });
    picture.append(drawn);
  });
  const legend = dimensions.map((dimension, at) => {
    const name = element("span", dimension % 2 ? "cosine" : "", `${dimension} (${dimension % 2 ? labels.cosine : labels.sine})`);
    name.style.borderColor = colourOf(unlike.indexOf(pairs[at]));
    return name;
  });
  return element("div", "", picture, element("p", "key_of_curves", ...legend));
}

const colourOf = (pair) => HEADS[pair % HEADS.length];
