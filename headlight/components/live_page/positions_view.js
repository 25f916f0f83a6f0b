// The view of positions: why the order of words needs them, and the model's own waves.

import { element } from "../lib/canvas.js";
import { HEADS } from "../lib/colours.js";
import { shownToken } from "../lib/tokens.js";
import { drawLines } from "./lines.js";
import { Choices, MapFigure } from "./maps.js";
import {
  cosines, describeCurves, describeLearned, describeMatrix, describeOrder, describeProducts, describeSize, dimensionsIn,
  distanceMeans, dotProducts, encodingOf, exchanged, hasFormula, plainest, scaleLimit, sharedTokens,
} from "./payloads/positions.js";
import { filled, quoted, signed } from "./payloads/text.js";
import { View, finding } from "./views.js";

const MOST_COPIES = 2, DIMENSIONS_OF_COPIES = 32; // as in headlight/views/positions/content.py
const FIGURES = 3, EDGE = 1.08; // of the values of waves, so that a line is whole

export class Positions extends View {
  constructor(given) {
    super(given);
    this.told = this.words.positions;
    this.choices = new Choices(this.find(".choices"), (changes) => this.say(changes));
    this.figures = Array.from({ length: FIGURES }, () => new MapFigure());
    this.curves = element("div", "lines");
    this.find(".maps").append(...this.figures.map(({ figure }) => figure), this.curves);
    new ResizeObserver(() => this.drawLines()).observe(this.curves);
  }

  async show({ text, trace, said, isCurrent, tell }) {
    const { views, words, labels } = this.told, { config } = this.source.model;
    const view = views.includes(said.positions) ? said.positions : views[0], isOrder = view === views[0];
    const other = said.reordered || exchanged(text);
    const tables = isOrder ? null : await this.source.positions();
    const order = isOrder ? await this.orderOf(trace, other, tell) : null;
    if (!isCurrent() || (isOrder && !order)) return;
    const usual = this.told.dims.join("."), options = views.map((each) => [each, each]);
    const choices = [{ name: "positions", label: labels.positions, options, value: view, first: views[0] }];
    const offer = (name, label, value, first) => choices.push({ name, label, options: null, value, first });
    if (isOrder) offer("reordered", words.reordered, other, exchanged(text));
    if (view === "curves" && hasFormula(config)) offer("dims", labels.dims, said.dims || usual, usual);
    this.choices.show(choices);
    this.find(".sizes").textContent = "";
    this.find(".pairs").replaceChildren();
    if (isOrder) this.showOrder(trace, order);
    else if (hasFormula(config)) this.showEncoding(view, tables, said);
    else if (config.positions === "learned") this.showLearned(view === "similarity", tables);
    else this.draw([], { headline: words.no_positions, more: words.no_positions_more }, []);
  }

  // Maps and lines beside one another, and below what they say.
  draw(maps, found, notes, lines = null) {
    this.lines = lines;
    this.curves.hidden = !lines;
    this.find(".maps").style.setProperty("--maps", maps.length + Number(Boolean(lines)) || 1);
    this.figures.forEach((figure, at) => figure.show(maps[at]));
    this.width = null;
    this.drawLines();
    this.find(".findings").replaceChildren(finding(found), ...notes.map((note) => element("p", "", note)));
  }

  drawLines() {
    const { lines, curves } = this;
    if (!lines || curves.clientWidth === this.width) return;
    this.width = curves.clientWidth;
    const title = lines.title ? [element("p", "title", lines.title)] : [];
    curves.replaceChildren(...title, ...drawLines(lines, this.width));
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
    const strong = (text) => element("strong", "", text.trim() ? text : this.words.nothing);
    const pair = ({ sourceText }, at) => {
      const without = strong([one, two][at].withoutPositions);
      return element("p", "", sourceText, " → ", strong(translations[at]), ` ${words.without}: `, without);
    };
    this.find(".pairs").replaceChildren(...[trace, other].map(pair));
    this.find(".sizes").textContent = copies.length ? `${words.copies}: ${words.copies_more}` : "";
    this.draw(copies.length ? maps : [], { ...found, attempt: words.order_try }, [words.why.replace(/:$/, ".")]);
  }

  showEncoding(view, tables, said) {
    const { words, labels, length, still, dims } = this.told, { config } = this.source.model;
    const encoding = encodingOf(config, tables.encoder, length), notes = [];
    this.find(".sizes").textContent = describeSize(encoding, words);
    if (encoding.first) notes.push(filled(words.first_position, { first: encoding.first }));
    if (config.positions === "multiplied") notes.push(words.multiplied);
    if (view === "curves") {
      const dimensions = dimensionsIn(said.dims, encoding, dims), found = describeCurves(encoding, dimensions, words);
      const lines = { ...this.wavesOf(encoding, dimensions), label: `${labels.curves} ${dimensions.join(", ")}` };
      this.draw([], found, [words.pairs, words.joined, ...notes], lines);
    } else if (view === "matrix") {
      const map = this.tableMap(words.matrix, encoding.table, encoding.d, 1);
      this.draw([map], describeMatrix(encoding, still, words), notes);
    } else {
      const products = dotProducts(encoding), limit = largest(products);
      const map = this.pairsMap(words.similarity, products, encoding.length, limit);
      const means = distanceMeans(products), values = means.map((mean) => mean / means[0]);
      const low = Math.min(0, ...values), title = `${words.distance}, ${words.distance_more}`;
      const lines = {
        title, series: [{ values, colour: HEADS[0] }], low, high: 1, below: labels.distance, label: title,
        ticks: [0, 0.5, 1].map((each) => [each, String(each)]),
      };
      this.draw([map], describeProducts(products, words), notes, lines);
    }
  }

  // Some dimensions over position; the two of a pair have one colour.
  wavesOf({ table, d, length }, dimensions) {
    const { labels } = this.told, pairOf = (dimension) => Math.floor(dimension / 2);
    const pairs = [...new Set(dimensions.map(pairOf))];
    const series = dimensions.map((dimension) => ({
      name: `${dimension} (${dimension % 2 ? labels.cosine : labels.sine})`, dashed: dimension % 2 === 1,
      values: Array.from({ length }, (_, position) => table[position * d + dimension]),
      colour: HEADS[pairs.indexOf(pairOf(dimension)) % HEADS.length],
    }));
    const ticks = [-1, 0, 1].map((value) => [value, signed(value, 0)]);
    return { series, low: -EDGE, high: EDGE, ticks, below: labels.position };
  }

  showLearned(similar, tables) {
    const { words, length } = this.told, { d_model: d } = this.source.model.config, all = tables.encoder.length / d;
    const first = ([stack, table]) => [stack, table.subarray(0, length * d)];
    const shown = Object.fromEntries(Object.entries(tables).map(first));
    const maps = Object.entries(shown).map(([stack, table]) => {
      if (similar) return this.pairsMap(stack, cosines(table, d), table.length / d, 1);
      return this.tableMap(stack, table, d, largest(table) || 1);
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
      title, rows: count, columns: count, square: true, limit, signed: true, plain: true, at,
      told: (p, q) => filled(labels.pair, { p, q, value: signed(at(p, q), 3) }),
    };
  }
}

const largest = (values) => values.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
