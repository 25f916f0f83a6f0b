// Source tokens above, output tokens below, and between them the weights of one cross-attention head. Pointing at a
// token, by mouse, finger or keys, leaves its lines alone and writes its weights beside the tokens of the other row. A
// click on a source word reports that it is to be hidden, or shown again.

import { offerDownload } from "../export/menu.js";
import { element, opacity, tintOf } from "../lib/canvas.js";
import { decodeFacts } from "../lib/facts.js";
import { local } from "../lib/language.js";
import { Component, mounted } from "../lib/mount.js";
import { MOMENT, isStill } from "../lib/motion.js";
import { invite, press } from "../lib/screen.js";
import { Table } from "../lib/table.js";
import { chipText, inWords, isSpecial, joined } from "../lib/tokens.js";
import { changesOf, curve, linesOf, lookOf, shareOf } from "./geometry.js";
import { figureOf, labelOf } from "./picture.js";
import { SIDES, centresOf, fitLetters, listenToRow, markLines, pathLike, weightBetween } from "./rows.js";
import { linesStory } from "./story.js";
import { say } from "./texts.toml";
import { belowName, doubtText, invitation, outputWords, shareText, sourceWords, spokenName } from "./words.js";

const LITTLE = 0.05; // smaller weights are written faintly
const LAYOUTS = { alone: { apart: "max(200px, 26vh)", letters: 20 }, "beside map": { apart: "230px", letters: 15 } };
const PHONE = "(max-width: 640px)", LEGIBLE = 15; // pixels: rows of smaller letters then stand side by side
const ALL = -1; // reported as a word: nothing is to be hidden any more

class TokenLines extends Component {
  constructor(root) {
    super(root);
    const { find } = this;
    this.frame = find(".token_lines");
    for (const name of ["scroll", "stage", "between", "readout", "whole"]) this[name] = find(`.${name}`);
    find(".all").onclick = () => this.setTriggerValue("word", ALL);
    this.rows = { source: find(".source"), output: find(".output") };
    this.buttons = { source: [], output: [] };
    this.hovered = this.focused = null; // {side, index}
    listenToRow(this, "source", this.rows.source, (clicked) => clicked && this.hide(clicked.index));
    listenToRow(this, "output", this.rows.output, (clicked, event) => clicked && this.doubt(clicked.index, event));
    const label = () => say("table", { head: this.data.name, below: this.belowToken });
    this.table = new Table(find("details"), label, () => this.tableRows());
    find(".under").append(offerDownload(say("download"), () => figureOf(this.data)));
    this.whenResized(this.scroll, () => this.place());
  }

  // Report that the word of a source token is to be hidden, or shown again.
  hide(index) {
    const word = this.data.sourceWords.findIndex(([first, after]) => first <= index && index < after);
    if (word >= 0) this.setTriggerValue("word", word);
  }

  // Report a doubtful token whose other candidate was clicked, or that was chosen by key.
  doubt(index, { target, detail }) {
    if (this.data.doubts[index] && (detail === 0 || target.matches(".doubt"))) this.setTriggerValue("doubt", index);
  }

  // Facts and options: see story.js.
  receive({ facts, layer, head, rows, layout }) {
    const data = linesStory(decodeFacts(facts), { layer, head }, rows);
    this.layout = LAYOUTS[layout];
    const texts = JSON.stringify([data.source, data.outputs]), isNew = texts !== this.texts;
    const isSameSource = JSON.stringify(data.source) === JSON.stringify(this.data?.source);
    Object.assign(this, { data, texts });
    this.frame.setAttribute("aria-label", labelOf(data));
    this.stage.style.setProperty("--apart", `var(--lines-apart, ${this.layout.apart})`);
    if (isNew) {
      this.hovered = null;
      if (!isSameSource) {
        this.focused = null;
        this.fill("source", data.source, data.sourceWords);
        this.scroll.scrollLeft = 0;
      } else if (this.focused?.side === "output") this.focused = null;
      this.fill("output", data.outputs, data.outputWords);
    }
    this.describeSource();
    this.find(".headline").textContent = invite(data.headline);
    this.find(".all").hidden = !data.hidden.length;
    data.outputs.forEach((_, index) => this.describeOutput(index, isNew && isSameSource));
    const before = isNew || isStill() ? null : this.lines;
    this.lines = linesOf(data.weights);
    this.paths = this.lines.map(({ weight }) => pathLike(weight));
    this.between.replaceChildren(...this.paths);
    this.place();
    if (before) this.changeFrom(before);
    this.table.draw();
  }

