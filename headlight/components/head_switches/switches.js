// All heads of the model, a grid for each kind of attention: a click or Enter switches a head off or on again, the
// arrows go from head to head, Escape switches all on.

import { offerPicture } from "../export/capture.js";
import { ARROWS, button, element, isShortcut, signedColour } from "../lib/canvas.js";
import { decodeFacts } from "../lib/facts.js";
import { likelihoodText } from "../lib/losses.js";
import { Component, mounted } from "../lib/mount.js";
import { KIND_NAMES } from "../lib/names.js";
import { invite } from "../lib/screen.js";
import { headAddress } from "../lib/selection.js";
import { tableRow } from "../lib/table.js";
import { inWords, spoken } from "../lib/tokens.js";
import { figureOf } from "./picture.js";
import { switchesOf } from "./story.js";
import { say } from "./texts.toml";

const WIDEST = 36, NARROWEST = 17, BESIDE = 22, APART = 2; // pixels

class HeadSwitches extends Component {
  constructor(root) {
    super(root);
    const { find } = this;
    for (const name of ["grids", "readout", "limit", "scale"]) this[name] = find(`.${name}`);
    this.buttons = new Map();
    this.off = [];
    const figure = () => figureOf(this.data), label = say("download");
    find(".under").append(offerPicture(label, figure, find(".switches"), () => [this.grids]));
    this.allOn = find(".all_on");
    this.allOn.onclick = () => this.choose([]);
    find(".switches").onkeydown = (event) => this.key(event);
    for (const name of ["pointerover", "focusin"]) this.grids.addEventListener(name, (event) => this.describe(event));
    for (const name of ["pointerleave", "focusout"]) this.grids.addEventListener(name, () => this.describe());
    this.whenResized(this.grids, () => this.fit());
  }

  // { importance, before, ablation, off }: see story.js.
  receive(facts) {
    const { importance, before, ablation, off } = decodeFacts(facts);
    const data = { ...switchesOf(importance, before), ablation };
    this.data = data;
    if (this.echo.isNews(off)) this.off = off ? off.split("-") : [];
    const shape = JSON.stringify(data.kinds.map(({ kind, losses }) => [kind, losses.length, losses[0].length]));
    if (shape !== this.shape) this.build();
    this.shape = shape;
    this.show();
  }

  build() {
    this.buttons.clear();
    this.grids.replaceChildren(...this.data.kinds.map((kind) => this.grid(kind)));
    this.fit();
  }

  grid({ kind, losses }) {
    const head = element("tr", "", element("th"), ...losses[0].map((_, index) => element("th", "", index + 1)));
    head.title = say("head");
    const buttons = (row, layer) => row.map((_, index) => this.button(kind, layer, index));
    const rows = losses.map((row, layer) => tableRow([say("layer", { layer: layer + 1 }), ...buttons(row, layer)]));
    const body = element("tbody", "", head, ...rows);
    return element("section", "", element("h3", "", KIND_NAMES[kind]), element("table", "", body));
  }

  button(kind, layer, head) {
    const name = headAddress({ kind, layer, head }), node = button("", () => this.toggle(name));
    node.tabIndex = this.buttons.size ? -1 : 0;
    Object.assign(node.dataset, { name, kind, layer, head });
    this.buttons.set(name, node);
    return node;
  }

  show() {
    const { kinds, limit } = this.data;
    for (const { kind, losses, turned, words } of kinds) {
      losses.forEach((row, layer) => row.forEach((loss, head) => {
        const name = headAddress({ kind, layer, head }), button = this.buttons.get(name), off = this.off.includes(name);
        button.replaceChildren(...(turned[layer][head] ? [element("i", "turned")] : []));
        button.style.setProperty("--colour", signedColour(limit ? -loss / limit : 0));
        const text = (off ? "Off: " : "") + words[layer][head];
        Object.assign(button, { ariaPressed: off, ariaLabel: spoken(text), words: text });
      }));
    }
    const steps = [0, 0.25, 0.5, 0.75, 1].map((share) => signedColour(-share));
    this.scale.style.background = `linear-gradient(to right, ${steps.join(", ")})`;
    this.limit.textContent = say("limit", { moved: likelihoodText([limit]) });
    this.allOn.disabled = !this.off.length;
    this.describe();
  }

  fit() {
    if (!this.data) return;
    const heads = this.data.kinds[0].losses[0].length, room = this.grids.firstElementChild.clientWidth - BESIDE;
    const wide = Math.max(NARROWEST, Math.min(WIDEST, Math.floor(room / heads) - APART));
    this.grids.style.setProperty("--wide", `${wide}px`);
  }

  toggle(name) {
    this.choose(this.off.includes(name) ? this.off.filter((each) => each !== name) : [...this.off, name]);
  }

  choose(off) {
    this.off = off;
    this.show();
    const text = off.join("-");
    if (this.echo.isWorthReporting(text)) this.setTriggerValue("choice", text);
  }

  describe({ target = null } = {}) {
    const words = target?.closest?.("td button")?.words;
    this.readout.textContent = words ? inWords(words) : invite(say("invitation"));
  }

  key(event) {
    if (isShortcut(event)) return;
    const button = event.target.closest("td button");
    if (event.key === "Escape" && this.off.length) this.choose([]);
    else if (button && event.key in ARROWS) this.move(button, ARROWS[event.key]);
    else return;
    event.preventDefault();
  }

  // To the next head or layer; beyond the last layer of a kind to the next kind.
  move(button, [down, right]) {
    const { kind, layer, head } = button.dataset, kinds = this.data.kinds.map((each) => each.kind);
    const grid = this.data.kinds[kinds.indexOf(kind)].losses;
    let to = { kind, layer: Number(layer) + down, head: Number(head) + right };
    if (to.layer < 0 || to.layer >= grid.length) {
      const next = this.data.kinds[kinds.indexOf(kind) + down];
      if (!next) return;
      to = { ...to, kind: next.kind, layer: down > 0 ? 0 : next.losses.length - 1 };
    }
    const other = this.buttons.get(headAddress(to));
    if (!other) return;
    button.tabIndex = -1;
    other.tabIndex = 0;
    other.focus();
  }
}

export default mounted(HeadSwitches);
