// The blocks of the model from the bottom to the top, encoder on the left, decoder on the right, as in the paper's
// figure.

import { setAttributes, svgElement as shape } from "../lib/canvas.js";
import { Echo, mounted } from "../lib/mount.js";

const WIDE = { width: 640, box: 200, left: 70, right: 370, frame: 34, most: 6 };
// On a phone the same letters need more of the width.
const NARROW = { width: 400, box: 148, left: 36, right: 236, frame: 28, most: 3 };
const NARROW_BELOW = 480, HIGH = 40, GAP = 16, MARGIN = 30, NUMBER = 26;
const STACKS = ["encoder", "decoder"];

class Diagram {
  constructor(root) {
    this.svg = root.querySelector("svg");
    this.size = WIDE;
    this.resized = new ResizeObserver(() => this.fit());
    this.resized.observe(root.querySelector(".diagram"));
    this.echo = new Echo();
    this.open = { encoder: 0, decoder: 0 }; // the layer of each stack whose boxes are shown
  }

  receive(data) {
    this.data = data;
    if (this.echo.isNews(data.chosen) || !this.boxNamed(this.chosen)) {
      this.chosen = this.boxNamed(data.chosen) ? data.chosen : data.first;
      const { stack, layer } = this.boxNamed(this.chosen);
      if (Number.isInteger(layer)) this.open[stack] = layer;
    }
    for (const stack of STACKS) this.open[stack] = Math.min(this.open[stack], data[stack].layers.length - 1);
    this.draw();
  }

  leave() {
    this.resized.disconnect();
  }

  fit() {
    const size = this.svg.parentElement.clientWidth < NARROW_BELOW ? NARROW : WIDE;
    if (size === this.size) return;
    this.size = size;
    if (this.data) this.draw();
  }

  boxNamed(name) {
    const { encoder, decoder, output } = this.data;
    const of = ({ before, layers, after }) => [...before, ...layers.flat(), ...after];
    return [...of(encoder), ...of(decoder), ...output].find((box) => box.name === name);
  }

  choose(name) {
    this.chosen = name;
    this.draw();
    this.svg.querySelector(`[data-name="${name}"]`)?.focus();
    if (this.echo.isWorthReporting(name)) this.setTriggerValue("choice", name);
  }

  // Another layer of a stack; a chosen box of the one before gives way to its like.
  show(stack, layer) {
    const box = this.boxNamed(this.chosen);
    this.open[stack] = layer;
    if (box.stack === stack && box.layer !== null) this.choose(box.name.replace(/^(\w+)\.\d+/, `$1.${layer}`));
    else this.draw();
    this.svg.querySelector(`[data-layer="${stack}-${layer}"]`)?.focus();
  }

  draw() {
    this.svg.replaceChildren();
    this.points = {};
    const { left, right, width } = this.size;
    const top = Math.min(this.tower("encoder", left), this.tower("decoder", right));
    this.svg.setAttribute("viewBox", `0 ${top} ${width} ${MARGIN - top}`);
    this.memory();
  }

  // All boxes of one stack upward from 0; returns how far up they reach.
  tower(stack, x) {
    const { before, layers, after } = this.data[stack], tail = stack === "decoder" ? this.data.output : [];
    const middle = x + this.size.box / 2;
    let y = 0;
    this.label(middle, y + 16, this.data[stack].input);
    for (const box of before) y = this.box(box, x, y);
    y -= GAP;
    const bottom = y;
    const frame = this.svg.appendChild(shape("rect", { class: "frame", rx: 10 }));
    y = this.layer(layers[this.open[stack]], x, y - 14) - 12;
    const width = this.size.box + this.size.frame + 10;
    setAttributes(frame, { x: x - this.size.frame, y, width, height: bottom - y });
    this.numbers(stack, layers.length, x, y);
    this.line(middle, bottom + GAP, middle, bottom - 14);
    y -= NUMBER + 8;
    this.line(middle, y + NUMBER + 8 + 12, middle, y);
    for (const box of [...after, ...tail]) y = this.box(box, x, y);
    this.points[`${stack} end`] = { x: middle, y };
    if (tail.length) this.label(middle, y - 8, "probabilities of the next token");
    return y - (tail.length ? 24 : 10);
  }

