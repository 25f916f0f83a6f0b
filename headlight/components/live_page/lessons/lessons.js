// Lessons in a live page: their list, and the app's panel beside the views. What the app's server does for a panel
// (headlight/lessons/panel.py) is done here, each step being put to the sentence in the field.

import { Memory } from "../../lesson_panel/memory.js";
import { default as panel } from "../../lesson_panel/panel.js";
import { element } from "../../lib/canvas.js";
import { bytes } from "../../lib/format.js";
import { isRight, restored, withoutLabels } from "../../standalone_page/lesson.js";
import { filled } from "../payloads/text.js";
import { showExamples } from "./example.js";
import { placeOf, veil } from "./places.js";
import { canBeDone, isQuestion, pose } from "./pose.js";
import { Run } from "./run.js";

const LEAVE = -1, TO_LIST = -2, TO_NEXT = -3; // in place of a step, as in panel.js
const MOST_TRIED = 6; // sentences of a lesson
const LANE = "lesson"; // of what is measured for the step that is shown
const SOON = 300, TYPED = 250; // ms until it is said that something is being measured; after a key
const REPLAY = ["replay"]; // of the figures of the app's page on training
const BYTES = "base64 bytes"; // as in headlight/components/standalone.py
const pause = (time) => new Promise((resolve) => setTimeout(resolve, time));
const FRESH = { choice: null, hints: 0, shown: false, right: false };

// What the page is told of lessons, the answers that are in it made readable.
export function opened(told) {
  const read = (text) => JSON.parse(new TextDecoder().decode(bytes(text)));
  const readable = (step) => (step.answer ? { ...step, answer: read(step.answer[BYTES]) } : step);
  return { ...told, lessons: told.lessons.map((lesson) => ({ ...lesson, steps: lesson.steps.map(readable) })) };
}

export class Lessons {
  // page: a LivePage; told: see headlight/lessons/live.py.
  constructor(page, told) {
    const parts = document.getElementById("live_lessons").content, find = (selector) => parts.querySelector(selector);
    Object.assign(this, { page, told: opened(told), memory: new Memory(), tries: new Map() });
    Object.assign(this, { list: find("section"), side: find(".lesson_side"), elsewhere: find(".elsewhere") });
    const main = document.querySelector("main"), tab = element("a", "", "Lessons");
    tab.dataset.tab = "lessons";
    document.querySelector(".live_tabs").append(tab);
    document.body.classList.add("with_lessons");
    main.before(this.side);
    main.prepend(this.elsewhere);
    main.append(this.list);
    this.place = page.rooted(this.side.querySelector(".component"));
    this.viewNames = [...page.names];
    page.names.push("lessons");
    page.views.lessons = { show: () => this.showList() };
    showExamples(page.viewOf("inside"), this.told.examples);
    page.viewOf("attention").leaveOut = (bytes) => (this.unlabelled ? withoutLabels(bytes) : bytes);
  }

  // The lesson in an address and its step, from 0, which is null where it is not said: "attention.3".
  placeIn(text = "") {
    const [, name, number] = /^([a-z][a-z0-9_]*)(?:\.(\d{1,2}))?$/.exec(text) ?? [];
    const lesson = this.told.lessons.find((each) => each.name === name);
    if (!lesson) return null;
    return { lesson, number: number ? Math.min(Math.max(number - 1, 0), lesson.steps.length) : null };
  }

  // What the page is about to show; called before its view is drawn.
  async show({ view, said, trace, isCurrent }) {
    const place = view === "lessons" ? null : this.placeIn(said.lesson);
    document.body.classList.toggle("in_lesson", Boolean(place));
    this.side.hidden = !place;
    // On a phone the views are in a row to be swiped.
    const tab = document.querySelector(".live_tabs [aria-current]");
    if (tab) tab.parentElement.scrollLeft = tab.offsetLeft - tab.parentElement.offsetLeft - tab.offsetWidth;
    if (!place) return this.rest();
    const { lesson, number } = place;
    if (number === null) return this.go(lesson, 0, true);
    if (number === lesson.steps.length) return this.end(lesson);
    const isFirst = !this.begun, [home] = this.viewNames;
    this.begun = true;
    // A link that somebody wrote by hand: to the step's own view.
    if (isFirst && view === home && !this.viewsOf(lesson.steps[number]).includes(home)) return this.go(lesson, number);
    const isStep = this.posed?.lesson === lesson && this.posed.number === number;
    const known = isStep && this.posed.run.text === trace.sourceText;
    if (!known) this.cover(lesson.steps[number], FRESH);
    const waiting = setTimeout(() => isCurrent() && !known && this.wait(lesson, number), SOON + (isStep ? TYPED : 0));
    try {
      if (isStep && !known) await pause(TYPED); // nothing is measured of a sentence that is being written
      const address = said;
      const run = new Run(this.page.source, this.told, trace, { address, isCurrent, lane: LANE });
      const posed = await pose(lesson, number, run);
      if (!isCurrent()) return;
      this.view = view;
      this.put(posed);
    } catch (error) {
      if (isCurrent()) this.fail(said, error.message);
    } finally {
      clearTimeout(waiting);
    }
  }

