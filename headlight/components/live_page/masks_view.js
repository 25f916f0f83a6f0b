// The view of masks: a batch of the reader's sentence and another one, the masks that it needs, and what one of them
// does to a head.

import { JOINT, element } from "../lib/canvas.js";
import { inWords, shownTokens } from "../lib/tokens.js";
import { placeIn } from "./address.js";
import { Choices, MapFigure, tableOf } from "./maps.js";
import {
  batchOf, describeHead, describeLeak, describeMasks, describeNoPadding, describePredictions, describeSourceMask,
  leakiestHead, maskedHead, masksOf, rowByHand, rowWords, withoutPadding,
} from "./payloads/masks.js";
import {
  chanceWords, filled, fixed, kindHeadName, quoted, sentenceCase, shortWeight, signed,
} from "./payloads/text.js";
import { View, finding } from "./views.js";

const FIRST_ROW = 2; // of those by hand, as in headlight/views/masks/page.py
const FIGURES = 3;

export class Masks extends View {
  constructor(given) {
    super(given);
    this.told = this.words.masks;
    this.choices = new Choices(this.find(".choices"), (changes) => this.say(changes));
    this.figures = Array.from({ length: FIGURES }, () => new MapFigure());
    this.find(".maps").append(...this.figures.map(({ figure }) => figure));
  }

  async show({ text, trace, said, isCurrent, tell }) {
    const { words, second: usual } = this.told, second = said.second || usual;
    let other;
    try {
      other = await this.source.trace(second, {}, "second");
    } catch (error) {
      if (isCurrent() && error.name !== "GivenUp") tell(filled(words.unused_second, { error: error.message }));
      return;
    }
    if (!isCurrent()) return;
    const chosen = this.chosenIn(said), batch = batchOf([trace, other]);
    const kind = this.kindOf(chosen, said);
    const ask = (mask) => this.source.masked(batch, chosen.sentence, mask);
    const mask = chosen.view === "one head" ? maskOf(kind) : chosen.mask;
    const [masked, disabled] = [await ask("nothing"), await ask(mask)];
    if (!isCurrent()) return;
    const head = this.headOf(said, trace, kind, leakiestHead(masked, disabled, batch, kind, chosen.sentence));
    const rows = masked[kind].shape[2], row = placeIn(said.query, rows) ?? Math.min(FIRST_ROW, rows - 1);
    this.shown = { text, batch, ...chosen, mask, kind, head, row, masked, disabled };
    this.offer(said, second);
    const parts = {
      "without the mask": () => this.showWithout(), "the three masks": () => this.showMasks(),
      "one head": () => this.showHead(),
    };
    parts[chosen.view]();
    this.showBatch();
  }

  // What the address says that needs no run.
  chosenIn(said) {
    const { views, disabled } = this.told, oneOf = (value, all) => (all.includes(value) ? value : all[0]);
    const sentence = said.row === "2" ? 1 : 0;
    return { view: oneOf(said.masks, views), sentence, mask: oneOf(said.disabled_mask, disabled) };
  }

  kindOf({ view, mask }, { kind, reader }) {
    const all = Object.keys(this.words.texts.kinds), { readers } = this.told;
    if (view === "one head") return all.includes(kind) ? kind : "decoder";
    if (view !== "without the mask" || mask === "causal") return "decoder";
    return readers.includes(reader) ? reader : "cross";
  }

  headOf(said, trace, kind, leakiest) {
    const { shape } = trace[kind], [layer, head] = [placeIn(said.layer, shape[0]), placeIn(said.head, shape[1])];
    if (layer !== null && head !== null) return { layer, head };
    return leakiest ?? this.head({}, trace);
  }

  offer(said, second) {
    const { views, disabled, readers, labels, second: usual } = this.told, { kinds } = this.words.texts;
    const { view, sentence, mask, kind, head, masked } = this.shown;
    const { shape: [layers, heads, rows] } = masked[kind];
    const same = (values) => values.map((value) => [value, value]);
    const numbers = (count) => same(Array.from({ length: count }, (_, at) => String(at + 1)));
    const placed = { layer: String(head.layer + 1), head: String(head.head + 1) };
    const list = (name, options, value, first) => ({ name, label: labels[name], options, value, first });
    const named = (some) => some.map((each) => [each, kinds[each]]);
    const isHead = view !== "the three masks", isWithout = view === "without the mask";
    this.choices.show([
      list("masks", same(views), view, views[0]),
      ...(isWithout ? [list("disabled_mask", same(disabled), mask, disabled[0])] : []),
      ...(isWithout && mask === "padding" ? [list("reader", named(readers), kind, "cross")] : []),
      ...(view === "one head" ? [list("kind", named(Object.keys(kinds)), kind)] : []),
      ...(isHead ? [list("layer", numbers(layers), placed.layer), list("head", numbers(heads), placed.head)] : []),
      ...(view === "one head" ? [list("query", numbers(rows), String(this.shown.row + 1))] : []),
      list("row", same(["1", "2"]), String(sentence + 1), "1"),
      list("second", null, second, usual),
    ]);
    // Of a layer that is chosen a head is meant, of which the address may say nothing yet.
    this.choices.say = (changes) => {
      this.say("layer" in changes || "head" in changes ? { ...placed, ...changes } : changes);
    };
  }

