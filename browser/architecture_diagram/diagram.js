// The blocks of the model from the bottom to the top, encoder on the left, decoder on the right, as in the paper's
// figure.

import { setAttributes, svgElement as shape } from "../lib/canvas.js";
import { Echo, mounted } from "../lib/mount.js";
import { heightBelow } from "../lib/screen.js";

// Pixels of the screen: letters keep their size, boxes are as wide and as high as all of them have room. Between the
// stacks lies the way of the memory.
const WIDE = { frame: 34, between: 40, most: 6 }, NARROW = { frame: 28, between: 14, most: 3 };
const NARROW_BELOW = 480, WIDEST = 640, PHONE = 640, LARGEST_BOX = 200;
const HIGHEST = { high: 40, gap: 16 }, LOWEST = 24, BOX_OF_ALL = 0.72; // a box and what is between it and the next
const EDGE = 8, RIGHT_OF_BOX = 10, BELOW = 24, NUMBER = 26;
const BESIDE_BOXES = 118; // pixels of a stack's height that are not boxes
const HIGH_FOR_A_NOTE = 32, LETTER = 6.2, SMALLER_BELOW = 150; // notes are left out where there is no room, not shrunk
const STACKS = ["encoder", "decoder"];

// What is as large as its room: [width, height] in pixels, with so many boxes one above the other.
export function sizeFor([width, height], boxes) {
  const across = Math.min(width, WIDEST), size = across < NARROW_BELOW ? NARROW : WIDE, { frame, between } = size;
  const box = Math.min(LARGEST_BOX, (across - 2 * EDGE - between) / 2 - frame - RIGHT_OF_BOX);
  const all = Math.min(HIGHEST.high + HIGHEST.gap, Math.max(LOWEST, (height - BESIDE_BOXES) / boxes));
  const high = Math.min(HIGHEST.high, BOX_OF_ALL * all), left = EDGE + frame;
  const right = left + box + RIGHT_OF_BOX + between + frame;
  return { ...size, width: across, box, left, right, high, gap: all - high };
}

class Diagram {
  constructor(root) {
    this.svg = root.querySelector("svg");
    this.resized = new ResizeObserver(() => this.fit());
    this.resized.observe(root.querySelector(".diagram"));
    this.onResize = () => this.fit();
    window.addEventListener("resize", this.onResize);
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
    window.removeEventListener("resize", this.onResize);
  }

  fit() {
    if (this.data && JSON.stringify(this.size) !== JSON.stringify(this.sizeNow())) this.draw();
  }

  // On a phone the page is scrolled; elsewhere all of the diagram is in sight below what stands above it.
  sizeNow() {
    const place = this.svg.parentElement;
    const height = window.innerWidth <= PHONE ? Infinity : heightBelow(place) - EDGE;
    const { encoder, decoder, output } = this.data;
    const [left, right] = [encoder, decoder].map(({ before, layers, after }) => {
      return before.length + Math.max(...layers.map((boxes) => boxes.length)) + after.length;
    });
    return sizeFor([place.clientWidth, height], Math.max(left, right + output.length));
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
    this.size = this.sizeNow();
    const { left, right, width, box } = this.size;
    this.svg.classList.toggle("narrow", box < SMALLER_BELOW);
    const top = Math.min(this.tower("encoder", left), this.tower("decoder", right));
    setAttributes(this.svg, { viewBox: `0 ${top} ${width} ${BELOW - top}`, width, height: BELOW - top });
    this.memory();
  }

  // All boxes of one stack upward from 0; returns how far up they reach.
  tower(stack, x) {
    const { before, layers, after } = this.data[stack], tail = stack === "decoder" ? this.data.output : [];
    const middle = x + this.size.box / 2;
    let y = 0;
    this.label(middle, y + 16, this.data[stack].input);
    for (const box of before) y = this.box(box, x, y);
    const { gap, frame: side, box: wide } = this.size;
    y -= gap;
    const bottom = y;
    const frame = this.svg.appendChild(shape("rect", { class: "frame", rx: 10 }));
    y = this.layer(layers[this.open[stack]], x, y - 14) - 12;
    setAttributes(frame, { x: x - side, y, width: wide + side + RIGHT_OF_BOX, height: bottom - y });
    this.numbers(stack, layers.length, x, y);
    this.line(middle, bottom + gap, middle, bottom - 14);
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
      if (box.joins) this.bypass(x, start + (box.begins ? 0 : 4), y + (this.size.high + this.size.gap) / 2);
    }
    return y;
  }

  box(box, x, y) {
    const { box: wide, high, gap } = this.size, top = y - gap / 2 - high, middle = x + wide / 2;
    this.line(middle, y, middle, top + high);
    const name = `${box.label}${box.note ? `, ${box.note}` : ""}`;
    const group = this.button(`box ${box.look}`, name, box.name === this.chosen, () => this.choose(box.name));
    group.dataset.name = box.name;
    const noted = box.note && high >= HIGH_FOR_A_NOTE && LETTER * box.note.length < wide;
    group.append(
      shape("rect", { x, y: top, width: wide, height: high, rx: 6 }),
      shape("text", { x: middle, y: top + (noted ? 0.42 * high : high / 2 + 5) }, box.label),
    );
    if (noted) group.append(shape("text", { class: "small", x: middle, y: top + 0.82 * high }, box.note));
    this.svg.append(group);
    this.line(middle, top, middle, top - gap / 2);
    this.points[box.name] = { x, y: top + high / 2 };
    return top - gap / 2;
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
    const end = this.points["encoder end"], to = this.points[cross.name], turn = this.size.right - this.size.frame - 8;
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