  // Without a lesson.
  rest() {
    veil([]);
    this.unlabelled = false;
    this.posed = null;
    this.elsewhere.textContent = "";
  }

  put(posed) {
    const moved = posed.key !== this.posed?.key;
    this.posed = posed;
    const tried = this.triedOf(posed);
    if (posed.answer?.kind === "do" && posed.told.done) tried.right = true;
    this.draw();
    if (moved) this.elsewhere.textContent = this.elsewhereOf(posed);
  }

  draw() {
    const { posed } = this, tried = this.triedOf(posed), views = this.viewsOf(posed.step);
    this.cover(posed.step, tried);
    const isOver = tried.right || tried.shown, key = `${posed.lesson.name}.${posed.number + 1}`;
    const again = posed.asks && !isOver && this.answered(posed.lesson).has(posed.number);
    this.give({ ...posed.payload(tried), away: !views.includes(this.view), again, name: key });
  }

  give(data) {
    const hear = (name, value) => this.hear(name, value);
    const ofPage = { alone: true, lowers: true, known: true };
    panel({ parentElement: this.place, data: { ...data, ...ofPage }, setTriggerValue: hear });
  }

  // What is not to be seen before a question is answered.
  cover(step, tried) {
    const isOver = tried.right || tried.shown, asks = isQuestion(step);
    veil([...step.cover, ...(isOver || !canBeDone(step) ? [] : step.veil)]);
    // As in the app, where heads are labelled on one page alone.
    const unlabelled = asks && !isOver && step.page !== "attention";
    if (this.unlabelled === unlabelled) return;
    this.unlabelled = unlabelled;
    this.page.views.attention.place.host.classList.toggle("unlabelled", unlabelled);
    this.page.views.attention.redraw();
  }

  // Views that show a step or its answer.
  viewsOf(step) {
    return [step.page, step.show_page || step.page].map((page) => this.whereOf(page, {}).view);
  }

  whereOf(page, address) {
    const { num_decoder_layers: layers, num_heads: heads } = this.page.source.model.config;
    const figures = { training: REPLAY };
    return placeOf(page, address, {
      views: this.viewNames, figures, examples: this.told.examples, shape: [layers, heads],
    });
  }

  // Where the app has what this page cannot show, "" where it can.
  elsewhereOf(posed) {
    const { step, answer, run, asks, undecided } = posed;
    if (undecided) return "";
    const say = run.say("elsewhere"), title = this.told.titles[step.page];
    if (asks && answer.kind === "") return say("said", title);
    return this.whereOf(step.page, posed.address() ?? {}).isHere ? "" : say("said 2", title);
  }

  // What was tried of a question, here or on an earlier visit.
  triedOf(posed) {
    const { key, panel: { kind } } = posed;
    if (!this.tries.has(key)) {
      const kept = this.memory.all()[key], tried = restored(posed, kept);
      if (kind === "do") tried.right = kept?.right === true;
      this.tries.set(key, tried);
    }
    return this.tries.get(key);
  }

  // The steps of a lesson, from 0, that were answered rightly, whatever the sentence.
  answered({ name, steps }) {
    const all = { ...this.memory.all(), ...Object.fromEntries(this.tries) }, found = new Set();
    for (const [key, tried] of Object.entries(all)) {
      const [place] = key.split(" "), [of, number] = place.split(".");
      if (of === name && tried?.right === true && isQuestion(steps[number - 1] ?? { ask: [] })) found.add(number - 1);
    }
    return found;
  }

  hear(name, value) {
    if (name === "go") return this.follow(value);
    const { posed } = this, tried = posed && this.triedOf(posed);
    if (!posed?.asks) return null;
    const { kind } = posed.panel, isOver = tried.right || tried.shown;
    if (name === "choice" && !isOver) {
      Object.assign(tried, { choice: value, right: kind === "do" ? posed.told.done : isRight(posed, value) });
    }
    if (name === "hint") tried.hints = Math.min(tried.hints + 1, posed.told.hints.length);
    if (name === "show") tried.shown ||= !tried.right;
    this.draw();
    return name === "show" ? this.reveal(posed) : null;
  }

  // Show the answer, where the page can.
  reveal(posed) {
    const { step, lesson, number } = posed, address = posed.address(true);
    if (!posed.panel.moves || !address) return;
    const page = step.show_page || step.page;
    const { view, said, isHere } = this.whereOf(page, address);
    this.elsewhere.textContent = isHere ? "" : posed.run.say("elsewhere")("said 2", this.told.titles[page]);
    this.page.open(view, { text: posed.run.text, ...said, lesson: `${lesson.name}.${number + 1}` });
  }

