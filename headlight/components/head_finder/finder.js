// All heads of a model as dots by two measures: a click, or Enter, chooses one, the arrows go from dot to dot.

import { offerPicture } from "../export/capture.js";
import { ARROWS, element, isShortcut, setAttributes, svgElement } from "../lib/canvas.js";
import { KINDS } from "../lib/colours.js";
import { Component, mounted } from "../lib/mount.js";
import { heightBelow } from "../lib/screen.js";
import { headAddress } from "../lib/selection.js";
import { figureOf } from "./picture.js";
import { dotAt, isHollow, nextDot, rangeOf, shapeAt, ticksOf } from "./plot.js";
import { fits, kindsOf, labelOf, toggledKinds, wordsOf } from "./ranking.js";
import { say } from "./texts.toml";

const RADIUS = 6, RING = 10, REACH = 22; // pixels
const LEFT = 40, BOTTOM = 20, TOP = 8, RIGHT = 10;
const LOWEST = 200, HIGHEST = 620, BELOW = 160; // what stands below the plot
const REPORTED = ["x", "y", "head"]; // of the choice; the filters stay in the browser

const SHORT = { encoder: say("encoder"), decoder: say("decoder"), cross: say("cross") };
const textOf = (chosen) => REPORTED.map((name) => chosen[name]).join(" ");

class HeadFinder extends Component {
  constructor(root) {
    super(root);
    const { find } = this;
    for (const name of ["plot", "readout", "filters", "legend"]) this[name] = find(`.${name}`);
    this.frame = find(".head_finder");
    this.axes = { y: find(".up select"), x: find(".across select") };
    for (const [axis, select] of Object.entries(this.axes)) {
      select.onchange = () => this.choose({ [axis]: select.value });
    }
    this.chosen = { kinds: "", role: "" };
    this.pointed = null;
    this.dots = [];
    this.plot.onpointermove = (event) => event.pointerType === "mouse" && this.point(this.dotUnder(event));
    this.plot.onpointerleave = () => this.point(null);
    this.plot.onclick = (event) => {
      const dot = this.dotUnder(event);
      if (dot !== null) this.take(this.dots[dot].at);
    };
    this.plot.onkeydown = (event) => this.key(event);
    this.plot.addEventListener("focusin", ({ target }) => this.point(this.dotOf(target)));
    this.plot.addEventListener("focusout", () => this.point(null));
    const figure = () => figureOf(this.data, this.chosen), drawn = () => [this.plot, this.legend];
    find(".under").append(offerPicture(say("download"), figure, this.frame, drawn));
    this.whenResized(this.frame, () => this.draw());
    this.listen(window, "resize", () => this.draw());
  }

  receive(data) {
    const isNew = JSON.stringify(this.data?.heads) !== JSON.stringify(data.heads);
    this.data = data;
    if (this.echo.isNews(textOf(data.chosen)) || isNew) Object.assign(this.chosen, data.chosen);
    if (!data.patterns.some(({ name }) => name === this.chosen.role)) this.chosen.role = "";
    this.offer();
    this.draw();
  }

  // The filters and what the axes may show.
  offer() {
    const { kinds, patterns, measures, heads } = this.data, text = JSON.stringify([kinds, patterns, measures]);
    if (text !== this.offered) {
      this.filters.replaceChildren(...kinds.map((kind) => this.kindButton(kind)), this.roleList(patterns));
      for (const select of Object.values(this.axes)) {
        select.replaceChildren(...measures.map(({ name, label, says }) => {
          return Object.assign(new Option(label, name), { title: says });
        }));
      }
      this.offered = text;
    }
    for (const [axis, select] of Object.entries(this.axes)) {
      select.value = this.chosen[axis];
      select.title = measures.find(({ name }) => name === this.chosen[axis])?.says ?? "";
    }
    this.roles.value = this.chosen.role;
    const shown = kindsOf(this.chosen, kinds);
    for (const button of this.filters.querySelectorAll("button")) {
      button.setAttribute("aria-pressed", String(shown.includes(button.dataset.kind)));
    }
    const layers = [...new Set(heads.map(({ layer }) => layer))];
    this.legend.replaceChildren(...layers.map((layer) => {
      const shape = svgElement("path", { d: shapeAt(layer, 8, 8, 5), class: isHollow(layer) ? "hollow" : "" });
      const icon = svgElement("svg", { viewBox: "0 0 16 16", "aria-hidden": "true" }, shape);
      return element("span", "", icon, say("layer", { layer: layer + 1 }));
    }));
  }

