// The views of the page: each gives facts of the sentence to one of the app's components, and turns the component's
// reports into changes of the address.

import { default as explorer } from "../attention_explorer/explorer.js";
import { default as steps } from "../attention_steps/steps.js";
import { default as player } from "../decoding_player/player.js";
import { hardestStep } from "../decoding_player/story.js";
import { defaultHead } from "../head_switches/story.js";
import { default as switches } from "../head_switches/switches.js";
import { button, element } from "../lib/canvas.js";
import { decodeFacts } from "../lib/facts.js";
import { quotations } from "../lib/language.js";
import { KIND_NAMES, NOTHING } from "../lib/names.js";
import { headAddress, headsAddress, numbersAddress, parseNumbers } from "../lib/selection.js";
import { wordRanges } from "../lib/tokens.js";
import { default as quiz } from "../quiz/quiz.js";
import { default as tokenLines } from "../token_lines/lines.js";
import { positionsOf } from "../token_lines/story.js";
import { default as translationTable } from "../translation_table/table.js";
import { default as wholePass } from "../whole_pass/pass.js";
import { addressOf, explorerChoice, headIn } from "./address.js";
import { measureHeads, patternFacts, plainestHead } from "./patterns.js";
import { say } from "./texts.toml";
import { DRAWN_HERE, DecodingFields, decodingIn, optionsOf, resultLine, showTree } from "./ways.js";

export class View {
  // place: of its component, more: of others; navigate(changes): writes them into the address; section: the whole view.
  constructor({ place, more, section, source, navigate, lessons }) {
    Object.assign(this, { place, more, section, source, navigate, lessons, words: source.words });
  }

  find(selector) {
    return this.section.querySelector(selector);
  }

  give(component, data) {
    component({ parentElement: this.place, data, setTriggerValue: (...report) => this.handle(...report) });
  }

  handle() {}

  // The cross-attention head that the address names, else the one with the plainest pattern.
  head(params, trace) {
    const { rules, roles } = this.words, named = headIn(params, { cross: trace.cross.shape });
    if (named) return named;
    const measured = measureHeads("cross", trace.cross, trace.sourceTokens, trace.targetTokens, rules);
    return plainestHead(measured, roles, rules);
  }
}

export class Home extends View {
  constructor(page) {
    super(page);
    const cards = this.words.cards.map(({ title, question, sentences }) => {
      const buttons = Object.entries(sentences).map(([name, text]) => {
        return Object.assign(button(name, () => this.navigate({ text })), { title: text });
      });
      const words = element("p", "", element("strong", "", quotations(title)), ` ${quotations(question)}`);
      return element("div", "card", words, element("div", "card_buttons", ...buttons));
    });
    this.find(".cards").replaceChildren(...cards);
  }

  async show({ text, trace, params, isCurrent }) {
    const words = wordRanges(trace.sourceTokens), numbers = parseNumbers(params.hidden, words.length);
    const positions = numbers.flatMap((number) => positionsOf(words[number]));
    const after = positions.length ? await this.source.trace(text, { hidden: positions }, "hidden") : trace;
    if (!isCurrent()) return;
    this.numbers = numbers;
    const { smoothing } = this.words;
    const facts = { ...after, hidden: numbers, unhiddenTokens: trace.targetTokens, smoothing };
    this.give(tokenLines, { facts, ...this.head({}, trace), rows: "predicted", layout: "alone" });
    this.params = params;
  }

  // The number of a word that was clicked, from 0, -1 to show all; or of a doubtful output token.
  handle(name, number) {
    if (name === "doubt") return void (location.hash = addressOf("decoding", { ...this.params, step: number + 1 }, {}));
    const { numbers } = this, others = numbers.filter((each) => each !== number);
    const now = number < 0 ? [] : others.length < numbers.length ? others : [...numbers, number];
    this.navigate({ hidden: numbersAddress(now.sort((one, other) => one - other)) });
  }
}

export class Attention extends View {
  constructor(page) {
    super(page);
    document.addEventListener("headlight:asks", () => this.answer());
  }

  async show({ trace, params }) {
    if (trace !== this.trace) this.facts = this.factsOf(trace);
    this.trace = trace;
    const { layer, head } = this.head(params, trace);
    this.choice = explorerChoice(params, trace, this.words.options, { kind: "cross", layer, head });
    this.give(explorer, this.facts);
    this.answer();
  }

