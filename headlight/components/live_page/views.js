// The views of the page: each gives one of the app's components what the model says of the sentence, and turns what
// the component reports into a change of the address.

import { default as explorer } from "../attention_explorer/explorer.js";
import { default as steps } from "../attention_steps/steps.js";
import { default as player } from "../decoding_player/player.js";
import { hardestStep } from "../decoding_player/story.js";
import { defaultHead } from "../head_switches/story.js";
import { default as switches } from "../head_switches/switches.js";
import { JOINT, element } from "../lib/canvas.js";
import { isSame } from "../lib/diff.js";
import { headAddress, headsAddress, numbersAddress, parseNumbers } from "../lib/selection.js";
import { wordRanges } from "../lib/tokens.js";
import { KIND_NAMES, NOTHING } from "../lib/words.js";
import { default as tokenLines } from "../token_lines/lines.js";
import { positionsOf } from "../token_lines/story.js";
import { default as translationTable } from "../translation_table/table.js";
import { explorerChoice, headIn } from "./address.js";
import { measureHeads, patternFacts, plainestHead } from "./patterns.js";
import { DRAWN_HERE, WayFields, optionsOf, showTree, wayIn, wayLine } from "./ways.js";

export class View {
  // place: where its component is, more: others; say(changes): writes them into the address; section: the whole view.
  constructor({ place, more, section, source, say, lessons }) {
    Object.assign(this, { place, more, section, source, say, lessons, words: source.words });
  }

  find(selector) {
    return this.section.querySelector(selector);
  }

  give(component, data) {
    component({ parentElement: this.place, data, setTriggerValue: (...report) => this.hear(...report) });
  }

  hear() {}

  // The cross-attention head that the address names, else the one with the plainest pattern.
  head(said, trace) {
    const { law, roles } = this.words, named = headIn(said, { cross: trace.cross.shape });
    if (named) return named;
    return plainestHead(measureHeads("cross", trace.cross, trace.sourceTokens, trace.targetTokens, law), roles, law);
  }
}

export class Home extends View {
  constructor(given) {
    super(given);
    const cards = this.words.cards.map(({ title, question, sentences }) => {
      const buttons = Object.entries(sentences).map(([name, text]) => {
        const button = element("button", "", name);
        return Object.assign(button, { type: "button", title: text, onclick: () => this.say({ text }) });
      });
      const words = element("p", "", element("strong", "", title), ` ${question}`);
      return element("div", "card", words, element("div", "card_buttons", ...buttons));
    });
    this.find(".cards").replaceChildren(...cards);
  }

  async show({ text, trace, said, isCurrent }) {
    const words = wordRanges(trace.sourceTokens), numbers = parseNumbers(said.hidden, words.length);
    const positions = numbers.flatMap((number) => positionsOf(words[number]));
    const after = positions.length ? await this.source.trace(text, { hidden: positions }, "hidden") : trace;
    if (!isCurrent()) return;
    this.numbers = numbers;
    const draw = (harmless) => {
      const facts = { ...after, hidden: numbers, unhiddenTokens: trace.targetTokens, harmless };
      this.give(tokenLines, { facts, ...this.head({}, trace), rows: "predicted", layout: "alone" });
    };
    draw(null);
    if (numbers.length !== 1) return;
    const without = await this.source.withoutEach(text, words.map(positionsOf));
    const isHarmless = (number) => isSame(without[number].targetIds, trace.targetIds);
    if (isCurrent()) draw([...words.keys()].filter(isHarmless));
  }

  // The number of a word that was clicked, from 0; -1 to show all.
  hear(_, number) {
    const { numbers } = this, others = numbers.filter((each) => each !== number);
    const now = number < 0 ? [] : others.length < numbers.length ? others : [...numbers, number];
    this.say({ hidden: numbersAddress(now.sort((one, other) => one - other)) });
  }
}

export class Attention extends View {
  constructor(given) {
    super(given);
    document.addEventListener("headlight:asks", () => this.answer());
  }

  async show({ trace, said }) {
    if (trace !== this.trace) this.facts = this.factsOf(trace);
    this.trace = trace;
    const { layer, head } = this.head(said, trace);
    this.choice = explorerChoice(said, trace, this.words.options, { kind: "cross", layer, head });
    this.redraw();
    this.answer();
  }

  redraw() {
    if (this.facts) this.give(explorer, this.facts);
  }

  // As headlight/views/attention/explorer_content.py has them; weights are whole, not parts.
  factsOf(trace) {
    const { law, roles } = this.words, id = [...trace.sourceIds, ...trace.targetIds].join("-");
    return { ...trace, ...law, id, steps: 1, patterns: patternFacts(trace, law, roles), sentences: roles?.sentences };
  }

