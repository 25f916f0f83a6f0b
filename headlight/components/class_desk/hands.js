// Raised hands, counted by the teacher: a class without phones, or with some students who have none.

import { element } from "../lib/canvas.js";

const MOST = 999;

export class RaisedHands {
  // count(numbers): called with the number of raised hands for each option.
  constructor(dialog, count) {
    Object.assign(this, { dialog, rows: dialog.querySelector(".raised") });
    dialog.querySelector(".shut").onclick = () => dialog.close();
    dialog.querySelector("form").onsubmit = (event) => {
      event.preventDefault();
      dialog.close();
      count(Array.from(this.rows.querySelectorAll("input"), ({ value }) => Number(value)));
    };
  }

  open({ options, hands }) {
    this.rows.replaceChildren(...options.map((option, at) => {
      const number = { type: "number", min: 0, max: MOST, step: 1, value: hands[at] ?? 0, required: true };
      return element("label", "", option, Object.assign(element("input"), number));
    }));
    this.dialog.showModal();
    this.rows.querySelector("input").select();
  }
}