  // As headlight/views/attention/explorer_content.py has them; weights are whole, not parts.
  factsOf(trace) {
    const { rules, roles } = this.words, id = [...trace.sourceIds, ...trace.targetIds].join("-");
    const patterns = patternFacts(trace, rules, roles);
    return { ...trace, ...rules, id, steps: 1, patterns, sentences: roles?.sentences };
  }

  // In the app a component beside the explorer hands on what the address says.
  answer() {
    if (this.choice) document.dispatchEvent(new CustomEvent("headlight:choice", { detail: this.choice }));
  }

  handle(_, choice) {
    const { options } = this.words, isUsual = (name, value) => value === options[name]?.[0];
    const chosen = Object.entries(choice).map(([name, value]) => [name, isUsual(name, value) ? "" : value]);
    this.navigate(Object.fromEntries(chosen));
  }
}

export class Decoding extends View {
  constructor(page) {
    super(page);
    const navigate = (changes) => this.navigate({ ...changes, step: "1" });
    this.fields = new DecodingFields(this.section, this.words.decoding, navigate);
  }

  async show({ text, trace, params, isCurrent }) {
    const prefix = this.prefixOf(params.prefix), fields = decodingIn(params, this.words.decoding);
    if (!prefix) return this.navigate({ prefix: "" });
    const head = this.head(params, trace), { decoding, decoding_view: view } = fields;
    const isTree = decoding === "beam" && view === "beam search";
    const options = { ...optionsOf(fields), ...(prefix.length && { prefix }) };
    const isPlain = !Object.keys(options).length;
    const result = await (isTree ? this.source.search(text, { ...options, watched: head })
      : isPlain ? trace : this.source.trace(text, options, "other way"));
    if (!isCurrent()) return;
    this.fields.show(fields);
    const [player, tree] = this.section.querySelectorAll(".component");
    Object.assign(player, { hidden: isTree }), Object.assign(tree, { hidden: !isTree });
    if (isTree) this.showTree(result, trace, head, prefix);
    else this.showSteps(result, trace, head, prefix, fields, params);
  }

  showTree(record, { sourceTokens }, head, prefix) {
    const from = (ids) => this.navigate({ prefix: ids, step: "1" });
    const best = showTree(this.more[0], record, { source: sourceTokens, head, from });
    this.showResult(say("best"), best, prefix.length ? () => from("") : null);
    this.find(".findings").replaceChildren();
  }

  showSteps(shown, trace, head, prefix, { decoding }, params) {
    this.trace = shown;
    const facts = { ...shown, forced: prefix.length, unforced: trace.targetText };
    const step = /^\d{1,4}$/.test(params.step) ? Number(params.step) : hardestStep(shown) + 1;
    this.give(player, { facts, ...head, step });
    this.showResult({ beam: say("beam"), sampling: say("sampling") }[decoding], shown.targetText);
    this.find(".findings").replaceChildren(...(decoding === "sampling" ? [element("p", "", DRAWN_HERE)] : []));
  }

  showResult(name, text, undo) {
    const lines = name ? [resultLine(name, text.trim() ? text : NOTHING, undo)] : [];
    this.find(".found_so").replaceChildren(...lines);
  }

  // Token ids such as "17.4" that a translation may begin with; null for others.
  prefixOf(text) {
    const { vocab_size: count, pad_id: pad, begin_id: begin, end_id: end, max_length: most } = this.source.model.config;
    const ids = /^\d{1,7}(\.\d{1,7})*$/.test(text) ? text.split(".").map(Number) : [];
    const may = (id, at) => id < count && (id === end ? at === ids.length - 1 : id !== pad && id !== begin);
    return (text && !ids.length) || ids.length >= most || !ids.every(may) ? null : ids;
  }

  handle(name, value) {
    if (name === "step") this.navigate({ step: String(value) });
    if (name === "head") this.navigate({ head: headAddress({ kind: "cross", layer: value[0], head: value[1] }) });
    if (name === "undo") this.navigate({ prefix: "" });
    if (name !== "take") return;
    const [step, id] = value;
    this.navigate({ prefix: [...this.trace.targetIds.slice(0, step - 1), id].join("."), step: String(step) });
  }
}