  // Maps side by side, and below them what they say of this sentence.
  draw(maps, findings, notes, table = null) {
    this.find(".maps").style.setProperty("--maps", maps.length);
    this.find(".beside_maps").replaceChildren(...(table ? [table] : []));
    this.figures.forEach((figure, at) => figure.show(maps[at]));
    const told = [...findings.filter(Boolean).map(finding), ...notes.map((note) => element("p", "", inWords(note)))];
    this.find(".findings").replaceChildren(...told);
  }

  showMasks() {
    const { batch, sentence } = this.shown, { words, labels } = this.told, masks = masksOf(batch, sentence);
    const tokens = batch.fed[sentence], open = (mask, row, column) => mask[row * masks.size + column];
    const map = (mask, title, caption) => ({
      title, caption, rows: tokens, columns: tokens, square: true, plain: true,
      at: (row, column) => (open(mask, row, column) ? 0.5 : NaN),
      masked: (row, column) => !open(mask, row, column),
      told: (row, column) => {
        return `${pairOf(tokens, tokens, row, column)}: ${open(mask, row, column) ? labels.open : labels.closed}`;
      },
    });
    const begins = { "<pad>": words.begins_with_pad, "</s>": words.begins_with_end }[tokens[0]];
    const notes = [words.three, ...(begins ? [begins] : []), `${words.source_mask_of} ${words.source_mask} ` +
      describeSourceMask(batch, sentence, words)];
    this.draw([
      map(masks.padding, labels.padding_mask, words.padding_mask),
      map(masks.causal, labels.causal_mask, words.causal_mask),
      map(masks.both, labels.target_mask, words.target_mask),
    ], [{ ...describeMasks(batch, sentence, words), attempt: words.try_masks }], notes);
  }

  showHead() {
    const { batch, sentence, kind, head: place, row, masked } = this.shown, { words, labels } = this.told;
    const head = maskedHead(masked, batch, { kind, sentence, ...place }), { rows, columns } = this.axes(head);
    const limit = Math.max(...head.scores.flatMap((row) => [...row].map(Math.abs))) || 1;
    const isMasked = (row, column) => !head.unmasked[row][column];
    const told = (what) => (row, column) => {
      return `${pairOf(head.fed, head.keys, row, column)}: ${what(row, column)}`;
    };
    const score = (row, column) => signed(head.scores[row][column], 4);
    const map = (title, caption, more) => ({ title, caption, rows, columns, square: true, ...more });
    const scores = { at: (row, column) => head.scores[row][column], signed: true, limit, told: told(score) };
    const after = told((row, column) => (isMasked(row, column) ? "−∞" : score(row, column)));
    const weights = {
      at: (row, column) => head.weights[row][column], limit: 1, masked: isMasked,
      told: told((row, column) => (isMasked(row, column) ? "0" : fixed(head.weights[row][column], 4))),
    };
    const hand = rowByHand(head, row, words);
    const cell = (text, key) => ({ text, css: isMasked(row, key) ? "closed" : "" });
    const keys = ["", shownTokens(head.keys).map((text) => ({ text, css: "token" }))];
    this.draw([
      map(labels.scores, words.scores, scores),
      map(labels.after_mask, words.after_mask, { ...scores, masked: isMasked, told: after }),
      map(labels.softmax, words.softmax, weights),
    ], [{ ...describeHead(head, words), attempt: kind === "decoder" ? words.try_head : "" }], []);
    const title = element("p", "", element("strong", "", labels.by_hand)), found = inWords(rowWords(head, row, words));
    const table = tableOf([keys, ...hand.map(([name, texts]) => [name, texts.map(cell)])], labels.by_hand);
    this.find(".findings").append(title, table, element("p", "", found));
  }