  // Let the lines change from their former weights; lines that are gone fade below the others.
  changeFrom(before) {
    const { stays, goes } = changesOf(before, this.lines);
    const change = (path, ...weights) => path.animate(weights.map(lookOf), MOMENT);
    stays.forEach(({ at, weight }) => change(this.paths[at], weight, this.lines[at].weight));
    goes.forEach((line) => {
      const path = pathLike(line.weight);
      path.setAttribute("d", this.pathOf(line));
      this.between.prepend(path);
      change(path, line.weight, 0).onfinish = () => path.remove();
    });
  }

  describeSource() {
    const { source, sourceWords: words, hidden } = this.data;
    this.buttons.source.forEach((button, index) => {
      const isHidden = hidden.includes(index), offer = !button.classList.contains("special");
      const isTap = press() === "tap", hide = isTap ? say("tap_hide") : say("click_hide");
      const what = offer ? isHidden ? say(isTap ? "tap_show" : "click_show") : hide : "";
      button.classList.toggle("hidden", isHidden);
      if (offer) button.setAttribute("aria-pressed", String(isHidden));
      button.title = spokenName(source, words, "source", index) + what;
      button.setAttribute("aria-label", button.title);
    });
  }

  describeOutput(index, flashes) {
    const { below, probabilities, changed, doubts } = this.data, button = this.buttons.output[index];
    const isOutput = below === "output", chance = probabilities[index], doubt = isOutput && doubts[index];
    const isChanged = isOutput && changed.includes(index), label = belowName(this.data, index);
    const also = doubt ? say(press() === "tap" ? "tap_doubt" : "click_doubt", { doubt: doubtText(doubt) }) : "";
    button.querySelector(".token").style.setProperty("--tint", isOutput ? tintOf(shareOf(chance)) : "transparent");
    button.querySelector(".chance").textContent = isOutput ? shareText(chance) : "";
    button.querySelector(".doubt").textContent = doubt ? doubtText(doubt) : "";
    button.classList.toggle("changed", isChanged);
    button.classList.toggle("flashes", isChanged && flashes);
    button.setAttribute("aria-label", label + also + (isChanged ? say("changed") : ""));
    button.title = label + also;
  }

  fill(side, tokens, words) {
    const buttons = tokens.map((token, index) => {
      const special = isSpecial(token);
      const chip = element("span", "token", chipText(token)), weight = element("span", "weight");
      const [chance, doubt] = ["chance", "doubt"].map((name) => element("span", name));
      const parts = side === "source" ? [weight, chip] : [chip, chance, doubt, weight];
      const button = element("button", special ? "special" : "", ...parts);
      button.type = "button";
      button.tabIndex = index ? -1 : 0;
      const word = words.findIndex(([start, stop]) => start <= index && index < stop);
      button.dataset.at = side === "source" ? `word ${word + 1}` : `row ${index + 1}`; // for a lesson to scroll to
      return button;
    });
    this.buttons[side] = buttons;
    this.rows[side].replaceChildren(...joined(buttons, words));
    if (side === "output") this.showLost();
  }

