// The blocks of the model from the bottom to the top, encoder on the left, decoder on the right, as in the paper's
// figure.

import { offerPicture } from "../export/capture.js";
import { setAttributes, svgElement as shape } from "../lib/canvas.js";
import { Component, mounted } from "../lib/mount.js";
import { heightBelow } from "../lib/screen.js";
import { EDGE, NUMBER, largest, layOut, numbered, sizeFor } from "./layout.js";
import { figureOf } from "./picture.js";

const PHONE = 640, SMALLER_BELOW = 150; // pixels: of a window, and of a box
const STACKS = ["encoder", "decoder"];

class Diagram extends Component {
  constructor(root) {
    super(root);
    this.svg = this.find("svg");
    this.whenResized(this.find(".diagram"), () => this.fit());
    this.listen(window, "resize", () => this.fit());
    this.open = { encoder: 0, decoder: 0 }; // the layer of each stack whose boxes are shown
    // At its full size, whatever the window, and with nothing chosen.
    const figure = () => figureOf(this.data, this.open), picture = [this.find(".diagram"), () => [this.svg]];
    this.find(".tools").append(offerPicture("the diagram", figure, ...picture, () => this.draw()));
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

  get isTaken() {
    return this.svg.closest(".pictured") !== null;
  }

  fit() {
    if (this.data && JSON.stringify(this.size) !== JSON.stringify(this.sizeNow())) this.draw();
  }

  // On a phone the page is scrolled; elsewhere all of the diagram is in sight below what stands above it.
  sizeNow() {
    const place = this.svg.parentElement;
    if (this.isTaken) return largest();
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
    this.size = this.sizeNow();
    const { parts, stacks, top, width, height } = layOut(this.data, this.open, this.size);
    this.svg.classList.toggle("narrow", this.size.box < SMALLER_BELOW);
    setAttributes(this.svg, { viewBox: `0 ${top} ${width} ${height}`, width, height });
    const { name: focused } = this.svg.getRootNode().activeElement?.closest?.(".box")?.dataset ?? {};
    this.svg.replaceChildren(...parts);
    for (const group of this.svg.querySelectorAll(".box")) {
      const { name } = group.dataset, { label, note } = this.boxNamed(name);
      const pressed = name === this.chosen && !this.isTaken;
      asButton(group, `${label}${note ? `, ${note}` : ""}`, pressed, () => this.choose(name));
    }
    for (const stack of stacks) this.numbers(stack);
    if (focused) this.svg.querySelector(`[data-name="${focused}"]`)?.focus({ preventScroll: true });
  }

  // The numbers of the layers, those around the open one where they are many.
  numbers({ stack, count, open, x, y }) {
    const { first, shown } = numbered({ count, open }, this.size.most);
    this.svg.append(shape("text", { class: "left", x: x - 30, y: y - 12 }, "layer"));
    for (let layer = first; layer < first + shown; layer++) {
      const left = x + 6 + (layer - first) * (NUMBER + 2);
      const group = shape(
        "g",
        { class: "layer", "data-layer": `${stack}-${layer}` },
        shape("rect", { x: left, y: y - NUMBER - 3, width: NUMBER, height: NUMBER - 2, rx: 5 }),
        shape("text", { x: left + NUMBER / 2, y: y - 12 }, layer + 1),
      );
      asButton(group, `${stack} layer ${layer + 1}`, layer === open, () => this.show(stack, layer));
      this.svg.append(group);
    }
    if (shown === count) return;
    const after = x + 8 + shown * (NUMBER + 2);
    this.svg.append(shape("text", { class: "left", x: after, y: y - 12 }, `of ${count}`));
  }
}

function asButton(group, label, pressed, act) {
  setAttributes(group, { role: "button", tabindex: 0, "aria-pressed": pressed, "aria-label": label });
  group.onclick = act;
  group.onkeydown = (event) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    act();
  };
}

export default mounted(Diagram);
