// The way through the steps: a button for each with the shape of what it makes, one step back and forth, all at once.

import { element } from "../lib/canvas.js";
import { ALL } from "./story.js";

export class Rail {
  constructor(place, choose) {
    Object.assign(this, { place, choose, names: [] });
    this.find = (selector) => place.querySelector(selector);
    this.find(".back").onclick = () => this.move(-1);
    this.find(".forward").onclick = () => this.move(1);
    this.find(".all").onclick = () => choose(this.chosen === ALL ? this.names[0] : ALL);
  }

  layOut(steps) {
    this.place.hidden = false;
    const names = steps.map(({ name }) => name);
    if (names.join() !== this.names.join()) {
      this.names = names;
      this.buttons = steps.map(({ name }, index) => {
        const node = element("button", "", element("span", "number", index + 1), element("span"));
        return Object.assign(node, { onclick: () => this.choose(name) });
      });
      this.find(".stops").replaceChildren(...this.buttons.map((button) => element("li", "", button)));
    }
    steps.forEach(({ title }, index) => {
      this.buttons[index].lastChild.textContent = title;
      this.buttons[index].setAttribute("aria-label", `${index + 1}. ${title}`); // a phone has the numbers alone
    });
  }

  mark(chosen) {
    this.chosen = chosen;
    const place = this.names.indexOf(chosen);
    this.buttons.forEach((button, index) => button.setAttribute("aria-current", index === place ? "step" : "false"));
    this.find(".all").setAttribute("aria-pressed", chosen === ALL);
    this.find(".back").disabled = place === 0;
    this.find(".forward").disabled = place === this.names.length - 1;
  }

  move(by) {
    const place = this.names.indexOf(this.chosen);
    const next = this.names[place < 0 ? 0 : place + by];
    if (next) this.choose(next);
  }
}
