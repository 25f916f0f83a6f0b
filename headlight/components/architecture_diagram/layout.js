// Positions of the boxes and lines of the diagram.

import { setAttributes, svgElement as shape } from "../lib/canvas.js";
import { BLOCKS, GREY, asText } from "../lib/colours.js";
import { sentenceCase } from "../lib/words.js";

// Pixels: letters keep their size, boxes are as wide and as high as all of them have room. Between the stacks lies the
// way of the memory.
const WIDE = { frame: 34, between: 40, most: 6 }, NARROW = { frame: 28, between: 14, most: 3 };
const NARROW_BELOW = 480, WIDEST = 640, LARGEST_BOX = 200;
const HIGHEST = { high: 40, gap: 16 }, LOWEST = 24, BOX_OF_ALL = 0.72; // a box and what is between it and the next
export const EDGE = 8;
export const NUMBER = 26; // the side of a box with the number of a layer
const RIGHT_OF_BOX = 10, BELOW = 24;
const BESIDE_BOXES = 118; // pixels of a stack's height that are not boxes
const HIGH_FOR_A_NOTE = 32, LETTER = 6.2; // notes are left out where there is no room, not shrunk
const ASIDE = 0.56, LEAST_FOR_ITS_NAME = 170; // where a box beside the way begins; pixels of a box on it
const LINE = asText(GREY);
const FRAME = { fill: LINE, "fill-opacity": 0.08, stroke: LINE, "stroke-opacity": 0.6 };

const paintOf = (look) => (BLOCKS[look] ? { fill: BLOCKS[look][0], "fill-opacity": BLOCKS[look][1] } : {});

// The sizes for a room [width, height] in pixels, with so many boxes one above the other.
export function sizeFor([width, height], boxes) {
  const across = Math.min(width, WIDEST), size = across < NARROW_BELOW ? NARROW : WIDE, { frame, between } = size;
  const box = Math.min(LARGEST_BOX, (across - 2 * EDGE - between) / 2 - frame - RIGHT_OF_BOX);
  const all = Math.min(HIGHEST.high + HIGHEST.gap, Math.max(LOWEST, (height - BESIDE_BOXES) / boxes));
  const high = Math.min(HIGHEST.high, BOX_OF_ALL * all), left = EDGE + frame;
  const right = left + box + RIGHT_OF_BOX + between + frame;
  return { ...size, width: across, box, left, right, high, gap: all - high };
}

// The same for a picture to save, whatever the window.
export function largest() {
  const size = sizeFor([WIDEST, Infinity], 1);
  return { ...size, width: size.right + size.box + RIGHT_OF_BOX + EDGE };
}

// The elements of a diagram whose stacks have the layer `open[stack]` unfolded: {parts, stacks, top, width, height}. A
// box is a group of the class "box" with its name; `stacks` says at which place how many layers are to be numbered.
export function layOut(data, open, size) {
  const drawing = new Drawing(data, open, size);
  const top = Math.min(drawing.tower("encoder", size.left), drawing.tower("decoder", size.right));
  drawing.memory();
  return { parts: drawing.parts, stacks: drawing.stacks, top, width: size.width, height: BELOW - top };
}

// The numbers of layers that fit: {first, shown}, around the open one where they are many.
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
    for (const box of before) y = box.beside ? this.aside(box, x, y) : this.box(box, x, y);
    const { gap, frame: side, box: wide } = this.size;
    y -= gap;
    const bottom = y, frame = this.add(shape("rect", { class: "frame", rx: 10, ...FRAME }));
    y = this.layer(layers[this.open[stack]], x, y - 14) - 12;
    setAttributes(frame, { x: x - side, y, width: wide + side + RIGHT_OF_BOX, height: bottom - y });
    const name = `${sentenceCase(stack)} × ${layers.length}`;
    this.add(shape("text", { x: x - side + 8, y: y + 14, class: "small left stack" }, name));
    this.stacks.push({ stack, count: layers.length, open: this.open[stack], x, y });
    this.line(middle, bottom + gap, middle, bottom - 14);
    before.filter(({ beside }) => beside).forEach((box) => this.joinFromTheRight(box, layers[this.open[stack]], x));
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
    const side = { x, y: top, width: wide, height: high, rx: 6 };
    const noted = box.note && high >= HIGH_FOR_A_NOTE && LETTER * box.note.length < wide;
    this.add(shape(
      "g",
      { class: "box", "data-name": box.name },
      shape("rect", { ...side, ...paintOf(box.look) }),
      shape("text", { x: middle, y: top + (noted ? 0.42 * high : high / 2 + 5) }, box.label),
      ...(noted ? [shape("text", { x: middle, y: top + 0.82 * high, class: "small" }, box.note)] : []),
    ));
    this.line(middle, top, middle, top - gap / 2);
    this.points[box.name] = { x, y: top + high / 2 };
    return top - gap / 2;
  }

  // A box beside the path of the vectors, which passes it on its left.
  aside(box, x, y) {
    const { box: wide, high, gap } = this.size, top = y - gap / 2 - high, left = x + ASIDE * wide;
    this.line(x + wide / 2, y, x + wide / 2, top - gap / 2);
    const label = wide < LEAST_FOR_ITS_NAME ? box.label.split(" ").at(-1) : box.label;
    this.add(shape(
      "g",
      { class: "box", "data-name": box.name },
      shape("rect", { x: left, y: top, width: x + wide - left, height: high, rx: 6, ...paintOf(box.look) }),
      shape("text", { x: (left + x + wide) / 2, y: top + high / 2 + 4, class: "small" }, label),
    ));
    this.points[box.name] = { x: x + wide, y: top + high / 2 };
    return top - gap / 2;
  }

  // From a box beside the way to the self-attention that it is added in.
  joinFromTheRight({ name }, boxes, x) {
    const self = boxes.find(({ kind }) => kind === "self_attention"), right = x + this.size.box;
    const from = this.points[name], to = this.points[self.name], out = right + RIGHT_OF_BOX / 2 + 1;
    this.add(shape("path", { d: `M${from.x} ${from.y} H${out} V${to.y} H${right + 1}` }));
    this.add(shape("path", { d: `M${right + 6} ${to.y - 4} L${right + 1} ${to.y} L${right + 6} ${to.y + 4}` }));
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
    const end = this.points["encoder end"], to = this.points[cross.name], turn = this.size.right - this.size.frame - 8;
    this.add(shape("path", { d: `M${end.x} ${end.y} V${end.y - 12} H${turn} V${to.y} H${to.x - 2}` }));
    this.arrow(to.x, to.y);
    this.add(shape("text", { x: turn, y: end.y - 18, class: "small right" }, "memory: keys and values"));
  }

  line(x1, y1, x2, y2) {
    this.add(shape("line", { x1, y1, x2, y2 }));
  }

  arrow(x, y) {
    this.add(shape("path", { d: `M${x - 7} ${y - 4} L${x} ${y} L${x - 7} ${y + 4}` }));
  }

  label(x, y, text) {
    this.add(shape("text", { x, y, class: "small" }, text));
  }

  add(part) {
    this.parts.push(part);
    return part;
  }
}