  follow(to) {
    const { lesson, number } = this.placeIn(this.page.said.lesson) ?? {}, { lessons } = this.told;
    if (!lesson || to === LEAVE) return this.page.say({ lesson: "" });
    if (to === TO_LIST) return this.page.open("lessons", { text: this.page.said.text });
    if (to === TO_NEXT) return this.go(lessons[lessons.indexOf(lesson) + 1], 0, true);
    if (to > lesson.steps.length) return this.page.say({ lesson: `${lesson.name}.${lesson.steps.length + 1}` });
    return this.go(lesson, to - 1, false, to - 1 === number);
  }

  // Go to a step: with the reader's own sentence if that decides it, else with the first of the lesson's that does.
  async go(lesson, number, begins = false) {
    const { sentences } = lesson.steps[number], own = this.page.said.text, turn = (this.turn = (this.turn ?? 0) + 1);
    const ofLesson = new Set(lesson.steps.flatMap((step) => [...step.sentences]));
    const isOwn = !begins && !ofLesson.has(own);
    const isOther = sentences.length > 0 && !isOwn && (begins || !sentences.includes(own));
    const posed = await this.poseSomehow(lesson, number, isOther ? sentences[0] : own, sentences);
    if (turn !== this.turn) return;
    const { view, said } = this.whereOf(posed.step.page, posed.address() ?? {});
    this.posed = null;
    scrollTo(0, 0);
    this.page.open(view, { ...said, text: posed.run.text, lesson: `${lesson.name}.${number + 1}` });
  }

  async poseSomehow(lesson, number, text, sentences) {
    const tried = canBeDone(lesson.steps[number]) ? sentences.slice(0, MOST_TRIED) : [];
    let first = null;
    for (const each of new Set([text, ...tried])) {
      try {
        const run = new Run(this.page.source, this.told, await this.page.source.trace(each, {}, null));
        const posed = await pose(lesson, number, run);
        if (!posed.undecided) return posed;
        first ??= posed;
      } catch (error) {
        // A text that cannot be translated: the lesson's own can.
        if (!["EmptyTextError", "TooLongError"].includes(error.name) || each === [...tried].at(-1)) throw error;
      }
    }
    return first;
  }

  // What stands after the last step.
  end(lesson) {
    veil([]);
    this.posed = null;
    this.elsewhere.textContent = "";
    const { lessons, phrases: { end: say } } = this.told;
    const asked = lesson.steps.filter((step) => isQuestion(step) && canBeDone(step));
    const score = filled(say["said 3"], [this.answered(lesson).size, asked.length]);
    this.give({
      key: `${lesson.name} end`, title: lesson.title, step: lesson.steps.length + 1, of: lesson.steps.length,
      say: [["strong", say["said 2"]], ["", lesson.goal]], score, note: [], undecided: "", tried: { ...FRESH },
      next_lesson: lessons[lessons.indexOf(lesson) + 1]?.title ?? "",
    });
  }

  // A step without a question: it is being measured, or its sentence cannot be translated.
  wait(lesson, number, say = "Measuring this on your sentence …", undecided = "") {
    this.posed = null;
    this.give({
      key: `${lesson.name}.${number + 1}`, title: lesson.title, step: number + 1, of: lesson.steps.length,
      say: say ? [["", say]] : [], note: [], undecided, tried: { ...FRESH }, last: number + 1 === lesson.steps.length,
    });
  }

  // The sentence in the field cannot be translated, or measured.
  fail({ lesson: text }, words) {
    const { lesson, number } = this.placeIn(text) ?? {};
    if (lesson && number !== null && number < lesson.steps.length) this.wait(lesson, number, "", words);
  }

  showList() {
    const cards = this.told.lessons.map((lesson) => {
      const asked = lesson.steps.filter((step) => isQuestion(step)), here = lesson.steps.filter(canBeDone).length;
      const found = this.answered(lesson).size, all = lesson.steps.length;
      const few = [`${lesson.minutes} minutes`, `${all} steps`];
      if (found) few.push(`${found} of ${asked.length} answers found`);
      if (here < all) few.push(`${all - here} ${all - here === 1 ? "is" : "are"} in the app alone`);
      const does = found ? "Go on" : "Begin";
      const button = element("button", "", does);
      const ariaLabel = `${does}: ${lesson.title}`;
      Object.assign(button, { type: "button", ariaLabel, onclick: () => this.begin(lesson) });
      const told = [element("p", "", lesson.goal), element("p", "few", few.join(" · "))];
      return element("li", "lesson_card", element("h2", "", lesson.title), ...told, button);
    });
    this.list.querySelector(".lesson_cards").replaceChildren(...cards);
  }

  // From the beginning, or at the first question that was not answered.
  begin(lesson) {
    const found = this.answered(lesson);
    const next = lesson.steps.findIndex((step, at) => isQuestion(step) && canBeDone(step) && !found.has(at));
    return this.go(lesson, found.size && next > 0 ? next : 0, true);
  }
}
