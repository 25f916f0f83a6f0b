// Lessons in the page: their list, and beside the views the app's panel of a step. Questions, options, answers and
// feedback were computed in Python for the sentences of a lesson (headlight/lessons/export.py); they are shown here.

import { Memory } from "../lesson_panel/memory.js";
import { LEAVE, TO_LIST, TO_NEXT } from "../lesson_panel/moving.js";
import { default as panel } from "../lesson_panel/panel.js";
import { button, element } from "../lib/canvas.js";
import { MINUS } from "../lib/format.js";
import { say } from "./texts.toml";

const PLACE = /^([a-z][a-z0-9_]*)(?:\.(\d{1,2}))?$/; // in the address: "attention.3"
const OF_FINDINGS = ["findings", "more"]; // what a step may blur of all findings, see lib/finding.css
const OF_LINES = { answers: "hidden", aside: "none", pointing: "none", "lines-apart": "4rem" }; // see token_lines

export const fresh = () => ({ choice: null, hints: 0, shown: false, right: false });

// Judge a choice: an option's name, several names, or a number.
export function isRight(kind, { right, value, margin }, choice) {
  if (kind === "number") return Number.isFinite(choice) && Math.abs(choice - value) <= margin;
  if (kind === "one") return right.includes(choice);
  return Array.isArray(choice) && choice.length === right.length && right.every((each) => choice.includes(each));
}

// The feedback on a choice, "" on one that is right; undefined for a choice that the question does not have.
export function feedbackOn(kind, solution, choice) {
  const of = (name) => (Object.hasOwn(solution.choices, name) ? solution.choices[name] : undefined);
  if (kind === "number" && Number.isFinite(choice)) {
    const off = isRight(kind, solution, choice) ? "" : ` ${of(choice < solution.value ? "low" : "high")}`;
    return say("you_said", { choice: String(choice).replace("-", MINUS), off });
  }
  if (kind === "one" && typeof choice === "string") return of(choice);
  if (kind !== "several" || !Array.isArray(choice)) return undefined;
  const hit = solution.right.filter((each) => choice.includes(each)).length;
  return of(`${hit} ${choice.length - hit}`);
}

// The panel's data of an answer { panel, feedback } after some attempts.
export function panelData({ panel: data, feedback: solution }, tried) {
  if (!solution) return { ...data, tried };
  const isOver = tried.right || tried.shown, feedback = feedbackOn(data.kind, solution, tried.choice);
  return {
    ...data, tried,
    hints: solution.hints.slice(0, tried.hints),
    more_hints: isOver ? 0 : solution.hints.length - tried.hints,
    feedback: [feedback, isOver && solution.truth].filter(Boolean).join(" "),
    right: isOver ? solution.right : [],
  };
}

// The valid part of the attempts that a browser has stored.
export function restored({ panel: { kind }, feedback: solution }, stored) {
  if (!solution || !stored || typeof stored !== "object") return fresh();
  const choice = feedbackOn(kind, solution, stored.choice) === undefined ? null : stored.choice;
  const hints = Number.isInteger(stored.hints) ? Math.min(Math.max(stored.hints, 0), solution.hints.length) : 0;
  return { choice, hints, shown: stored.shown === true, right: choice !== null && isRight(kind, solution, choice) };
}

export class Lessons {
  // page: a LivePage; lessons: those of headlight/lessons/export.py.
  constructor(page, { lessons }) {
    Object.assign(this, { page, lessons, memory: new Memory(), tries: new Map() });
    this.side = document.querySelector(".lesson_side");
    this.missing = document.querySelector(".missing");
    this.place = page.rooted(this.side.querySelector(".component"));
  }

  // The lesson in an address and its step from 0, null where the address has none.
  placeIn(text = "") {
    const [, name, number] = PLACE.exec(text) ?? [], lesson = this.lessons.find((each) => each.name === name);
    if (!lesson) return null;
    return { lesson, number: number ? Math.min(Math.max(number - 1, 0), lesson.steps.length) : null };
  }

  // Show the step of the address beside a view.
  show(view, params) {
    const place = view === "lessons" ? null : this.placeIn(params.lesson);
    document.body.classList.toggle("in_lesson", Boolean(place));
    this.side.hidden = !place;
    this.missing.textContent = "";
    this.answer = null;
    veil([]);
    if (!place) return;
    Object.assign(this, place, { view, step: place.lesson.steps[place.number] });
    if (this.number === null) this.go(this.lesson, 0);
    else if (!this.step) this.give(this.ending());
    else this.open(params.text);
  }

  open(text) {
    const { step, lesson, number } = this;
    this.answer = answerFor(step, text);
    if (this.answer) return this.draw();
    const key = `${lesson.name}.${number + 1}`, { title, steps: { length: of } } = lesson, last = number + 1 === of;
    const texts = { say: [], note: [], undecided: say("no_sentence"), others: true };
    return this.give({ key, title, step: number + 1, of, last, ...texts, tried: fresh() });
  }

  draw() {
    const { answer, step, lesson, view } = this, tried = this.tried, { at, shown, panel: { key } } = answer;
    const isOver = tried.right || tried.shown;
    veil([...step.cover, ...(isOver || !answer.feedback ? [] : step.veil)]);
    this.missing.textContent = (isOver ? shown : at).missing;
    const again = step.judged && !isOver && this.answered(lesson).has(this.number);
    this.give({ ...panelData(answer, { ...tried }), away: ![at.view, shown.view].includes(view), again, name: key });
  }

