// Source tokens above, output tokens below, and between them the weights of one cross-attention head. Pointing at a
// token, by mouse, finger or keys, leaves its lines alone and writes its weights beside the tokens of the other row.

import { offerPicture } from "../export/snapshot.js";
import { element, isShortcut, opacity, svgElement } from "../lib/canvas.js";
import { Component, mounted } from "../lib/mount.js";
import { Table } from "../lib/table.js";
import { LARGEST_LETTERS, curve, lettersFor, linesOf, moved, opacityOf, tintOf, widthOf } from "./geometry.js";
import { figureOf } from "./picture.js";
import { invitation, outputWords, sourceWords, weightText } from "./words.js";

const LITTLE = 0.05; // smaller weights are written faintly
const SIDES = ["source", "output"];
const tint = (share) => `rgba(31, 119, 224, ${tintOf(share).toFixed(3)})`;

class TokenLines extends Component {
  constructor(root) {
    super(root);
    const { find } = this;
    Object.assign(this, { frame: find(".token_lines"), scroll: find(".scroll"), stage: find(".stage") });
    Object.assign(this, { between: find(".between"), readout: find(".readout") });
    this.rows = { source: find(".source"), output: find(".output") };
    this.hovered = this.focused = null; // {side, index}
    for (const side of SIDES) this.listenToRow(side, this.rows[side]);
    const label = () => `Weights of ${this.data.name}: a row for each output token, a column for each source token`;
    this.table = new Table(find("details"), label, () => this.tableRows());
    const figure = () => figureOf(this.data);
    find(".under").append(offerPicture("tokens joined by attention", figure, this.frame, () => [this.stage]));
    this.whenResized(this.scroll, () => this.place());
  }

  listenToRow(side, row) {
    const found = (event) => {
      const index = [...row.children].indexOf(event.target.closest("button"));
      return index < 0 ? null : { side, index };
    };
    const point = (name, to) => {
      this[name] = to;
      this.show();
    };
    // A finger that is lifted leaves the token, which stays focused: only a mouse hovers.
    row.onpointerover = (event) => event.pointerType === "mouse" && point("hovered", found(event));
    row.onpointerleave = () => point("hovered", null);
    row.addEventListener("focusin", (event) => point("focused", found(event)));
    row.addEventListener("focusout", () => point("focused", null));
    row.onclick = (event) => event.target.closest("button")?.focus(); // which Safari does not do by itself
    row.onkeydown = (event) => this.key(event, found(event));
  }

  key(event, from) {
    if (!from || isShortcut(event)) return;
    if (event.key === "Escape") return event.target.blur();
    const to = moved(from, event.key, this.centres);
    if (!to) return;
    this.hovered = null;
    this.rows[to.side].children[to.index].focus();
    event.preventDefault();
  }

  receive(data) {
    const texts = JSON.stringify([data.source, data.outputs]), isNew = texts !== this.texts;
    Object.assign(this, { data, texts });
    this.frame.setAttribute("aria-label", `Source and output tokens joined by the cross-attention of ${data.name}`);
    this.stage.style.setProperty("--apart", `${data.apart}px`);
    if (isNew) {
      this.hovered = this.focused = null;
      this.fill("source", data.source);
      this.fill("output", data.outputs);
      this.scroll.scrollLeft = 0;
    }
    data.outputs.forEach((token, index) => {
      const button = this.rows.output.children[index];
      button.querySelector(".token").style.backgroundColor = tint(data.probabilities[index]);
      button.querySelector(".chance").textContent = data.short_chances[index];
      const rank = data.ranks[index] === 1 ? "top-1" : `rank ${data.ranks[index]}`;
      const label = `“${token}”, output token ${index + 1}, probability ${data.chances[index]}, ${rank}`;
      button.setAttribute("aria-label", label);
      button.title = label;
    });
    this.lines = linesOf(data.weights);
    const paths = this.lines.map(({ weight }) => {
      const look = { "stroke-width": widthOf(weight).toFixed(2), "stroke-opacity": opacityOf(weight).toFixed(3) };
      return svgElement("path", look);
    });
    this.between.replaceChildren(...paths);
    this.place();
    this.show();
    this.table.draw();
  }

