// A step of a lesson put to a sentence: its texts filled, its question measured, as the panel and standalone_page's
// lesson take it. The counterpart of headlight/lessons/posed.py and offline.py.

import { inWords } from "../../lib/tokens.js";
import { numberWords, payload } from "../../standalone_page/lesson.js";
import { percent } from "../payloads/text.js";
import { MEASURES } from "./measures.js";
import { Undecided } from "./run.js";

const NAME = /\{([a-z_]+)\}/g, MOST_HINTS = 3, RELATIVE = 0.02; // as in headlight/lessons/answer.py
const QUOTED = /“([^”]{1,20})”( \()?/g;
const NUMBER = "{number}";

export const canBeDone = ({ measure, answer }) => !measure || Boolean(answer) || Object.hasOwn(MEASURES, measure);
export const isQuestion = ({ ask, measure }) => ask.length > 0 && Boolean(measure);

// What a step's measure finds; throws Undecided.
async function answerOf(step, run) {
  if (!step.measure) return null;
  if (step.answer) {
    if (step.answer.undecided) throw new Undecided(step.answer.undecided);
    const { flips, ...answer } = step.answer, { toy_flipped: mask = "" } = run.address;
    return { ...answer, ...(flips?.[mask] ?? flips?.[""]) };
  }
  if (!canBeDone(step)) throw new Undecided(run.say("elsewhere")("said 2", run.told.titles[step.page]));
  return MEASURES[step.measure](run, step.arguments);
}

// A step put to a sentence: { panel, told }, of a step that asks, and address(shown).
export async function pose(lesson, number, run) {
  const step = lesson.steps[number];
  try {
    return new Posed(lesson, number, run, await answerOf(step, run));
  } catch (error) {
    if (!(error instanceof Undecided)) throw error;
    return new Posed(lesson, number, run, null, inWords(error.message));
  }
}

class Posed {
  constructor(lesson, number, run, answer, undecided = "") {
    Object.assign(this, { lesson, number, run, answer, undecided, step: lesson.steps[number] });
    this.key = `${lesson.name}.${number + 1} ${run.told.checkpoint} ${run.text}`;
    this.asks = Boolean(answer) && isQuestion(this.step);
    this.panel = this.panelOf();
    this.told = this.asks ? this.toldOf() : {};
  }

  fill(text) {
    return inWords(text.replace(NAME, (whole, name) => this.answer?.names?.[name] ?? whole));
  }

  text(parts) {
    if (this.undecided && parts.some(([, text]) => text.match(NAME))) return [];
    return parts.map(([style, text]) => [style, this.fill(text)]);
  }

  // Texts with what a word of the translation means behind it where it first stands.
  glossed(...texts) {
    const { glosses } = this.run.told, told = new Set();
    const source = new Set(this.run.trace.sourceTokens.map((token) => token.replace(/^▁/, "")));
    const meaning = (whole, word, more) => {
      if (!this.answer || !Object.hasOwn(glosses, word) || source.has(word) || told.has(word)) return whole;
      told.add(word);
      return `“${word}” (${glosses[word]}${more ? ", " : ")"}`;
    };
    return texts.map((text) => text.map(([style, part]) => [style, part.replace(QUOTED, meaning)]));
  }

  // What the page's address has, when the answer is `shown` too; null where its names are not known.
  address(shown = false) {
    const names = this.answer?.names ?? {};
    const said = Object.entries({ ...this.step.at, ...(shown ? this.step.show : {}) });
    const isKnown = ([, text]) => [...text.matchAll(NAME)].every(([, name]) => Object.hasOwn(names, name));
    if (!said.every(isKnown)) return null;
    return Object.fromEntries(said.map(([key, text]) => [key, text.replace(NAME, (_, name) => names[name])]));
  }

  // Options in an order of their own, the same each time the question is put.
  get options() {
    return inOrderOf(this.key, this.answer.options ?? []);
  }

  panelOf() {
    const { step, lesson, number, answer, undecided } = this;
    const [say, ask] = this.glossed(this.text(step.say), this.text(step.ask));
    const panel = {
      key: this.key, name: lesson.name, title: lesson.title, step: number + 1, of: lesson.steps.length, say,
      note: this.text(step.note), sample: this.text(step.sample), undecided,
      moves: Boolean(step.show_page) || Object.keys(step.show).length > 0, last: number + 1 === lesson.steps.length,
      others: Boolean(undecided) && canBeDone(step) && step.sentences.length > 0,
    };
    if (!this.asks) return panel;
    const label = (text) => this.glossed([["", this.fill(text)]])[0].map(([, part]) => part).join("");
    return {
      ...panel, ask, kind: answer.kind, options: this.options.map(([name, text]) => [name, label(text)]),
      scale: answer.kind === "number" ? this.scale() : "",
    };
  }

  scale() {
    const { tolerance, relative = RELATIVE, bounds } = this.answer, say = this.run.say("scale");
    const near = tolerance === undefined || tolerance === null ? percent(relative) : numberWords(tolerance);
    return say("said", bounds ? say("within", ...bounds.map(numberWords)) : "", near);
  }

  toldOf() {
    const { answer } = this;
    const { right = [], value = 0, tolerance, relative = RELATIVE, truth, calculation, done } = answer;
    return {
      right: [...right].sort(), value, margin: tolerance ?? relative * Math.abs(value), hints: this.hints(),
      said: this.said(), truth: inWords(truth), more: inWords(calculation), done: Boolean(done),
    };
  }

  hints() {
    const own = this.step.hints.map((hint) => this.fill(hint)), narrowed = this.narrowed();
    return [...own, ...(narrowed ? [narrowed] : []), inWords(this.answer.calculation)].slice(0, MOST_HINTS);
  }

  // What an option less, or a range, leaves to choose from; "" where that would be the answer.
  narrowed() {
    const { kind, value, bounds, right } = this.answer, say = this.run.say("narrowed");
    if (kind === "number") {
      const [least, most] = bounds ?? [-Infinity, Infinity], ends = [value * 0.7, value * 1.4].sort((a, b) => a - b);
      const within = [Math.max(ends[0], least), Math.min(ends[1], most)];
      const [low, high] = within.map((each) => Number(each.toPrecision(2)));
      return say("said", numberWords(low), numberWords(high));
    }
    const wrong = kind === "do" || kind === "" ? [] : this.options.filter(([name]) => !right.includes(name));
    return wrong.length < 2 - (kind === "several") ? "" : inWords(say("said 2", ended(wrong[0][1])));
  }

  // What is said to a choice before what is so: see `_said` of headlight/lessons/offline.py.
  said() {
    const { kind, options = [], right = [] } = this.answer, say = this.run.say("predicted");
    const words = ([, label, told]) => inWords([say("said", ended(label)), told].filter(Boolean).join(" "));
    if (kind === "one") return Object.fromEntries(options.map((each) => [each[0], words(each)]));
    if (kind === "number") {
      const off = this.run.say("off");
      return { number: say("said 4", NUMBER), low: off("said"), high: off("said 2") };
    }
    if (kind !== "several") return {};
    const counts = (most) => Array.from({ length: most + 1 }, (_, count) => count);
    const found = (hit, others) => {
      const also = others ? say("said 3", others, others === 1 ? "is" : "are") : ".";
      return [`${hit} ${others}`, say("said 2", hit, right.length, also)];
    };
    const wrong = counts(options.length - right.length);
    return Object.fromEntries(counts(right.length).flatMap((hit) => wrong.map((others) => found(hit, others))));
  }

  // What the panel shows: see lesson.js. Of something to be done it says how things stand, which tells no answer.
  payload(tried) {
    const data = payload(this, tried);
    if (!this.asks || this.answer.kind !== "do") return data;
    const { truth, more, done } = this.told, isOver = tried.right || tried.shown;
    const words = isOver && !done ? `${truth} ${more}` : truth; // what cannot be shown is told
    return { ...data, feedback: isOver || tried.choice !== null ? words : "" };
  }
}

// A label as the end of a sentence: with a full stop, unless a quoted sentence brings its own.
const ended = (label) => (/..[.!?]”$/.test(label) ? label : `${label}.`);

// Mixed by a number that a text makes (FNV-1a).
function inOrderOf(key, options) {
  const number = ([name]) => [...new TextEncoder().encode(`${name} ${key}`)].reduce((hash, byte) => {
    return Math.imul(hash ^ byte, 16777619) >>> 0;
  }, 2166136261);
  return [...options].sort((one, other) => number(one) - number(other));
}