  // The boxes of one layer with the residual connections around its sub-layers.
  layer(boxes, x, y) {
    let start = y;
    for (const box of boxes) {
      if (box.begins) start = y;
      y = this.box(box, x, y);
      if (box.joins) this.bypass(x, start + (box.begins ? 0 : 4), y + HIGH / 2 + GAP / 2);
    }
    return y;
  }

  box(box, x, y) {
    const top = y - GAP / 2 - HIGH, middle = x + this.size.box / 2;
    this.line(middle, y, middle, top + HIGH);
    const name = `${box.label}${box.note ? `, ${box.note}` : ""}`;
    const group = this.button(`box ${box.look}`, name, box.name === this.chosen, () => this.choose(box.name));
    group.dataset.name = box.name;
    group.append(
      shape("rect", { x, y: top, width: this.size.box, height: HIGH, rx: 6 }),
      shape("text", { x: middle, y: top + (box.note ? 17 : 25) }, box.label),
    );
    if (box.note) group.append(shape("text", { class: "small", x: middle, y: top + 32 }, box.note));
    this.svg.append(group);
    this.line(middle, top, middle, top - GAP / 2);
    this.points[box.name] = { x, y: top + HIGH / 2 };
    return top - GAP / 2;
  }

  button(className, label, pressed, act) {
    const role = { role: "button", tabindex: 0, "aria-pressed": pressed, "aria-label": label };
    const group = shape("g", { class: className, ...role });
    group.onclick = act;
    group.onkeydown = (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      act();
    };
    return group;
  }

  // Which layer is shown: a number each, or around the open one where they are many.
  numbers(stack, count, x, y) {
    const shown = Math.min(count, this.size.most), before = Math.floor(shown / 2);
    const first = Math.min(Math.max(0, this.open[stack] - before), count - shown);
    this.svg.append(shape("text", { class: "small left", x: x - 30, y: y - 12 }, "layer"));
    for (let layer = first; layer < first + shown; layer++) {
      const left = x + 6 + (layer - first) * (NUMBER + 2), open = layer === this.open[stack];
      const group = this.button("layer", `${stack} layer ${layer + 1}`, open, () => this.show(stack, layer));
      group.dataset.layer = `${stack}-${layer}`;
      group.append(
        shape("rect", { x: left, y: y - NUMBER - 3, width: NUMBER, height: NUMBER - 2, rx: 5 }),
        shape("text", { class: "small", x: left + NUMBER / 2, y: y - 12 }, layer + 1),
      );
      this.svg.append(group);
    }
    if (shown === count) return;
    const after = x + 8 + shown * (NUMBER + 2);
    this.svg.append(shape("text", { class: "small left", x: after, y: y - 12 }, `of ${count}`));
  }

  bypass(x, from, to) {
    const out = x - this.size.frame / 2 - 2;
    this.svg.append(shape("path", { d: `M${x + this.size.box / 2} ${from} H${out} V${to} H${x - 2}` }));
    this.arrow(x, to);
  }

  // From the encoder's end to every cross-attention that is shown: keys and values.
  memory() {
    const boxes = this.data.decoder.layers[this.open.decoder];
    const cross = boxes.find(({ kind }) => kind === "cross_attention");
    if (!cross) return;
    const end = this.points["encoder end"], to = this.points[cross.name], turn = this.size.right - this.size.frame - 12;
    this.svg.append(shape("path", { d: `M${end.x} ${end.y} V${end.y - 12} H${turn} V${to.y} H${to.x - 2}` }));
    this.arrow(to.x, to.y);
    this.label((end.x + turn) / 2, end.y - 18, "memory: keys and values");
  }

  line(x1, y1, x2, y2) {
    this.svg.append(shape("line", { x1, y1, x2, y2 }));
  }

  arrow(x, y) {
    this.svg.append(shape("path", { d: `M${x - 7} ${y - 4} L${x} ${y} L${x - 7} ${y + 4}` }));
  }

  label(x, y, text) {
    this.svg.append(shape("text", { class: "small", x, y }, text));
  }
}

export default mounted(Diagram);