  kindButton({ kind, name }) {
    const mark = element("i"), button = element("button", "", mark, SHORT[kind]);
    mark.style.setProperty("--kind", KINDS[kind]);
    Object.assign(button, { type: "button", title: say("toggle", { kind: name }) });
    button.dataset.kind = kind;
    button.onclick = () => this.choose({ kinds: toggledKinds(this.chosen, this.data.kinds, kind) });
    return button;
  }

  roleList(patterns) {
    const options = patterns.map(({ name, words }) => new Option(say("role", { place: words }), name));
    this.roles = element("select", "", new Option(say("any"), ""), ...options);
    this.roles.setAttribute("aria-label", say("roles"));
    this.roles.onchange = () => this.choose({ role: this.roles.value });
    return this.roles;
  }

  draw() {
    if (!this.data || !this.frame.clientWidth) return;
    const { heads, values, kinds } = this.data, { x, y } = this.chosen;
    const room = window.innerWidth > 640 ? heightBelow(this.plot) - BELOW : 0.75 * this.frame.clientWidth;
    const wide = this.frame.clientWidth, high = Math.round(Math.max(LOWEST, Math.min(HIGHEST, room)));
    setAttributes(this.plot, { viewBox: `0 0 ${wide} ${high}`, height: high, "aria-label": this.label() });
    this.plot.style.height = `${high}px`;
    const focused = this.dots[this.dotOf(this.plot.getRootNode().activeElement)]?.at;
    this.plot.replaceChildren();
    const ranges = [x, y].map((name) => rangeOf(heads.map((_, at) => values[name]?.[at]?.[0] ?? null)));
    this.dots = [];
    if (ranges.includes(null)) return this.describe();
    this.placeOf = [
      (value) => LEFT + ((value - ranges[0][0]) / (ranges[0][1] - ranges[0][0])) * (wide - LEFT - RIGHT),
      (value) => high - BOTTOM - ((value - ranges[1][0]) / (ranges[1][1] - ranges[1][0])) * (high - BOTTOM - TOP),
    ];
    this.plot.append(...this.grid(ranges, wide, high));
    const shown = [], aside = [];
    heads.forEach((head, at) => {
      const measured = [values[x][at], values[y][at]];
      if (measured.includes(null)) return;
      const [left, top] = measured.map(([mean], axis) => this.placeOf[axis](mean));
      (fits(head, this.chosen, kinds) ? shown : aside).push({ at, x: left, y: top });
    });
    this.dots = shown.map((dot) => ({ ...dot, mark: this.dot(dot) }));
    this.marks = svgElement("g", { "aria-hidden": "true" });
    const others = svgElement("g", { class: "aside", "aria-hidden": "true" }, ...aside.map((dot) => this.path(dot)));
    this.plot.append(others, ...this.dots.map(({ mark }) => mark), this.marks);
    const chosen = this.dots.find(({ at }) => headAddress(heads[at]) === this.chosen.head) ?? this.dots[0];
    chosen?.mark.setAttribute("tabindex", "0");
    this.dots.find(({ at }) => at === focused)?.mark.focus({ preventScroll: true });
    this.pointed = null; // the choice may be another one than the dot that keeps the focus
    this.mark();
    this.describe();
  }

  grid([across, up], wide, high) {
    const line = (from, to, isZero) => svgElement("line", {
      x1: from[0], y1: from[1], x2: to[0], y2: to[1], class: isZero ? "grid zero" : "grid",
    });
    const columns = ticksOf(across, 6).flatMap(({ value, text: words }) => {
      const x = this.placeOf[0](value);
      const label = svgElement("text", { x, y: high - 5, "text-anchor": "middle" }, words);
      return [line([x, TOP], [x, high - BOTTOM], !value), label];
    });
    const rows = ticksOf(up, 6).flatMap(({ value, text: words }) => {
      const y = this.placeOf[1](value);
      const label = svgElement("text", { x: LEFT - 5, y: y + 4, "text-anchor": "end" }, words);
      return [line([LEFT, y], [wide - RIGHT, y], !value), label];
    });
    return [svgElement("g", { "aria-hidden": "true" }, ...columns, ...rows)];
  }

