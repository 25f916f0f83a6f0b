// Two translations of a sentence, token under token, with log P of each token (see story.js).
// Token text is hostile until it is set as text.

import { element } from "../lib/canvas.js";
import { decodeFacts } from "../lib/facts.js";
import { findingElement } from "../lib/finding.js";
import { Component, mounted } from "../lib/mount.js";
import { storyOf } from "./story.js";

class TranslationTable extends Component {
  // facts: see story.js; as Python wrote them, or decoded already.
  receive(facts) {
    const story = storyOf(decodeFacts(facts)), text = JSON.stringify(story);
    if (text === this.text) return; // what is unfolded stays so
    this.text = text;
    const { line, label, rows, finding } = story, [lead, translation] = this.find(".line").children;
    const scroller = this.find(".scroller");
    Object.assign(this.find(".line"), { hidden: !line });
    Object.assign(scroller, { hidden: !rows, ariaLabel: label });
    [lead.textContent, translation.textContent] = [line?.lead ?? "", line?.text ?? ""];
    scroller.replaceChildren(...(rows ? [element("table", "", element("tbody", "", ...rows.map(rowElement)))] : []));
    this.find(".numbers").hidden = !rows;
    this.find(".found").replaceChildren(...(finding ? [findingElement(finding)] : []));
  }
}

function rowElement([name, cells, isFolded]) {
  const head = Object.assign(element("th", "", name), { scope: "row" });
  return element("tr", isFolded ? "folded" : "", head, ...cells.map((cell) => {
    const { text, css = "", shade } = cell ?? { text: "" };
    const node = element("td", css, text);
    if (shade !== undefined) node.style.setProperty("--shade", Math.min(1, Math.max(0, shade)).toFixed(3));
    return node;
  }));
}

export default mounted(TranslationTable);
