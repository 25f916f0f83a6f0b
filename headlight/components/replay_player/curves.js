// A curve over the training with a marker at the snapshot shown: see story.js.

import { element, setAttributes, svgElement as drawn } from "../lib/canvas.js";
import { say } from "./texts.toml";

const LEFT = 34, RIGHT = 22, TOP = 8, BOTTOM = 20; // pixels around the curve
const ROOM_FOR_A_STEP = 36;

export class Curve {
  // seek(snapshot) hears where the pointer went down or was dragged.
  constructor(seek) {
    this.title = element("span");
    this.value = element("b");
    this.picture = drawn("svg", { role: "img" });
    this.picture.onpointerdown = this.picture.onpointermove = (event) => {
      const { left, width } = this.picture.getBoundingClientRect();
      const x = ((event.clientX - left) / width) * this.width;
      if (event.buttons & 1) seek(Math.round(((x - LEFT) / (this.width - LEFT - RIGHT)) * this.length));
    };
    this.figure = element("figure", "", element("figcaption", "", this.title, this.value), this.picture);
  }

  x(position) {
    return LEFT + (position / this.length) * (this.width - LEFT - RIGHT);
  }

  y(value) {
    return TOP + (1 - Math.min(1, value / this.curve.high)) * (this.height - TOP - BOTTOM);
  }

  receive(curve, data) {
    Object.assign(this, { curve, length: data.length, steps: data.ticks });
    this.title.textContent = curve.title;
  }

  // Draw what does not change from snapshot to snapshot into this room.
  layOut(width, height) {
    Object.assign(this, { width, height });
    const { picture, curve } = this;
    setAttributes(picture, { viewBox: `0 0 ${width} ${height}`, width, height });
    const parts = curve.ticks.flatMap(([value, label]) => [
      drawn("line", { class: "grid", x1: LEFT, x2: width - RIGHT, y1: this.y(value), y2: this.y(value) }),
      drawn("text", { x: LEFT - 6, y: this.y(value) + 4, "text-anchor": "end" }, label),
    ]);
    const every = (width - LEFT - RIGHT) / this.steps.length < ROOM_FOR_A_STEP ? 2 : 1;
    this.steps.forEach(([position, label], index) => {
      if (index % every) return;
      parts.push(drawn("text", { x: this.x(position), y: height - 4, "text-anchor": "middle" }, label));
    });
    this.marker = drawn("line", { class: "marker", y1: TOP, y2: height - BOTTOM });
    this.dot = drawn("circle", { class: "dot", r: 4.5 });
    picture.replaceChildren(...parts, ...curve.lines.flatMap((line) => this.line(line)), this.marker, this.dot);
  }

  line({ x, y, faint, dots }) {
    const points = x.map((position, index) => [this.x(position), this.y(y[index])]);
    const path = drawn("polyline", { class: faint ? "faint" : "main", points: points.join(" ") });
    return [path, ...(dots ? points.map(([cx, cy]) => drawn("circle", { class: "point", cx, cy, r: 2.5 })) : [])];
  }

  show(snapshot) {
    const at = this.curve.at[snapshot], text = this.curve.texts[snapshot];
    this.value.textContent = text || "–";
    this.picture.setAttribute("aria-label", `${this.curve.title}: ${text || say("unknown")}`);
    setAttributes(this.marker, { x1: this.x(snapshot), x2: this.x(snapshot) });
    this.dot.setAttribute("visibility", at ? "visible" : "hidden");
    if (at) setAttributes(this.dot, { cx: this.x(at[0]), cy: this.y(at[1]) });
  }
}