  path({ at, x, y }) {
    const { kind, layer } = this.data.heads[at];
    const mark = svgElement("path", { d: shapeAt(layer, x, y, RADIUS), class: isHollow(layer) ? "dot hollow" : "dot" });
    mark.style.setProperty("--kind", KINDS[kind]);
    return mark;
  }

  dot(place) {
    const mark = this.path(place), head = this.data.heads[place.at];
    setAttributes(mark, {
      role: "button", tabindex: "-1", "aria-label": wordsOf(this.data, place.at, this.chosen),
      "aria-pressed": String(headAddress(head) === this.chosen.head), "data-name": headAddress(head),
    });
    return mark;
  }

  // The rings around what is chosen and what is pointed at, with their standard errors.
  mark() {
    if (!this.marks) return;
    const chosen = this.dots.find(({ at }) => headAddress(this.data.heads[at]) === this.chosen.head);
    const pointed = this.dots[this.pointed] ?? null;
    const ring = ({ x, y }, css) => svgElement("circle", { cx: x, cy: y, r: RING, class: css });
    this.marks.replaceChildren(
      ...(chosen ? [...this.errors(chosen), ring(chosen, "ring")] : []),
      ...(pointed && pointed !== chosen ? [...this.errors(pointed), ring(pointed, "ring pointed")] : []),
    );
  }

  errors({ at, x, y }) {
    const { values } = this.data, ends = [this.chosen.x, this.chosen.y].map((name, axis) => {
      const [mean, error] = values[name][at];
      return [mean - (error ?? 0), mean + (error ?? 0)].map(this.placeOf[axis]);
    });
    const line = (x1, y1, x2, y2) => svgElement("line", { x1, y1, x2, y2, class: "error" });
    return [line(ends[0][0], y, ends[0][1], y), line(x, ends[1][0], x, ends[1][1])];
  }

  label() {
    const [across, up] = [this.chosen.x, this.chosen.y].map((name) => labelOf(this.data.measures, name));
    return say("label", { across, up });
  }

  dotOf(element) {
    return this.dots.findIndex(({ mark }) => mark === element);
  }

  dotUnder({ clientX, clientY }) {
    const { left, top, width } = this.plot.getBoundingClientRect(), zoom = width / this.frame.clientWidth || 1;
    return dotAt(this.dots, (clientX - left) / zoom, (clientY - top) / zoom, REACH);
  }

  point(dot) {
    const to = dot === null || dot < 0 ? null : dot;
    if (to === this.pointed) return;
    this.pointed = to;
    this.mark();
    this.describe();
  }

  describe() {
    const { heads } = this.data, chosen = heads.findIndex((head) => headAddress(head) === this.chosen.head);
    const at = this.dots[this.pointed]?.at ?? chosen;
    this.readout.textContent = at < 0 ? "" : wordsOf(this.data, at, this.chosen);
  }

  key(event) {
    const from = this.dotOf(event.target);
    if (isShortcut(event) || from < 0) return;
    if (event.key === "Enter" || event.key === " ") this.take(this.dots[from].at);
    else if (event.key in ARROWS) this.go(from, nextDot(this.dots, from, ARROWS[event.key]));
    else return;
    event.preventDefault();
  }

  go(from, to) {
    if (to === null) return;
    for (const { mark } of this.dots) mark.setAttribute("tabindex", "-1");
    this.dots[to].mark.setAttribute("tabindex", "0");
    this.dots[to].mark.focus();
  }

  take(at) {
    this.choose({ head: headAddress(this.data.heads[at]) });
  }

  choose(changed) {
    this.chosen = { ...this.chosen, ...changed };
    this.offer();
    this.draw();
    const report = Object.fromEntries(REPORTED.map((name) => [name, this.chosen[name]]));
    if (this.echo.isWorthReporting(textOf(report))) this.setTriggerValue("choice", report);
  }
}

export default mounted(HeadFinder);