  showWithout() {
    const { batch, sentence, kind, head: place, masked, disabled, mask } = this.shown, { words, labels } = this.told;
    const of = (pass) => {
      const head = maskedHead(pass, batch, { kind, sentence, ...place });
      // In either pass nothing reads padding where the causal mask is taken away.
      return mask === "causal" ? withoutPadding(head) : head;
    };
    const [head, leaking] = [of(masked), of(disabled)], count = head.realQueries;
    const shown = { ...head, fed: head.fed.slice(0, count), predicted: head.predicted?.slice(0, count) };
    const { rows, columns } = this.axes(shown);
    const isOpen = (from, row, column) => Boolean(from.unmasked[row][column]);
    const leaks = (row, column) => isOpen(leaking, row, column) && !isOpen(head, row, column);
    const leaked = rows.map((_, row) => columns.reduce((sum, _key, column) => {
      return sum + (leaks(row, column) ? leaking.weights[row][column] : 0);
    }, 0));
    const map = (title, from, more) => ({
      title, rows, columns, square: true, limit: 1, at: (row, column) => from.weights[row][column],
      masked: (row, column) => !isOpen(from, row, column),
      told: (row, column) => {
        const weight = isOpen(from, row, column) ? fixed(from.weights[row][column], 4) : "0";
        const leaked = more.marked?.(row, column) ? `, ${labels.leaked}` : "";
        return `${pairOf(head.fed, head.keys, row, column)}: ${weight}${leaked}`;
      },
      ...more,
    });
    const caption = sentenceCase(kindHeadName(this.words.texts.kinds, { kind, ...place }));
    const notes = leaked.map(shortWeight);
    const leak = describeLeak(masked, disabled, batch, head, sentence, words)
      ?? describeNoPadding(masked, disabled, sentence, words);
    const mayChange = mask === "causal" || batch.sizes[sentence].source < batch.longest.source;
    const forced = Number(this.source.model.config.forced_first_token);
    const change = mayChange && describePredictions(masked, disabled, batch, sentence, mask, forced, words);
    const changed = kind === "cross" ? words.changed_cross : words.changed;
    this.draw([
      map(labels.without, leaking, { caption, marked: leaks, notes }),
      map(labels.with, head, { notes: rows.map(() => "") }), // as large as the other
    ], [leak, change], [filled(words.without, { colours: words.framed, changed })], this.nextTokens());
  }

  // The probability of each next token with the mask and without it.
  nextTokens() {
    const { batch, sentence, masked, disabled } = this.shown, { labels } = this.told;
    const count = batch.sizes[sentence].target;
    const [fed, next] = [batch.fed, batch.next].map((all) => shownTokens(all[sentence]).slice(0, count));
    const cell = (pass, at) => {
      const chance = pass.targetProbabilities[at];
      const place = element("td", "bar", element("i"), element("span", "", chanceWords(chance)));
      place.firstChild.style.width = `${(100 * chance).toFixed(1)}%`;
      const best = { token: pass.bestTokens[at], chance: chanceWords(pass.bestProbabilities[at]) };
      place.title = inWords(filled(labels.top, best));
      return place;
    };
    const head = ["", labels.with_column, labels.without_column].map((text) => element("th", "", text));
    head.forEach((each) => (each.scope = "col"));
    const rows = fed.map((token, at) => {
      const name = element("th", "", `${token}${JOINT}${next[at]}`);
      name.scope = "row";
      return element("tr", "", name, cell(masked, at), cell(disabled, at));
    });
    const parts = [element("thead", "", element("tr", "", ...head)), element("tbody", "", ...rows)];
    return element("table", "next_tokens", element("caption", "", labels.next), ...parts);
  }

  showBatch() {
    const { batch } = this.shown, { labels } = this.told;
    const cells = (tokens, real) => shownTokens(tokens).map((text, at) => {
      return { text, title: tokens[at], css: at < real ? "token" : "token closed" };
    });
    const rows = (all, side) => all.map((tokens, at) => {
      return [`${labels.sentence} ${at + 1}`, cells(tokens, batch.sizes[at][side])];
    });
    this.find(".batch").replaceChildren(
      element("h2", "", labels.batch),
      tableOf(rows(batch.source, "source"), `${labels.batch}: ${labels.source}`),
      tableOf(rows(batch.fed, "target"), `${labels.batch}: ${labels.target}`),
      element("p", "", `${labels.translated} ${batch.traces[1].targetText || this.words.nothing}`),
    );
  }

  axes({ fed, predicted, keys }) {
    return { rows: fed.map((token, at) => (predicted ? `${token}${JOINT}${predicted[at]}` : token)), columns: keys };
  }
}

const pairOf = (queries, keys, row, column) => `${quoted(queries[row])}, ${quoted(keys[column])}`;
// The mask without which a kind of attention leaks.
const maskOf = (kind) => (kind === "decoder" ? "causal" : "padding");