  // Words that vanished from the translation, faint, where they stood.
  showLost() {
    for (const { at, text } of this.data.lost) {
      const ghost = element("del", "ghost", text);
      ghost.title = say("gone", { word: text });
      const next = this.buttons.output[at]?.closest(".word");
      if (next) next.before(ghost);
      else this.rows.output.append(ghost);
    }
  }

  // Letters as large as both rows allow, then the lines from middle to middle.
  place() {
    if (!this.data || !this.scroll.clientWidth) return;
    const { stage, scroll, buttons } = this, largest = this.layout.letters, room = scroll.clientWidth;
    stage.classList.remove("upright");
    stage.style.setProperty("--gap", "6px");
    const letters = fitLetters(stage, room, largest);
    if (letters < largest) stage.style.setProperty("--gap", "2px");
    this.isUpright = letters < LEGIBLE && window.matchMedia(PHONE).matches;
    stage.classList.toggle("upright", this.isUpright);
    // A translation that is too wide is scrolled, and stands below as a text.
    this.whole.hidden = !this.data.whole || stage.scrollWidth <= room;
    this.whole.textContent = this.data.whole;
    const chips = (side) => buttons[side].map((button) => button.querySelector(".token"));
    this.centres = centresOf(stage, { source: chips("source"), output: chips("output") }, this.isUpright);
    this.lines.forEach((line, at) => this.paths[at].setAttribute("d", this.pathOf(line)));
    this.reserve();
  }

  // Room for the longest words: what stands below them moves under no finger.
  reserve() {
    const tokens = SIDES.flatMap((side) => this.buttons[side].map((_, index) => ({ side, index })));
    const longest = invitation({ heads: 99, resting: { token: "</s>", key: "." }, doubts: [true] });
    const { style } = this.readout;
    const texts = [longest, ...tokens.map((each) => this.words(each))].map(inWords);
    style.minHeight = "";
    this.readout.textContent = texts.reduce((one, other) => (other.length > one.length ? other : one));
    style.minHeight = `${this.readout.offsetHeight}px`;
    this.show();
  }

  pathOf({ row, column }) {
    return curve(this.centres.source[column], this.centres.output[row], this.isUpright);
  }

  // The lines and numbers of what is pointed at, else all lines and no number.
  show() {
    const named = this.hovered ?? this.focused;
    // Nothing reads a hidden word, so that pointing at it would leave no line.
    const pointed = named?.side === "source" && this.data.hidden.includes(named.index) ? null : named;
    markLines(this.between, this, pointed);
    this.stage.classList.toggle("of_source", pointed?.side === "source");
    for (const side of SIDES) {
      this.buttons[side].forEach((button, index) => {
        const isPointed = pointed?.side === side && pointed.index === index;
        const weight = !pointed || pointed.side === side ? null : weightBetween(this.data.weights, pointed, index);
        button.classList.toggle("pointed", isPointed);
        button.querySelector(".weight").textContent = weight === null ? "" : shareText(weight);
        button.classList.toggle("little", weight !== null && weight < LITTLE);
        if (side === "source") {
          const share = weight === null ? "transparent" : tintOf(opacity(weight));
          button.querySelector(".token").style.setProperty("--tint", share);
        }
        if (this.focused?.side === side) button.tabIndex = this.focused.index === index ? 0 : -1;
      });
    }
    const words = inWords(this.words(pointed));
    this.readout.textContent = words + (words.includes("␣") ? say("blank") : "");
  }

  words(pointed) {
    if (!pointed) return invite(invitation(this.data));
    return (pointed.side === "output" ? outputWords : sourceWords)(this.data, pointed.index);
  }

  get belowToken() {
    return say(this.data.below === "output" ? "output_token" : "input_token");
  }

  tableRows() {
    const { source, outputs, weights } = this.data;
    const rows = weights.map((row, index) => [outputs[index], ...row.map((weight) => local(weight.toFixed(4)))]);
    return [[this.belowToken, ...source], ...rows];
  }
}

export default mounted(TokenLines);
