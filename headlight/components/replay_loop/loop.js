// One head of a training replay in six seconds, from its first snapshot to its last, above what the model then wrote.
//
// Facts: { steps, outputs, sourceText, targetText, map }, map: { shape: [snapshots, rows, columns], weights }.

import { element, isDark, tint } from "../lib/canvas.js";
import { decodeFacts } from "../lib/facts.js";
import { Component, mounted } from "../lib/mount.js";
import { say } from "./texts.toml";

const DURATION = 6000; // milliseconds of the whole loop

class ReplayLoop extends Component {
  constructor(root) {
    super(root);
    this.find(".play").onclick = () => (this.timer ? this.stop() : this.play());
    this.ends.push(() => this.stop());
  }

  receive({ facts }) {
    this.stop();
    this.facts = decodeFacts(facts);
    const [, rows, columns] = this.facts.map.shape;
    this.cells = Array.from({ length: rows * columns }, () => element("i"));
    this.find(".cells").style.gridTemplateColumns = `repeat(${columns}, auto)`;
    this.find(".cells").replaceChildren(...this.cells);
    this.show(this.facts.steps.length - 1);
  }

  play() {
    const { length } = this.facts.steps;
    this.find(".play").textContent = say("stop");
    this.show(0);
    this.timer = setInterval(() => {
      this.show(this.at + 1);
      if (this.at === length - 1) this.stop();
    }, DURATION / (length - 1));
  }

  stop() {
    clearInterval(this.timer);
    this.timer = null;
    this.find(".play").textContent = say("play");
  }

  show(at) {
    const { steps, outputs, sourceText, map } = this.facts, dark = isDark(this.find(".cells"));
    this.at = at;
    this.cells.forEach((cell, index) => tint(cell, map.weights[at * this.cells.length + index], dark));
    this.find(".wrote").textContent = outputs[at] || say("nothing");
    this.find(".about").textContent = say("about", { source: sourceText, steps: steps[at] });
  }
}

export default mounted(ReplayLoop);
