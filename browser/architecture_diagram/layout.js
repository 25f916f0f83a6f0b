// Where the boxes and lines of the diagram lie: as shapes, from which the page makes elements and a file its text.

import { shape, write } from "../export/svg.js";

export const WIDE = { width: 640, box: 200, left: 70, right: 370, frame: 34, most: 6 };
// On a phone the same letters need more of the width.
export const NARROW = { width: 400, box: 148, left: 36, right: 236, frame: 28, most: 3 };
export const NUMBER = 26;
const HIGH = 40, GAP = 16, MARGIN = 30;
const COLOURS = {
  embedding: ["rgb(204, 121, 167)", 0.35],
  positions: ["rgb(128, 128, 128)", 0.2],
  attention: ["rgb(230, 159, 0)", 0.35],
  feed_forward: ["rgb(86, 180, 233)", 0.4],
  norm: ["rgb(240, 228, 66)", 0.4],
  add: ["rgb(128, 128, 128)", 0.2],
  output_projection: ["rgb(0, 114, 178)", 0.3],
  softmax: ["rgb(0, 158, 115)", 0.35],
};
const FRAME = { fill: "rgb(128, 128, 128)", "fill-opacity": 0.08, stroke: "rgb(128, 128, 128)", "stroke-opacity": 0.6 };

const paintOf = (look) => (COLOURS[look] ? { fill: COLOURS[look][0], "fill-opacity": COLOURS[look][1] } : {});

// The shapes of a diagram whose stacks have the layer `open[stack]` unfolded: {parts, stacks, top, width, height}. A
// box is a group of the class "box" with its name; `stacks` says at which place how many layers are to be numbered.
export function layOut(data, open, size) {
  const drawing = new Drawing(data, open, size);
  const top = Math.min(drawing.tower("encoder", size.left), drawing.tower("decoder", size.right));
  drawing.memory();
  return { parts: drawing.parts, stacks: drawing.stacks, top, width: size.width, height: MARGIN - top };
}

// Which numbers of layers there is room for: {first, shown}, around the open one where they are many.
export function numbered({ count, open }, most) {
  const shown = Math.min(count, most), before = Math.floor(shown / 2);
  return { first: Math.min(Math.max(0, open - before), count - shown), shown };
}

class Drawing {
  constructor(data, open, size) {
    Object.assign(this, { data, open, size, parts: [], stacks: [], points: {} });
  }

  // All boxes of one stack upward from 0; returns how far up they reach.
  tower(stack, x) {
    const { before, layers, after } = this.data[stack], tail = stack === "decoder" ? this.data.output : [];
    const middle = x + this.size.box / 2;
    let y = 0;
    this.label(middle, y + 16, this.data[stack].input);
    for (const box of before) y = this.box(box, x, y);
    y -= GAP;
    const bottom = y, frame = this.add(shape("rect", { class: "frame", rx: 10, ...FRAME }));
    y = this.layer(layers[this.open[stack]], x, y - 14) - 12;
    const width = this.size.box + this.size.frame + 10;
    Object.assign(frame.attributes, { x: x - this.size.frame, y, width, height: bottom - y });
    this.stacks.push({ stack, count: layers.length, open: this.open[stack], x, y });
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
    const side = { x, y: top, width: this.size.box, height: HIGH, rx: 6 };
    this.add(shape(
      "g",
      { class: "box", "data-name": box.name },
      shape("rect", { ...side, ...paintOf(box.look) }),
      write(box.label, middle, top + (box.note ? 17 : 25)),
      ...(box.note ? [write(box.note, middle, top + 32, { class: "small" })] : []),
    ));
    this.line(middle, top, middle, top - GAP / 2);
    this.points[box.name] = { x, y: top + HIGH / 2 };
    return top - GAP / 2;
  }

  bypass(x, from, to) {
    const out = x - this.size.frame / 2 - 2;
    this.add(shape("path", { d: `M${x + this.size.box / 2} ${from} H${out} V${to} H${x - 2}` }));
    this.arrow(x, to);
  }

  // From the encoder's end to every cross-attention that is shown: keys and values.
  memory() {
    const boxes = this.data.decoder.layers[this.open.decoder];
    const cross = boxes.find(({ kind }) => kind === "cross_attention");
    if (!cross) return;
    const end = this.points["encoder end"], to = this.points[cross.name], turn = this.size.right - this.size.frame - 12;
    this.add(shape("path", { d: `M${end.x} ${end.y} V${end.y - 12} H${turn} V${to.y} H${to.x - 2}` }));
    this.arrow(to.x, to.y);
    this.label((end.x + turn) / 2, end.y - 18, "memory: keys and values");
  }

  line(x1, y1, x2, y2) {
    this.add(shape("line", { x1, y1, x2, y2 }));
  }

  arrow(x, y) {
    this.add(shape("path", { d: `M${x - 7} ${y - 4} L${x} ${y} L${x - 7} ${y + 4}` }));
  }

  label(x, y, text) {
    this.add(write(text, x, y, { class: "small" }));
  }

  add(part) {
    this.parts.push(part);
    return part;
  }
}
