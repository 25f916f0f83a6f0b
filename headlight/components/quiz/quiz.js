// The quiz of a single visitor: six items of one form before the lessons, six of the other one after. The answers are
// in this browser alone, until the visitor saves them as a file.

import { csvOf } from "../export/csv.js";
import { saveFile } from "../export/pictures.js";
import { readObject, storage, writeObject } from "../lesson_panel/memory.js";
import { button } from "../lib/canvas.js";
import { Component, mounted } from "../lib/mount.js";

const NAME = "headlight-quiz", TIMES = ["before", "after"], FORMS = ["A", "B"];
const HEADER = [
  "round", "step", "question", "participant", "answer", "right", "seconds", "quiz", "form", "item", "idea", "level",
  "misconception",
]; // as in headlight/classroom/teaching.py

const fill = (text, values) => text.replace(/\{(\w+)\}/g, (_, name) => values[name]);

// The items of a quiz for a visitor, who begins with `first`, 0 for form A.
export function itemsOf(items, first, when) {
  return items.filter(({ form }) => form === FORMS[(first + TIMES.indexOf(when)) % FORMS.length]);
}

export function rightOf(items, answers) {
  return items.filter(({ right }, at) => answers[at] === right).length;
}

// All answers as a table, as that of a class.
export function tableOf(all, { number, first, ...answers }) {
  const rows = TIMES.flatMap((when, round) => itemsOf(all, first, when).flatMap((item, at) => {
    const chosen = answers[when]?.[at];
    if (chosen === undefined) return [];
    const { text, options, right, form, name, idea, level, misconceptions } = item;
    const judged = chosen === right ? "yes" : "no", about = [when, form, name, idea, level, misconceptions[chosen]];
    return [[round + 1, `quiz.${when}`, text, number, options[chosen], judged, "", ...about]];
  }));
  return { header: HEADER, rows };
}

class Quiz extends Component {
  constructor(root) {
    super(root);
    this.store = storage("localStorage");
  }

  receive(data) {
    this.data = data;
    const held = readObject(this.store, NAME);
    this.held = Array.isArray(held.before) ? held : {};
    this.draw();
  }

  // Take over changes of what this browser has.
  keep(changes) {
    this.held = { ...this.held, ...changes };
    writeObject(this.store, NAME, this.held);
    this.place = undefined;
    this.draw();
  }

  begin(when) {
    const number = String(crypto.getRandomValues(new Uint32Array(1))[0]);
    this.keep(when === "before" ? { number, first: number % 2, before: [], after: undefined } : { after: [] });
  }

  draw() {
    const { items, texts } = this.data, { held } = this, when = held.after ? "after" : "before", answers = held[when];
    const own = itemsOf(items, held.first, when), place = this.place ?? answers?.length;
    const item = own[place], numbers = { number: place + 1, of: own.length };
    this.write({
      ".place": item ? `${texts[when]} · ${fill(texts.place, numbers)}` : "",
      "h2": item ? item.text : answers ? this.result(own) : texts.invite,
    });
    this.find(".options").replaceChildren(...(item?.options ?? []).map((label, option) => {
      const chosen = button(label, () => this.keep({ [when]: Object.assign([...answers], { [place]: option }) }));
      chosen.ariaPressed = String(answers[place] === option);
      return chosen;
    }));
    const back = button(texts.back, () => {
      this.place = place - 1;
      this.draw();
    });
    const save = () => saveFile("quiz.csv", "text/csv", csvOf(tableOf(items, held)));
    const next = answers && !held.after ? "after" : "before";
    const go = button(held.after ? texts.again : texts[next], () => this.begin(next), "next");
    const after = item ? (place ? [back] : []) : answers ? [go, button(texts.save, save)] : [go];
    this.find(".acts").replaceChildren(...after);
  }

  result(own) {
    const { items, texts } = this.data, { first, before, after } = this.held, of = own.length;
    const right = rightOf(itemsOf(items, first, "before"), before);
    if (!after) return fill(texts.result_before, { right, of });
    return fill(texts.result_after, { before: right, after: rightOf(own, after), of });
  }
}

export default mounted(Quiz);
