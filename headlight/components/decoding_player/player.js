// The decoding player: a trace, one step at a time (see story.js).
// Token text is hostile until it is set as text.

import { offerPicture } from "../export/capture.js";
import { JOINT, element, isDark, tint } from "../lib/canvas.js";
import { decodeFacts } from "../lib/facts.js";
import { findingElement } from "../lib/finding.js";
import { Component, mounted } from "../lib/mount.js";
import { fly } from "../lib/motion.js";
import { Playhead } from "../lib/playback.js";
import { press } from "../lib/screen.js";
import { chipRow, inWords, shownToken, shownTokens, spoken } from "../lib/tokens.js";
import { percentInCell } from "../lib/words.js";
import { headsFigure, stepFigure } from "./picture.js";
import { stepsOf } from "./story.js";
import { HeadStrip } from "./strips.js";
import { say } from "./texts.toml";

const MILLISECONDS_PER_STEP = 1000;
const GAP = 24; // pixels between the two pictures of all heads, as in player.css
const ROOM_FOR_HEAD = 24; // pixels of the list's first line, which stays when it scrolls
const STATES = ["next", "forced", "later"]; // of a chip
const WIDEST_BAR = 60; // per cent of the column; the rest is for the number

// Scroll a row of chips so far that one of them is in sight.
function scrollTo(chip) {
  const row = chip.closest(".chips"), left = chip.offsetLeft - row.offsetLeft, right = left + chip.offsetWidth;
  row.scrollLeft = Math.max(right - row.clientWidth, Math.min(row.scrollLeft, left));
}

class Player extends Component {
  constructor(root) {
    super(root);
    this.playhead = new Playhead(this.find, "step", 1, MILLISECONDS_PER_STEP, {
      draw: () => this.show(),
      valueOf: (step) => step,
      send: (step) => this.setTriggerValue("step", step),
    });
    const choose = (layer, head) => this.setTriggerValue("head", [layer, head]);
    const readOut = (text) => (this.find(".readout").textContent = text);
    this.strips = ["cross", "decoder"].map((kind) => new HeadStrip(this.find(`.all_${kind}`), readOut, choose));
    this.find(".offer").textContent = say(press() === "tap" ? "tap" : "click");
    this.find(".undo").onclick = () => this.setTriggerValue("undo", true);
    const offer = (place, label, figure, ...places) => {
      const elements = () => places.map(this.find), redraw = () => this.show();
      this.find(place).append(offerPicture(label, figure, this.find(".player"), elements, redraw));
    };
    const shown = () => this.strips.map((strip) => strip.shown);
    const step = () => stepFigure(this.data, this.maps, this.playhead.at);
    const heads = () => headsFigure(this.data, shown(), this.playhead.at);
    offer(".candidates .title", say("download_step"), step, ".rows", ".candidates");
    offer(".heads .title", say("download_heads"), heads, ".strips");
    this.whenResized(this.find(".heads"), () => {
      if (!this.data) return;
      this.drawStrips();
      this.letScroll();
    });
    this.ends.push(() => this.playhead.leave());
  }

  // { facts, layer, head, step, autoplay, fixed }: see story.js; `fixed`: no token can be forced.
  receive({ facts, layer, head, fixed = false, ...state }) {
    const trace = decodeFacts(facts);
    const data = { ...stepsOf(trace, { layer, head }, trace), ...state, fixed };
    const arrives = !this.data, other = this.data?.id !== data.id;
    this.data = data;
    this.playhead.last = data.steps.length;
    this.maps = data.maps;
    this.showWhetherHeads(data);
    this.showBranch(data.branch);
    this.find(".found").replaceChildren(findingElement(fixed ? { ...data.finding, attempt: "" } : data.finding));
    this.find(".given").textContent = inWords(data.given);
    for (const name of this.root.querySelectorAll(".name")) name.textContent = `(${data.name})`;
    if (other) {
      this.playhead.startAnew();
      this.before = null;
      this.layOut();
    }
    if (this.playhead.isNews(data.step)) this.playhead.place(data.step);
    this.show();
    if (data.autoplay && arrives) this.playhead.playOnArrival(this.playhead.at);
  }

  // The same for all steps

  layOut() {
    const { source, fed, next } = this.data;
    this.names = shownTokens(fed.map((token, step) => token + JOINT + next[step]));
    // One chip more than was fed: the last is for the token that the last step predicts.
    const rows = { source, target: [...fed, next.at(-1)] };
    this.chips = Object.fromEntries(Object.entries(rows).map(([side, tokens]) => {
      const { chips, items } = chipRow(tokens);
      this.find(`.${side}`).replaceChildren(...items);
      return [side, chips];
    }));
  }

  // Of a long text the weights of all heads are not sent, and a sentence says why.
  showWhetherHeads({ all: { cross, decoder }, source, fed }) {
    const without = !cross;
    this.find(".without_heads").hidden = !without;
    for (const part of this.root.querySelectorAll(".strips, .hint, .heads .title .download")) part.hidden = without;
    if (without) return;
    this.strips[0].receive(this.data, source, cross);
    this.strips[1].receive(this.data, fed, decoder);
  }

  // The forced tokens and both translations; null where no token was forced.
  showBranch(branch) {
    this.find(".branch").hidden = !branch;
    if (!branch) return;
    const forced = shownTokens(branch.forced).join(" ");
    this.write({ ".forced_part": say("branch", { forced }), ".now": branch.now, ".own": branch.unforced });
  }