const NONE = "none"; // in the address: no head is off
const PAUSE = 250; // ms without a key, before all heads of another sentence are ablated
const HEADS_PER_NOTICE = 12; // a screen reader speaks each notice

export class Heads extends View {
  async show({ text, trace, params, isCurrent, setStatus }) {
    const all = this.count();
    const progress = (count) => {
      if (isCurrent() && count % HEADS_PER_NOTICE === 0) setStatus(say("ablating", { count, all }));
    };
    if (this.text !== undefined && this.text !== text) await new Promise((resolve) => setTimeout(resolve, PAUSE));
    if (!isCurrent()) return;
    this.text = text;
    const importance = await this.source.losses(trace, progress);
    if (!isCurrent()) return;
    setStatus("");
    this.start = headAddress(defaultHead(importance));
    const off = this.offIn(params.off || this.start, importance);
    this.give(switches, { importance, before: trace, ablation: "zero", off: headsAddress(off) });
    if (!off.length) return this.showTable({ importance, before: trace });
    const options = { off: off.map(headAddress) };
    const after = await this.source.trace(text, options, "off");
    const forced = await this.source.trace(text, { ...options, target: trace.targetIds }, "off");
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

  handle(_, text) {
    this.navigate({ off: text === this.start ? "" : text || NONE });
  }
}

export class WholePass extends View {
  async show({ trace, params, isCurrent, setStatus }) {
    const model = decodeFacts(this.words.model), columns = await this.source.of("vectors", trace, model.dimensions);
    if (!isCurrent()) return;
    Object.assign(this, { params, setStatus });
    this.give(wholePass, { ...trace, ...model, ...columns, steps: 1, moment: params.moment });
  }

  // The number of a station at rest, or the page that explains a part, with its address.
  handle(name, value) {
    if (name === "moment") return this.navigate({ moment: value });
    const [page, address] = value;
    if (!document.querySelector(`[data-view="${page}"]`)) return this.setStatus(say("app_alone"));
    location.hash = addressOf(page, { ...this.params, ...address }, {});
  }
}

const CHOSEN = ["query", "key", "at_dimension", "at_step"];

export class Inside extends View {
  constructor(page) {
    super(page);
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
        this.navigate({ head: headAddress({ ...chosen, layer }), at_dimension: "" });
      };
    }
    this.turn = 0;
  }

  async show({ trace, params, isCurrent }) {
    const example = this.words.lessons?.examples[params.toy_block_seed];
    this.find(".choices").hidden = Boolean(example);
    if (example) return this.draw(example, params, `example ${params.toy_block_seed}`);
    const chosen = this.headOf(trace, params), facts = await this.source.of("stages", trace, chosen);
    if (!isCurrent()) return;
    const { kind, layer, head } = chosen;
    this.chosen = { kind, layer, head };
    const values = { kind, layer: layer + 1, head: head + 1 };
    for (const [name, value] of Object.entries(values)) this.find(`[name=${name}]`).value = value;
    const { sourceTokens: source, decoderInputTokens: fed, targetTokens: predicted } = trace;
    const keys = kind === "decoder" ? fed : source, queries = kind === "encoder" ? source : predicted;
    const shown = JSON.stringify([trace.sourceText, this.chosen]);
    return this.draw({ ...facts, queries, keys }, params, shown);
  }

  // shown: the name of the block.
  draw(facts, params, shown) {
    const chosen = CHOSEN.map((name) => params[name] ?? ""), known = `${shown} ${chosen}`;
    // The component's choice is not sent back to it; see attention_steps in headlight/components/show.py.
    if (known !== this.known) this.turn += 1;
    Object.assign(this, { shown, known });
    this.give(steps, { facts, chosen, turn: this.turn });
  }

  headOf(trace, params) {
    const { num_heads: heads } = this.source.model.config;
    const shapes = Object.entries(this.layers).map(([kind, layers]) => [kind, [layers, heads]]);
    const { kind, layer, head } = headIn(params, Object.fromEntries(shapes)) ?? this.head({}, trace);
    return { kind, layer, head };
  }

  handle(_, chosen) {
    this.known = `${this.shown} ${chosen}`;
    this.navigate(Object.fromEntries(CHOSEN.map((name, at) => [name, chosen[at]])));
  }
}

export class LessonList extends View {
  show() {
    this.lessons.list(this.find(".lesson_cards"));
    this.give(quiz, this.words.lessons.quiz);
  }
}