  // In the app a component beside the explorer hands on what the address says.
  answer() {
    if (this.choice) document.dispatchEvent(new CustomEvent("headlight:choice", { detail: this.choice }));
  }

  hear(_, choice) {
    const { options } = this.words, isUsual = (name, value) => value === options[name]?.[0];
    const chosen = Object.entries(choice).map(([name, value]) => [name, isUsual(name, value) ? "" : value]);
    this.say(Object.fromEntries(chosen));
  }
}

export class Decoding extends View {
  constructor(given) {
    super(given);
    this.fields = new WayFields(this.section, (changes) => this.say({ ...changes, step: "1" }));
  }

  async show({ text, trace, said, isCurrent }) {
    const prefix = this.prefixOf(said.prefix), way = wayIn(said);
    if (!prefix) return this.say({ prefix: "" });
    const isTree = way.way === "beam" && way.view === "beam search", head = this.head(said, trace);
    const options = { ...optionsOf(way), ...(prefix.length && { prefix }) }, isOther = Object.keys(options).length > 0;
    const ask = () => this.source.trace(text, options, "other way");
    const search = () => this.source.search(text, { ...options, watched: head });
    const found = await (isTree ? search() : isOther ? ask() : trace);
    if (!isCurrent()) return;
    this.fields.show(way);
    const [player, tree] = this.section.querySelectorAll(".component");
    Object.assign(player, { hidden: isTree }), Object.assign(tree, { hidden: !isTree });
    if (isTree) this.showTree(found, trace, head, prefix);
    else this.showSteps(found, trace, head, prefix, way, said);
  }

  showTree(record, { sourceTokens }, head, prefix) {
    const from = (ids) => this.say({ prefix: ids, step: "1" });
    const best = showTree(this.more[0], record, { source: sourceTokens, head, from });
    const shown = best.trim() ? best : NOTHING;
    this.find(".found_so").replaceChildren(wayLine("Best", shown, prefix.length ? () => from("") : null));
    this.find(".findings").replaceChildren();
  }

  showSteps(shown, trace, head, prefix, { way }, said) {
    this.trace = shown;
    const facts = { ...shown, forced: prefix.length, unforced: trace.targetText };
    const step = /^\d{1,4}$/.test(said.step) ? Number(said.step) : hardestStep(shown) + 1;
    this.give(player, { facts, ...head, step });
    const text = shown.targetText.trim() ? shown.targetText : NOTHING;
    const name = { beam: "Beam search finds", sampling: "Drawn" }[way];
    this.find(".found_so").replaceChildren(...(name ? [wayLine(name, text)] : []));
    const told = way === "sampling" ? [element("p", "", DRAWN_HERE)] : [];
    this.find(".findings").replaceChildren(...told);
  }

  // Token ids such as "17.4" that a translation may begin with; null for others.
  prefixOf(text) {
    const { vocab_size: count, pad_id: pad, begin_id: begin, end_id: end, max_length: most } = this.source.model.config;
    const ids = /^\d{1,7}(\.\d{1,7})*$/.test(text) ? text.split(".").map(Number) : [];
    const may = (id, at) => id < count && (id === end ? at === ids.length - 1 : id !== pad && id !== begin);
    return (text && !ids.length) || ids.length >= most || !ids.every(may) ? null : ids;
  }

  hear(name, value) {
    if (name === "step") this.say({ step: String(value) });
    if (name === "head") this.say({ head: headAddress({ kind: "cross", layer: value[0], head: value[1] }) });
    if (name === "undo") this.say({ prefix: "" });
    if (name !== "take") return;
    const [step, id] = value;
    this.say({ prefix: [...this.trace.targetIds.slice(0, step - 1), id].join("."), step: String(step) });
  }
}

const NONE = "none"; // in the address: no head is off
const PAUSE = 250; // ms without a key, before all heads of another sentence are ablated
const TOLD_EVERY = 12; // heads: who hears the page hears each line

