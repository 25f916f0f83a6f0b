// One kind of attention in one step: every head as a thin line of cells on a canvas, layer under layer.

import { blue, placeOf, prepare, shortened } from "../lib/canvas.js";
import { cellText, writeSlanted } from "../lib/heatmap.js";
import { shownTokens } from "../lib/tokens.js";
import { say } from "./texts.toml";

const ROW_HEIGHT = 11, LAYER_GAP = 6, TALLEST_LABELS = 90, BESIDE = 14; // pixels
const LABEL_SPACE = Math.round(7.4 * say("layer", { layer: 1 }).length); // 52 in English
const SMALLEST_CELL_WITH_LABEL = 12, LARGEST_CELL = 34, NARROWEST = 120;

export class HeadStrip {
  // readOut(text) gets what is under the pointer in words; choose(layer, head) the line that was clicked.
  constructor(canvas, readOut, choose) {
    this.canvas = canvas;
    canvas.onpointermove = (event) => readOut(this.textOf(this.under(event)));
    canvas.onpointerleave = () => readOut("");
    canvas.onclick = (event) => {
      const cell = this.under(event);
      if (cell) choose(cell.layer, cell.head);
    };
  }

  receive(data, keys, weights) {
    Object.assign(this, { data, keys, weights });
    this.labels = shownTokens(keys);
    this.longest = Math.max(...this.labels.map((label) => shortened(label).length));
  }

  // Pixels that all keys take when each has room for its label.
  get comfortable() {
    return LABEL_SPACE + BESIDE + this.keys.length * SMALLEST_CELL_WITH_LABEL;
  }

  // Draw one step, the first `unmasked` keys of it, into this width.
  draw(step, unmasked, width) {
    Object.assign(this, { step, unmasked });
    this.measure(width);
    const { cell, top, canvas } = this, { layers, heads } = this.data;
    const pen = prepare(canvas, this.width, this.height);
    canvas.style.height = "auto"; // it may be shown smaller than it is
    pen.textAlign = "left";
    pen.strokeStyle = pen.fillStyle;
    pen.lineWidth = 2;
    if (cell >= SMALLEST_CELL_WITH_LABEL) this.label(pen);
    const ink = pen.fillStyle;
    for (let layer = 0; layer < layers; layer++) {
      const y = top + layer * this.layerHeight;
      pen.fillStyle = ink;
      pen.fillText(say("layer", { layer: layer + 1 }), 0, y + (heads * ROW_HEIGHT) / 2 + 4);
      for (let head = 0; head < heads; head++) {
        for (let key = 0; key < unmasked; key++) {
          pen.fillStyle = blue(this.weight(layer, head, key), pen.onDark);
          pen.fillRect(LABEL_SPACE + key * cell, y + head * ROW_HEIGHT, cell - 1, ROW_HEIGHT - 1);
        }
      }
      this.emphasise(pen, layer, y);
    }
    canvas.setAttribute("aria-label", say("strip", { layers, heads, step }));
  }

  measure(width) {
    const room = Math.max(width, NARROWEST) - LABEL_SPACE - BESIDE;
    this.cell = Math.min(LARGEST_CELL, Math.max(3, room / this.keys.length));
    this.top = this.cell >= SMALLEST_CELL_WITH_LABEL ? Math.min(TALLEST_LABELS, 14 + 6 * this.longest) : 6;
    this.layerHeight = this.data.heads * ROW_HEIGHT + LAYER_GAP;
    this.width = LABEL_SPACE + this.cell * this.keys.length + BESIDE;
    this.height = this.top + this.layerHeight * this.data.layers;
  }

  label(pen) {
    this.labels.slice(0, this.unmasked).forEach((label, index) => {
      writeSlanted(pen, label, LABEL_SPACE + (index + 0.5) * this.cell, this.top - 4, 4);
    });
  }

  // A frame around what colours the sentences: a head, or all heads of a layer; none around the average of all.
  emphasise(pen, layer, y) {
    const { layer: chosenLayer, head, heads } = this.data;
    if ((chosenLayer ?? layer) !== layer || (chosenLayer === null && head === null)) return;
    const [first, rows] = head === null ? [0, heads] : [head, 1];
    const wide = this.cell * this.unmasked + 1, high = rows * ROW_HEIGHT + 1;
    pen.strokeRect(LABEL_SPACE - 1, y + first * ROW_HEIGHT - 1, wide, high);
  }

  weight(layer, head, key) {
    const { data, keys, weights, step } = this, row = (layer * data.heads + head) * data.steps.length + step - 1;
    return weights[row * keys.length + key];
  }

  // The drawn step for a file: the keys that are read, and weight(layer, head, key).
  get shown() {
    const step = Object.assign(Object.create(HeadStrip.prototype), this);
    return { keys: this.keys.slice(0, this.unmasked), weight: (...cell) => step.weight(...cell) };
  }

  under(event) {
    const scale = this.width / this.canvas.clientWidth, place = placeOf(event);
    const x = place.x * scale, y = place.y * scale - this.top;
    const layer = Math.floor(y / this.layerHeight);
    const head = Math.floor((y - layer * this.layerHeight) / ROW_HEIGHT);
    const key = Math.floor((x - LABEL_SPACE) / this.cell);
    const inside = layer >= 0 && layer < this.data.layers && head < this.data.heads;
    return inside ? { layer, head, key } : null;
  }

  textOf(cell) {
    if (!cell || cell.key < 0 || cell.key >= this.unmasked) return "";
    const { layer, head, key } = cell;
    return cellText(say("head", { layer: layer + 1, head: head + 1 }), this.keys[key], this.weight(layer, head, key));
  }
}