  fill(side, tokens) {
    const buttons = tokens.map((token, index) => {
      const starts = token.length > 1 && token.startsWith("▁"), text = starts ? token.slice(1) : token;
      const start = starts ? [element("span", "start", "▁")] : [];
      const chip = element("span", "token", ...start, element("span", "word", text));
      const weight = element("span", "weight");
      const parts = side === "source" ? [weight, chip] : [chip, element("span", "chance"), weight];
      const special = this.data.special.includes(token);
      const button = element("button", special ? "special" : "", ...parts);
      button.type = "button";
      button.tabIndex = index ? -1 : 0;
      button.title = `“${token}”, ${side} token ${index + 1}`;
      button.setAttribute("aria-label", button.title);
      return button;
    });
    this.rows[side].replaceChildren(...buttons);
  }

  // Letters as large as both rows allow, then the lines from middle to middle.
  place() {
    if (!this.data || !this.scroll.clientWidth) return;
    const { stage, scroll, rows, between } = this;
    stage.style.setProperty("--size", `${LARGEST_LETTERS}px`);
    stage.style.setProperty("--gap", "6px");
    const letters = lettersFor(stage.scrollWidth, scroll.clientWidth);
    if (letters < LARGEST_LETTERS) {
      stage.style.setProperty("--size", `${letters}px`);
      stage.style.setProperty("--gap", "2px");
    }
    const middle = (button) => button.offsetLeft + button.offsetWidth / 2 - between.parentElement.offsetLeft;
    this.centres = Object.fromEntries(SIDES.map((side) => [side, [...rows[side].children].map(middle)]));
    const { source, output } = this.centres;
    this.lines.forEach(({ row, column }, at) => {
      between.children[at].setAttribute("d", curve(source[column], output[row], this.data.apart));
    });
  }

  // The lines and numbers of what is pointed at, else all lines and no number.
  show() {
    const pointed = this.hovered ?? this.focused, { rows } = this;
    this.between.classList.toggle("pointed", pointed !== null);
    this.lines.forEach((line, at) => {
      const isOn = pointed && line[pointed.side === "output" ? "row" : "column"] === pointed.index;
      this.between.children[at].classList.toggle("on", Boolean(isOn));
    });
    for (const side of SIDES) {
      [...rows[side].children].forEach((button, index) => {
        const isPointed = pointed?.side === side && pointed.index === index;
        const weight = !pointed || pointed.side === side ? null : this.weight(pointed, index);
        button.classList.toggle("pointed", isPointed);
        button.querySelector(".weight").textContent = weight === null ? "" : weightText(weight);
        button.classList.toggle("little", weight !== null && weight < LITTLE);
        if (side === "source") {
          const share = weight === null ? "" : `rgba(31, 119, 224, ${opacity(weight).toFixed(3)})`;
          button.querySelector(".token").style.backgroundColor = share;
        }
        if (this.focused?.side === side) button.tabIndex = this.focused.index === index ? 0 : -1;
      });
    }
    this.readout.textContent = this.words(pointed);
  }

  weight({ side, index }, other) {
    return side === "output" ? this.data.weights[index][other] : this.data.weights[other][index];
  }

  words(pointed) {
    if (!pointed) return invitation(this.data);
    return (pointed.side === "output" ? outputWords : sourceWords)(this.data, pointed.index);
  }

  tableRows() {
    const { source, outputs, weights } = this.data;
    const rows = weights.map((row, index) => [outputs[index], ...row.map((weight) => weight.toFixed(4))]);
    return [["output token", ...source], ...rows];
  }
}

export default mounted(TokenLines);