  give(data) {
    const setTriggerValue = (name, value) => (name === "go" ? this.follow(value) : this.handle(name, value));
    panel({ parentElement: this.place, data: { ...data, alone: true, known: true }, setTriggerValue });
  }

  // Attempts at the question that is shown, here or on an earlier visit.
  get tried() {
    const { key } = this.answer.panel;
    if (!this.tries.has(key)) this.tries.set(key, restored(this.answer, this.memory.all()[key]));
    return this.tries.get(key);
  }

  handle(name, value) {
    const { answer, tried } = this;
    if (!answer.feedback) return;
    const isOver = tried.right || tried.shown, { kind } = answer.panel;
    if (name === "choice" && !isOver) {
      Object.assign(tried, { choice: value, right: isRight(kind, answer.feedback, value) });
    }
    if (name === "hint") tried.hints = Math.min(tried.hints + 1, answer.feedback.hints.length);
    if (name === "show") tried.shown ||= !tried.right;
    this.draw();
    if ((name === "show" || (!isOver && tried.right)) && answer.panel.moves) this.look(answer.shown);
  }

  // Open the view of a place for the step that is shown.
  look({ view, values: params }, text = this.page.params.text) {
    this.page.open(view, { text, ...params, lesson: `${this.lesson.name}.${this.number + 1}` });
  }

  follow(to) {
    const { lesson, lessons, number } = this;
    if (to === LEAVE) this.page.navigate({ lesson: "" });
    else if (to === TO_LIST) this.page.open("lessons", { text: this.page.params.text });
    else if (to === TO_NEXT) this.go(lessons[lessons.indexOf(lesson) + 1], 0);
    else if (to > lesson.steps.length) this.page.navigate({ lesson: `${lesson.name}.${lesson.steps.length + 1}` });
    else this.go(lesson, to - 1, to - 1 === number ? "" : this.page.params.text);
  }

  // Go to a step, with a sentence if the step is about it, else with the step's own.
  go(lesson, number, text = "") {
    const step = lesson.steps[number], [first] = Object.keys(step.answers);
    const sentence = text && answerFor(step, text) ? text : first;
    Object.assign(this, { lesson, number });
    scrollTo(0, 0);
    this.look(answerFor(step, sentence).at, sentence);
  }

  // The judged steps of a lesson, from 0, that were answered rightly, whatever the sentence.
  answered({ name, steps }) {
    const all = { ...this.memory.all(), ...Object.fromEntries(this.tries) };
    const places = Object.keys(all).filter((key) => all[key]?.right === true).map((key) => key.split(" ")[0]);
    const ofLesson = places.map((place) => PLACE.exec(place)).filter((place) => place?.[1] === name);
    return new Set(ofLesson.map(([, , number]) => number - 1).filter((number) => steps[number]?.judged));
  }

  // The panel after the last step.
  ending() {
    const { lesson, lessons } = this, { title, goal, closing, steps } = lesson, answered = this.answered(lesson);
    const judged = steps.flatMap((step, at) => (step.judged ? [at] : []));
    return {
      key: `${lesson.name} end`, title, step: steps.length + 1, of: steps.length, note: [], undecided: "",
      say: [["strong", say("end")], ["", closing || goal]], tried: fresh(),
      score: score(answered.size, judged.length),
      open: judged.filter((at) => !answered.has(at)).map((at) => at + 1),
      next_lesson: lessons[lessons.indexOf(lesson) + 1]?.title ?? "",
    };
  }

  list(place) {
    place.replaceChildren(...this.lessons.map((lesson) => {
      const { title, goal, minutes, steps } = lesson, answered = this.answered(lesson);
      const judged = steps.flatMap((step, at) => (step.judged ? [at] : []));
      const does = say(answered.size ? "go_on" : "begin");
      const few = [say("minutes", { minutes }), say("steps", { steps: steps.length })];
      if (answered.size) few.push(say("found", { answers: answered.size, questions: judged.length }));
      const next = answered.size ? judged.find((at) => !answered.has(at)) ?? 0 : 0;
      const ariaLabel = say("name", { does, title });
      const begin = Object.assign(button(does, () => this.go(lesson, next)), { ariaLabel });
      const texts = [element("h2", "", title), element("p", "", goal), element("p", "few", few.join(" · "))];
      return element("li", "lesson_card", ...texts, begin);
    }));
  }
}

// The score of a lesson in words, as in headlight/lessons/panel.py.
export function score(right, questions) {
  return say(right === questions ? "all_right" : right ? "some_right" : "none_right", { right, questions });
}

// A step's answer for a sentence; null where the step is about others.
function answerFor({ any, answers }, text) {
  if (any) return Object.values(answers)[0];
  return Object.hasOwn(answers, text) ? answers[text] : null;
}

// Blur the containers of these names, which are those of the app, and take the blur from all others.
function veil(names) {
  const { style } = document.documentElement;
  for (const name of OF_FINDINGS) style.setProperty(`--${name}`, names.includes(name) ? "blur(9px)" : "none");
  for (const [key, to] of Object.entries(OF_LINES)) style.setProperty(`--${key}`, names.includes("lines") ? to : "");
  const veiled = new Set(names.flatMap((name) => [...document.querySelectorAll(`.st-key-${name}`)]));
  for (const place of document.querySelectorAll(".component")) {
    place.classList.toggle("veiled", veiled.has(place));
    place.inert = veiled.has(place);
  }
}
