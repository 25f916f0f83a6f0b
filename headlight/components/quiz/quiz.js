// The quiz of a single visitor: six items of one form before the lessons, six of the other one after. The answers are
// in this browser alone, until the visitor saves them as a file.

import { csvOf } from "../export/csv.js";
import { saveFile } from "../export/pictures.js";
import { readObject, storage, writeObject } from "../lesson_panel/memory.js";
import { button } from "../lib/canvas.js";
import { Component, mounted } from "../lib/mount.js";

const NAME = "headlight-quiz", TIMES = ["before", "after"], FORMS = ["A", "B"];
const store = storage("localStorage");
const fill = (text, values) => text.replace(/\{(\w+)\}/g, (_, name) => values[name]);

class Quiz extends Component {
  // held: number and first form of the visitor, 0 for A, and the options chosen before and after.
  receive(data) {
    const held = readObject(store, NAME);
    Object.assign(this, { data, held: Array.isArray(held.before) ? held : {} });
    this.draw();
  }

  keep(changes) {
    Object.assign(this.held, changes);
    writeObject(store, NAME, this.held);
    this.draw();
  }

  begin(when) {
    const number = crypto.getRandomValues(new Uint32Array(1))[0];
    this.keep(when === "before" ? { number, first: number % 2, before: [], after: undefined } : { after: [] });
  }

  itemsOf(when) {
    const form = FORMS[(this.held.first + TIMES.indexOf(when)) % FORMS.length];
    return this.data.items.filter((item) => item.form === form);
  }

  rightOf(when) {
    return this.itemsOf(when).filter(({ right }, at) => this.held[when]?.[at] === right).length;
  }

  draw(place) {
    const { data: { texts }, held } = this, when = held.after ? "after" : "before", answers = held[when];
    const items = this.itemsOf(when), number = place ?? answers?.length, item = items[number], of = items.length;
    const counts = { number: number + 1, of, right: this.rightOf("before"), after: this.rightOf("after") };
    const result = fill(texts[`result_${when}`], counts);
    this.find(".place").textContent = item ? `${texts[when]} · ${fill(texts.place, counts)}` : "";
    this.find("h2").textContent = item?.text ?? (answers ? result : texts.invite);
    this.find(".options").replaceChildren(...(item?.options ?? []).map((label, option) => {
      const choose = () => this.keep({ [when]: Object.assign([...answers], { [number]: option }) });
      return Object.assign(button(label, choose), { ariaPressed: String(answers[number] === option) });
    }));
    const next = answers && !held.after ? "after" : "before";
    const go = button(held.after ? texts.again : texts[next], () => this.begin(next), "next");
    const acts = item ? [button(texts.back, () => this.draw(number - 1))] : [go, button(texts.save, () => this.save())];
    this.find(".acts").replaceChildren(...acts.slice(item && !number ? 1 : 0, answers ? 2 : 1));
  }

  // Save all answers as a table, as that of a class.
  save() {
    const rows = TIMES.flatMap((when) => (this.held[when] ?? []).map((chosen, at) => {
      const item = this.itemsOf(when)[at], { text: question, name, misconceptions, options } = item;
      const judged = { answer: options[chosen], right: chosen === item.right ? "yes" : "no" };
      const about = { quiz: when, item: name, participant: this.held.number, question };
      const cells = { ...item, ...about, ...judged, misconception: misconceptions[chosen] };
      return this.data.columns.map((column) => cells[column]);
    }));
    saveFile("quiz.csv", "text/csv", csvOf({ header: this.data.columns, rows }));
  }
}

export default mounted(Quiz);
