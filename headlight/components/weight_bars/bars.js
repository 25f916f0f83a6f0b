// A row of attention weights: a bar a key, which is dragged or moved by the arrow keys; the others are scaled, so that
// they go on summing to 1. A click on a token chooses it.

import { element } from "../lib/canvas.js";
import { Component, mounted } from "../lib/mount.js";
import { rowText } from "../lib/names.js";
import { inWords, shownTokens, spoken } from "../lib/tokens.js";
import { percentInCell } from "../lib/words.js";
import { say } from "./texts.toml";
import { redistributed, written } from "./weights.js";

const LEAST = 0.005; // a change that two decimals show

class WeightBars extends Component {
  constructor(root) {
    super(root);
    this.list = this.find(".rows");
    this.title = this.find(".title");
  }

  receive(data) {
    const texts = JSON.stringify(data.tokens), title = inWords(rowText(data.kind, data.row, data.row_token));
    // The answer to what was dragged before must not take away what is being dragged now.
    const dragging = this.drawn && data !== this.data && texts === this.texts && title === this.title.textContent;
    if (!dragging) this.weights = [...data.after];
    this.drawn = dragging;
    this.data = data;
    this.title.textContent = title;
    const shown = shownTokens(data.tokens);
    const rows = () => data.tokens.map((token, index) => this.row(token, index, shown[index]));
    if (texts !== this.texts) this.list.replaceChildren(...rows());
    this.texts = texts;
    this.show();
  }

  row(token, index, shown) {
    const button = element("button", "", shown), input = element("input");
    button.type = "button";
    button.setAttribute("aria-label", spoken(token));
    button.onclick = () => this.setTriggerValue("choice", String(index + 1));
    Object.assign(input, { type: "range", min: 0, max: 1, step: 0.01 });
    input.setAttribute("aria-label", say("weight", { token: spoken(token), number: index + 1 }));
    input.oninput = () => this.draw(index, Number(input.value));
    // A drag may end without a change: drawn back to where it was, or cancelled.
    const ended = () => this.drawn && this.echo.later(() => this.report());
    for (const name of ["change", "pointerup", "pointercancel", "blur"]) input.addEventListener(name, ended);
    const bar = element("span", "bar", element("span", "fill"), element("span", "before"), input);
    return element("li", "", button, bar, element("span", "number"));
  }

  draw(index, weight) {
    this.echo.cancel();
    this.drawn = true;
    this.weights = redistributed(this.weights, index, weight);
    this.show();
  }

  report() {
    this.drawn = false;
    this.setTriggerValue("weights", written(this.weights));
  }

  show() {
    const { activeElement } = this.list.getRootNode(); // the document knows but the shadow root around it
    [...this.list.children].forEach((row, index) => {
      const weight = this.weights[index], input = row.querySelector("input");
      row.style.setProperty("--after", weight);
      row.style.setProperty("--was", this.data.before[index]);
      row.classList.toggle("changed", Math.abs(weight - this.data.before[index]) >= LEAST);
      row.querySelector(".number").textContent = percentInCell(weight);
      row.querySelector("button").setAttribute("aria-pressed", index === this.data.key);
      if (activeElement !== input) input.value = weight;
    });
  }
}

export default mounted(WeightBars);
