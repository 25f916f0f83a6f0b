// Raised hands, counted by the teacher: a class without phones, or with some who have none.

import { element } from "../lib/canvas.js";

const MOST = 999;

export class RaisedHands {
  // count: gets how many hands were raised for each option.
  constructor(dialog, count) {
    this.dialog = dialog;
    this.find = (selector) => dialog.querySelector(selector);
    this.find(".shut").onclick = () => dialog.close();
    this.find("form").onsubmit = (event) => {
      event.preventDefault();
      dialog.close();
      count([...dialog.querySelectorAll(".raised input")].map(({ value }) => Number(value)));
    };
  }

  open({ options, hands }) {
    this.find(".raised").replaceChildren(...options.map((option, at) => {
      const input = element("input", "");
      Object.assign(input, { type: "number", min: 0, max: MOST, step: 1, value: hands[at] ?? 0, required: true });
      return element("label", "", option, input);
    }));
    this.dialog.showModal();
    this.find(".raised input").select();
  }
}