export class Heads extends View {
  async show({ text, trace, said, isCurrent, tell }) {
    const all = this.count();
    const known = (count) => {
      if (isCurrent() && count % TOLD_EVERY === 0) tell(`Ablating each head: ${count} of ${all}.`);
    };
    if (this.text !== undefined && this.text !== text) await new Promise((resolve) => setTimeout(resolve, PAUSE));
    if (!isCurrent()) return;
    this.text = text;
    const importance = await this.source.losses(trace, known);
    if (!isCurrent()) return;
    tell("");
    this.start = headAddress(defaultHead(importance));
    const off = this.offIn(said.off || this.start, importance);
    this.give(switches, { importance, before: trace, ablation: "zero", off: headsAddress(off) });
    if (!off.length) return this.showTable({ importance, before: trace });
    const asked = { off: off.map(({ kind, layer, head }) => `${kind}.${layer}.${head}`) };
    const after = await this.source.trace(text, asked, "off");
    const forced = await this.source.trace(text, { ...asked, target: trace.targetIds }, "off");
    if (isCurrent()) this.showTable({ before: trace, forced, after, change: { off } });
  }

  showTable(data) {
    translationTable({ parentElement: this.more[0], data, setTriggerValue() {} });
  }

  count() {
    const { num_encoder_layers: encoder, num_decoder_layers: decoder, num_heads: heads } = this.source.model.config;
    return (encoder + 2 * decoder) * heads;
  }

  // The heads of a text such as "cross.3.4-encoder.1.2", each once, that there are.
  offIn(text, importance) {
    const named = new Set(text.split("-"));
    return importance.filter((each) => named.has(headAddress(each)));
  }

  hear(_, text) {
    this.say({ off: text === this.start ? "" : text || NONE });
  }
}

const CHOSEN = ["query", "key", "at_dimension", "at_step"];

export class Inside extends View {
  constructor(given) {
    super(given);
    const { num_encoder_layers: encoder, num_decoder_layers: decoder, num_heads: heads } = this.source.model.config;
    this.layers = { encoder, decoder, cross: decoder };
    const numbers = (count) => Array.from({ length: count }, (_, at) => [String(at + 1), at + 1]);
    const layers = numbers(Math.max(encoder, decoder));
    const options = { kind: Object.entries(KIND_NAMES), layer: layers, head: numbers(heads) };
    for (const [name, values] of Object.entries(options)) {
      const select = this.find(`[name=${name}]`);
      select.replaceChildren(...values.map(([value, text]) => new Option(text, value)));
      select.onchange = () => {
        const chosen = { ...this.chosen, [name]: name === "kind" ? select.value : select.value - 1 };
        const layer = Math.min(chosen.layer, this.layers[chosen.kind] - 1);
        this.say({ head: headAddress({ ...chosen, layer }), at_dimension: "" });
      };
    }
    this.turn = 0;
  }

  async show({ trace, said, isCurrent }) {
    const example = this.words.lessons?.examples[said.toy_block_seed];
    this.find(".choices").hidden = Boolean(example);
    if (example) return this.draw(example, said, `example ${said.toy_block_seed}`);
    const chosen = this.headOf(trace, said), facts = await this.source.stages(trace, chosen);
    if (!isCurrent()) return;
    const { kind, layer, head } = chosen;
    this.chosen = { kind, layer, head };
    const values = { kind, layer: layer + 1, head: head + 1 };
    for (const [name, value] of Object.entries(values)) this.find(`[name=${name}]`).value = value;
    const { sourceTokens: source, decoderInputTokens: fed, targetTokens: predicted } = trace;
    const queryTokens = kind === "encoder" ? source : fed, keys = kind === "decoder" ? fed : source;
    const queries = kind === "encoder" ? source : fed.map((token, at) => `${token}${JOINT}${predicted[at]}`);
    const shown = JSON.stringify([trace.sourceText, this.chosen]);
    return this.draw({ ...facts, queryTokens, queries, keys }, said, shown);
  }

  // shown: the name of the block.
  draw(facts, said, shown) {
    const chosen = CHOSEN.map((name) => said[name] ?? ""), known = `${shown} ${chosen}`;
    // What the browser itself chose is no news to it; see attention_steps in headlight/components/show.py.
    if (known !== this.known) this.turn += 1;
    Object.assign(this, { shown, known });
    this.give(steps, { facts, chosen, turn: this.turn });
  }

  headOf(trace, said) {
    const { num_heads: heads } = this.source.model.config;
    const shapes = Object.entries(this.layers).map(([kind, layers]) => [kind, [layers, heads]]);
    const { kind, layer, head } = headIn(said, Object.fromEntries(shapes)) ?? this.head({}, trace);
    return { kind, layer, head };
  }

  hear(_, chosen) {
    this.known = `${this.shown} ${chosen}`;
    this.say(Object.fromEntries(CHOSEN.map((name, at) => [name, chosen[at]])));
  }
}

export class LessonList extends View {
  show() {
    this.lessons.list(this.find(".lesson_cards"));
  }
}
