// A search as a tree: a button for each branch, one column a step, lines to what it grew from. Pointing at a branch
// says what it is and where its step reads in the source; a click goes on from there.

import { offerPicture } from "../export/capture.js";
import {
  ARROWS, button, element, isDark, isShortcut, opacity, shortened, svgElement, tint, tintOf,
} from "../lib/canvas.js";
import { decodeFacts } from "../lib/facts.js";
import { findingElement } from "../lib/finding.js";
import { Component, mounted } from "../lib/mount.js";
import { invite } from "../lib/screen.js";
import { chipText, inWords, joined, shownToken, spoken, wordRanges } from "../lib/tokens.js";
import { percent } from "../lib/words.js";
import { columnsIn, moved, way } from "./moves.js";
import { figureOf } from "./picture.js";
import { findingOf, treeOf } from "./story.js";
import { say } from "./texts.toml";

const HIGH = 33; // pixels from row to row

class BeamTree extends Component {
  constructor(root) {
    super(root);
    const { find } = this, scroll = find(".scroll");
    Object.assign(this, { scroll, frame: find(".player") });
    for (const name of ["stage", "edges", "readout", "reads"]) this[name] = find(`.${name}`);
    const elements = () => [this.stage, find(".legend")];
    find(".under").append(offerPicture(say("download"), () => figureOf(this.data), this.frame, elements));
    this.stage.onpointerover = ({ target }) => this.describe(target.closest("button"));
    this.stage.addEventListener("focusin", ({ target }) => this.describe(target.closest("button")));
    this.stage.onkeydown = (event) => this.key(event);
    this.whenResized(scroll, () => this.arrange());
  }

  // { branches, source, head }: see story.js.
  receive(search) {
    const text = JSON.stringify(search);
    if (text === this.text) return;
    const facts = decodeFacts(search.branches), data = { ...search, branches: treeOf(facts) };
    Object.assign(this, { data, text });
    this.find(".found").replaceChildren(findingElement(findingOf(facts)));
    this.buttons = data.branches.map((branch, number) => this.button(branch, number));
    this.stage.replaceChildren(this.edges, ...this.buttons);
    const rows = 1 + Math.max(...data.branches.map(({ row }) => row));
    this.stage.style.height = `${rows * HIGH}px`;
    this.buttons[0].tabIndex = 0;
    this.describe(null);
    this.arrange();
  }

  // The columns as wide as there is room, and the lines between them.
  arrange() {
    if (!this.data || !this.scroll.clientWidth) return;
    const { branches } = this.data, count = 1 + Math.max(...branches.map(({ step }) => step));
    this.columns = columnsIn(this.scroll.clientWidth, count);
    this.stage.style.width = `${count * this.columns.pitch - this.columns.gap}px`;
    branches.forEach((branch, number) => {
      const { left, top } = this.place(branch), width = `${this.columns.wide}px`;
      Object.assign(this.buttons[number].style, { left: `${left}px`, top: `${top}px`, width });
    });
    this.edges.replaceChildren(...branches.flatMap((branch) => this.edge(branch)));
  }

  place({ step, row }) {
    return { left: step * this.columns.pitch, top: row * HIGH };
  }

  button(branch, number) {
    const take = () => this.setTriggerValue("choice", branch.ids);
    const node = button(shortened(shownToken(branch.token)), take, branch.look);
    if (branch.note) node.append(" ", element("small", "", branch.note));
    node.style.backgroundColor = tintOf(opacity(0.8 * branch.chance));
    node.dataset.number = number;
    return Object.assign(node, { tabIndex: -1, ariaLabel: spoken(branch.words) });
  }

  edge(branch) {
    if (branch.parent < 0) return [];
    const from = this.place(this.data.branches[branch.parent]), to = this.place(branch), middle = HIGH / 2 - 3;
    const { wide, gap } = this.columns;
    const d = way({ x: from.left + wide, y: from.top + middle }, { x: to.left, y: to.top + middle }, gap);
    return [svgElement("path", { d, class: branch.look.includes("best") ? "best" : "" })];
  }

  describe(target) {
    const branch = target ? this.data.branches[target.dataset.number] : null;
    this.readout.textContent = branch ? inWords(branch.words) : invite(say("invitation"));
    const dark = isDark(this.stage), { layer, head } = this.data.head;
    const chips = Array.from(branch?.reads ?? [], (weight, index) => {
      const token = this.data.source[index], chip = element("span", "", chipText(token));
      tint(chip, weight, dark);
      return Object.assign(chip, { title: percent(weight) });
    });
    const words = joined(chips, wordRanges(this.data.source));
    const reader = say("reader", { layer: layer + 1, head: head + 1 });
    this.reads.replaceChildren(...(chips.length ? [reader, ...words] : []));
  }

  key(event) {
    const number = Number(event.target.closest("button")?.dataset.number);
    if (isShortcut(event) || !(event.key in ARROWS) || Number.isNaN(number)) return;
    event.preventDefault();
    const to = moved(this.data.branches, number, ARROWS[event.key]);
    this.buttons[number].tabIndex = -1;
    this.buttons[to].tabIndex = 0;
    this.buttons[to].focus();
  }
}

export default mounted(BeamTree);
