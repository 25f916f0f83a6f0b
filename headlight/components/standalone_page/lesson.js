// A lesson on a page of its own: the panel of a step, and the explorer of its sentence. What the app's server says to
// an answer (headlight/lessons/panel.py) came with the page, and is told here.

import { default as explorer } from "../attention_explorer/explorer.js";
import { Memory } from "../lesson_panel/memory.js";
import { default as panel } from "../lesson_panel/panel.js";
import { MINUS } from "../lib/format.js";

class LessonPage {
  constructor(root, { steps, sentences }) {
    Object.assign(this, { root, sentences });
    const remembered = new Memory().all();
    this.steps = steps.map(({ told, ...step }) => ({ ...step, told: JSON.parse(new TextDecoder().decode(told)) }));
    this.tries = this.steps.map((step) => restored(step, remembered[step.panel.key]));
    document.addEventListener("headlight:asks", () => this.choose(this.choice));
    addEventListener("hashchange", () => this.open());
    this.open();
  }

  // The step that the address names, from 0; after the last one stands the end.
  open() {
    const asked = Math.trunc(Number(location.hash.slice(1))) || 1;
    this.at = Math.min(Math.max(asked - 1, 0), this.steps.length);
    this.shown = false; // whether the explorer shows the answer
    scrollTo(0, 0);
    this.draw();
  }

  draw() {
    const { steps, tries, at } = this, step = steps[at], tried = tries[at];
    const data = step ? payload(step, tried) : ending(steps, tries);
    const hear = (name, value) => this.hear(name, value);
    panel({ parentElement: this.root.querySelector(".lesson_step"), data, setTriggerValue: hear });
    document.body.classList.toggle("lesson_begun", at > 0);
    this.root.querySelector(".lesson_look").hidden = !step;
    if (step) this.look(step, tried);
  }

  hear(name, value) {
    if (name === "go") {
      location.hash = value;
      return;
    }
    const step = this.steps[this.at], tried = this.tries[this.at];
    if (name === "choice" && !isOver(tried)) Object.assign(tried, { choice: value, right: isRight(step, value) });
    if (name === "hint") tried.hints = Math.min(tried.hints + 1, step.told.hints.length);
    if (name === "show") {
      tried.shown ||= !tried.right;
      this.shown = true;
      this.view = null; // whatever the reader has chosen since it was shown before
    }
    this.draw();
  }

  // What there is to look at. What the reader has chosen in the explorer stays, until another step or the answer is to
  // be shown.
  look({ look, told, elsewhere, veiled, unlabelled }, tried) {
    const find = (selector) => this.root.querySelector(selector), over = isOver(tried);
    const view = this.shown || tried.shown ? told.look : look, { words, blob } = this.sentences[view.sentence];
    const place = find(".lesson_explorer");
    find(".elsewhere").textContent = elsewhere;
    find(".lesson_look summary").textContent = `Attention in ${words}`;
    place.inert = veiled && !over;
    place.classList.toggle("unlabelled", unlabelled && !over);
    if (this.view !== view) {
      this.view = view;
      this.choice = view.choice;
      find("details").open = view.about;
    }
    const data = unlabelled && !over ? (this.sentences[view.sentence].plain ??= withoutLabels(blob)) : blob;
    explorer({ parentElement: place, data, setTriggerValue: (_, choice) => this.choose(choice) });
    this.choose(this.choice);
  }

  // In the app the address has it, and says it to the explorer.
  choose(choice) {
    this.choice = choice;
    document.dispatchEvent(new CustomEvent("headlight:choice", { detail: choice }));
  }
}

const isOver = ({ right, shown }) => right || shown;
const isQuestion = ({ panel }) => Boolean(panel.kind);

// What was tried on an earlier visit, as far as it makes sense to this step.
export function restored(step, value) {
  const fresh = { choice: null, hints: 0, shown: false, right: false };
  if (!step.panel.ask || !value) return fresh;
  const choice = said(step, value.choice) ? value.choice : null;
  const hints = Number.isInteger(value.hints) ? Math.min(Math.max(value.hints, 0), step.told.hints.length) : 0;
  return { choice, hints, shown: value.shown === true, right: isRight(step, choice) };
}

// As the functions of the same tasks in headlight/lessons: answer.py, posed.py, panel.py.
export function isRight({ panel: { kind }, told: { right, value, margin } }, choice) {
  if (kind === "number") return Number.isFinite(choice) && Math.abs(choice - value) <= margin;
  if (kind === "one") return right.includes(choice);
  return Array.isArray(choice) && choice.length === right.length && right.every((each) => choice.includes(each));
}

// What is said to a choice; "" to one of another kind.
export function said({ panel: { kind }, told }, choice) {
  const of = (name) => (Object.hasOwn(told.said, name) ? told.said[name] : "");
  if (kind === "number") {
    if (!Number.isFinite(choice)) return "";
    const off = isRight({ panel: { kind }, told }, choice) ? "" : of(choice < told.value ? "low" : "high");
    return [of("number").replace("{number}", numberWords(choice)), off].filter(Boolean).join(" ");
  }
  if (kind !== "several") return typeof choice === "string" ? of(choice) : "";
  const hit = told.right.filter((each) => Array.isArray(choice) && choice.includes(each)).length;
  return Array.isArray(choice) ? of(`${hit} ${choice.length - hit}`) : "";
}

export function numberWords(value) {
  const rounded = Number(value.toPrecision(3));
  const text = Math.abs(rounded) >= 100 ? rounded.toLocaleString("en", { maximumFractionDigits: 0 }) : String(rounded);
  return text.replaceAll("-", MINUS);
}

// What the panel shows of a step.
export function payload(step, tried) {
  const { panel, told } = step, over = isOver(tried);
  const data = { ...panel, tried: { ...tried }, known: true, alone: true };
  if (!panel.ask) return data;
  const isTold = over || tried.choice !== null;
  return {
    ...data,
    hints: told.hints.slice(0, tried.hints),
    more_hints: over ? 0 : told.hints.length - tried.hints,
    feedback: isTold ? [said(step, tried.choice), over && told.truth].filter(Boolean).join(" ") : "",
    right: over ? told.right : [],
  };
}

// What stands after the last step.
function ending(steps, tries) {
  const asked = steps.filter(isQuestion).length, right = tries.filter((tried) => tried.right).length;
  const shown = tries.filter((tried, at) => tried.shown && isQuestion(steps[at])).length;
  const also = shown ? `, and had ${shown} shown` : "";
  const words = `That was the last step. You found ${right} of ${asked} answers${also}.`;
  return {
    key: "end", title: steps[0].panel.title, step: steps.length + 1, of: steps.length, say: [["", words]], note: [],
    undecided: "", tried: { choice: null, hints: 0, shown: false, right: false }, known: true, alone: true,
  };
}

// An explorer's bytes (see weights.js) without what was measured of its heads.
export function withoutLabels(bytes) {
  const length = new DataView(bytes.buffer, bytes.byteOffset).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + length)));
  header.id += " without labels";
  const nothing = { labels: [], roles: [], measures: {}, look: [] };
  for (const kind of Object.values(header.kinds)) Object.assign(kind, nothing);
  const text = new TextEncoder().encode(JSON.stringify(header));
  const made = new Uint8Array(4 + text.length + bytes.length - 4 - length);
  new DataView(made.buffer).setUint32(0, text.length, true);
  made.set(text, 4);
  made.set(bytes.subarray(4 + length), 4 + text.length);
  return made;
}

export default function start({ parentElement, data }) {
  return new LessonPage(parentElement, data);
}
