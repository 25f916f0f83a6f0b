// The blocks of the model from the bottom to the top, encoder on the left, decoder on the right, as in the paper's figure.

const WIDTH = 640, BOX = 200, HIGH = 40, GAP = 16, LEFT = 70, RIGHT = 370, MARGIN = 30, NUMBER = 26, MOST_NUMBERS = 8;
const SVG = "http://www.w3.org/2000/svg";

function shape(tag, attributes, text) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

class Diagram {
  constructor(root) {
    this.svg = root.querySelector("svg");
    this.said = new Said();
    this.open = { encoder: 0, decoder: 0 }; // the layer of each stack whose boxes are shown
  }

  receive(data) {
    this.data = data;
    if (this.said.isNews(data.chosen) || !this.boxNamed(this.chosen)) {
      this.chosen = this.boxNamed(data.chosen) ? data.chosen : data.first;
      this.openLayerOf(this.chosen);
    }
    for (const stack of ["encoder", "decoder"]) this.open[stack] = Math.min(this.open[stack], data[stack].layers.length - 1);
    this.draw();
  }

  leave() {}

  boxNamed(name) {
    return this.boxes().find((box) => box.name === name);
  }

  boxes() {
    const { encoder, decoder, output } = this.data;
    return [encoder, decoder].flatMap(({ before, layers, after }) => [...before, ...layers.flat(), ...after]).concat(output);
  }

  openLayerOf(name) {
    const box = this.boxNamed(name);
    if (box?.layer !== null && box?.layer !== undefined) this.open[box.stack] = box.layer;
  }

  choose(name) {
    this.chosen = name;
    this.draw();
    this.svg.querySelector(`[data-name="${name}"]`)?.focus();
    if (this.said.tell(name)) this.setTriggerValue("choice", name);
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
    this.places = {};
    const heights = { encoder: this.tower("encoder", LEFT, 0), decoder: this.tower("decoder", RIGHT, 0) };
    const height = Math.max(...Object.values(heights)) + MARGIN;
    this.svg.replaceChildren();
    this.svg.setAttribute("viewBox", `0 0 ${WIDTH} ${height}`);
    for (const [stack, x] of [["encoder", LEFT], ["decoder", RIGHT]]) this.tower(stack, x, height - MARGIN);
    this.memory();
  }

  // All boxes of one stack upward from y; returns how high they reach.
  tower(stack, x, bottom) {
    const { before, layers, after } = this.data[stack], tail = stack === "decoder" ? this.data.output : [];
    let y = bottom;
    this.label(x + BOX / 2, y + 16, this.data[stack].input);
    for (const box of before) y = this.box(box, x, y);
    y -= GAP;
    const top = y, boxes = layers[this.open[stack]];
    const frame = this.svg.appendChild(shape("rect", { class: "frame", rx: 10 }));
    y -= 14;
    y = this.layer(boxes, x, y);
    y -= 12;
    Object.entries({ x: x - 34, y, width: BOX + 60, height: top - y }).forEach(([name, value]) => frame.setAttribute(name, value));
    this.numbers(stack, layers.length, x, y);
    this.line(x + BOX / 2, top + GAP, x + BOX / 2, top - 14);
    y -= NUMBER + 8;
    this.line(x + BOX / 2, y + NUMBER + 8 + 12, x + BOX / 2, y);
    for (const box of [...after, ...tail]) y = this.box(box, x, y);
    this.places[`${stack} end`] = { x: x + BOX / 2, y: y };
    this.places[`${stack} top`] = y;
    if (tail.length) this.label(x + BOX / 2, y - 8, "probabilities of the next token");
    return bottom - y + (tail.length ? 24 : 10);
  }

  // The boxes of one layer with the ways around its sub-layers.
  layer(boxes, x, y) {
    const centre = x + BOX / 2;
    let start = y;
    for (const box of boxes) {
      if (box.begins) start = y;
      y = this.box(box, x, y);
      if (box.joins) this.bypass(x, start + (box.begins ? 0 : 4), y + HIGH / 2 + GAP / 2);
    }
    return y;
  }

  box(box, x, y) {
    const top = y - GAP / 2 - HIGH;
    this.line(x + BOX / 2, y, x + BOX / 2, top + HIGH);
    const words = `${box.label}${box.note ? `, ${box.note}` : ""}`;
    const group = this.button(`box ${box.look}`, words, box.name === this.chosen, () => this.choose(box.name));
    group.dataset.name = box.name;
    group.append(
      shape("rect", { x, y: top, width: BOX, height: HIGH, rx: 6 }),
      shape("text", { x: x + BOX / 2, y: top + (box.note ? 17 : 25) }, box.label),
    );
    if (box.note) group.append(shape("text", { class: "small", x: x + BOX / 2, y: top + 32 }, box.note));
    this.svg.append(group);
    this.line(x + BOX / 2, top, x + BOX / 2, top - GAP / 2);
    this.places[box.name] = { x, y: top + HIGH / 2 };
    return top - GAP / 2;
  }

  button(className, label, pressed, act) {
    const group = shape("g", { class: className, role: "button", tabindex: 0, "aria-pressed": pressed, "aria-label": label });
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
    const shown = Math.min(count, MOST_NUMBERS), first = Math.min(Math.max(0, this.open[stack] - 3), count - shown);
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
    if (shown < count) this.svg.append(shape("text", { class: "small left", x: x + 8 + shown * (NUMBER + 2), y: y - 12 }, `of ${count}`));
  }

  bypass(x, from, to) {
    const out = x - 18;
    this.svg.append(shape("path", { d: `M${x + BOX / 2} ${from} H${out} V${to} H${x - 2}`, "marker-end": "" }));
    this.arrow(x, to, 1, 0);
  }

  // From the encoder's end to every cross-attention that is shown: keys and values.
  memory() {
    const end = this.places["encoder end"], cross = this.data.decoder.layers[this.open.decoder].find(({ kind }) => kind === "cross_attention");
    if (!cross) return;
    const to = this.places[cross.name], turn = RIGHT - 46;
    this.svg.append(shape("path", { d: `M${end.x} ${end.y} V${end.y - 12} H${turn} V${to.y} H${to.x - 2}` }));
    this.arrow(to.x, to.y, 1, 0);
    this.svg.append(shape("text", { class: "small", x: (end.x + turn) / 2, y: end.y - 18 }, "memory: keys and values"));
  }

  line(x1, y1, x2, y2) {
    this.svg.append(shape("line", { x1, y1, x2, y2 }));
  }

  arrow(x, y, right) {
    this.svg.append(shape("path", { d: `M${x - 7} ${y - 4} L${x} ${y} L${x - 7} ${y + 4}` }));
  }

  label(x, y, text) {
    this.svg.append(shape("text", { class: "small", x, y }, text));
  }
}

export default mounted(Diagram);