  // One step

  show() {
    const { at, timer } = this.playhead, isNew = at !== this.before, leave = this.chosenCandidate();
    const step = this.data.steps[at - 1], steps = this.data.steps.length;
    const place = (token) => say("place", { step: at, steps, token });
    this.write({ ".place": place(this.names[at - 1]), ".sentence": inWords(step.sentence) });
    this.playhead.show(place(this.data.next[at - 1]));
    this.showRow("source", this.maps.cross, this.data.source.length);
    this.showRow("target", this.maps.decoder, at);
    this.showNext(step);
    this.showCandidates(step);
    this.drawStrips();
    this.letScroll();
    if (isNew) this.bringIntoSight();
    if (!timer && at === this.before + 1) leave(this.chips.target[at - 1]);
    this.before = at;
  }

  // The token that was taken, as a function that lets it fly from the list to a chip of the prefix: the list is about
  // to show another step.
  chosenCandidate() {
    const button = this.find("tr.taken button"), from = button?.getBoundingClientRect();
    const image = button && element("span", "flying", button.textContent);
    return (chip) => image && fly(image, from, chip.getBoundingClientRect(), this.find(".player"));
  }

  // Let the arrow keys scroll a row of chips that is too long.
  letScroll() {
    for (const row of this.root.querySelectorAll(".chips")) row.tabIndex = row.scrollWidth > row.clientWidth ? 0 : -1;
  }

  // Of what scrolls in its own place: the chosen candidate, the source token that is read most, the end of the prefix.
  bringIntoSight() {
    const { at } = this.playhead, { source } = this.data, list = this.find(".list"), row = this.find("tr.taken");
    const below = row.offsetTop + row.offsetHeight - list.clientHeight, above = row.offsetTop - ROOM_FOR_HEAD;
    list.scrollTop = Math.max(below, Math.min(list.scrollTop, above));
    const read = this.maps.cross.slice((at - 1) * source.length, at * source.length);
    scrollTo(this.chips.source[read.indexOf(Math.max(...read))]);
    scrollTo(this.chips.target[at]);
  }

  // The first `read` tokens of a side, with the weights of this step.
  showRow(side, map, read) {
    const chips = this.chips[side], dark = isDark(this.find(`.${side}`)), { source, fed } = this.data;
    const tokens = side === "source" ? source : fed;
    for (let key = 0; key < read; key++) {
      const weight = map[(this.playhead.at - 1) * tokens.length + key], chip = chips[key];
      chip.classList.remove(...STATES);
      tint(chip, weight, dark);
      chip.title = "";
      chip.lastChild.textContent = percentInCell(weight);
    }
  }

  showNext(step) {
    const chips = this.chips.target;
    for (let position = this.playhead.at; position < chips.length; position++) {
      const next = position === this.playhead.at, chip = chips[position];
      const states = { next, forced: next && step.forced, later: !next };
      for (const state of STATES) chip.classList.toggle(state, states[state]);
      tint(chip, null);
      chip.title = next ? say("next") : "";
      // A placeholder of the usual width, so that nothing moves when the weight takes its place.
      chip.lastChild.textContent = next ? say(step.forced ? "forced" : "predicted", { chance: step.chance }) : "00 %";
    }
  }

  showCandidates(step) {
    const takable = step.takable && !this.data.fixed;
    this.find(".offer").hidden = !takable;
    this.write({ ".rest": step.rest });
    const body = this.find("tbody");
    while (body.children.length > step.candidates.length) body.lastChild.remove();
    while (body.children.length < step.candidates.length) body.append(this.candidateRow());
    step.candidates.forEach((candidate, index) => {
      const row = body.children[index];
      const button = row.querySelector("button");
      row.className = candidate.taken ? (step.forced ? "taken forced" : "taken") : "";
      row.querySelector(".rank").textContent = candidate.rank;
      button.textContent = shownToken(candidate.token);
      const token = spoken(candidate.token);
      button.setAttribute("aria-label", say(candidate.taken ? "taken_token" : "force_token", { token }));
      button.title = say(candidate.taken ? "taken" : "force");
      button.disabled = !candidate.taken && (!takable || candidate.special);
      button.onclick = () => {
        if (candidate.taken) return;
        this.playhead.pause(false);
        this.setTriggerValue("take", [this.playhead.at, candidate.id]);
      };
      row.querySelector("i").style.width = `${(candidate.probability * WIDEST_BAR).toFixed(2)}%`;
      row.querySelector(".bar span").textContent = candidate.words + (candidate.taken ? " ✓" : "");
    });
  }

  candidateRow() {
    const bar = element("td", "bar", element("div", "", element("i"), element("span")));
    return element("tr", "", element("td", "rank"), element("td", "piece", element("button")), bar);
  }

  drawStrips() {
    if (!this.data.all.cross) return;
    const width = this.find(".heads").clientWidth, half = (width - GAP) / 2;
    const both = this.strips.every((strip) => strip.comfortable <= half);
    this.find(".strips").classList.toggle("side_by_side", both);
    this.strips[0].draw(this.playhead.at, this.data.source.length, both ? half : width);
    this.strips[1].draw(this.playhead.at, this.playhead.at, both ? half : width);
  }
}

export default mounted(Player);
