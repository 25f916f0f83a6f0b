// The maps of all heads at every snapshot of a training, and the strip of one head's maps below the slider.

import { placeOf, prepare } from "../lib/canvas.js";
import { cellText } from "../lib/heatmap.js";
import { Thumbnails, frame, heightOf } from "../lib/thumbnails.js";
import { grouped } from "../lib/words.js";
import { say } from "./texts.toml";

const FULL = 65535; // as which the weight 1 travels
const SMALLEST_FRAME = 30, LARGEST_FRAME = 56, LARGEST_LIVE = 40, STEP_LABEL = 18, ROOM_FOR_A_STEP = 36; // pixels

// Weights of all snapshots and heads of one kind; rows are queries, columns keys.
export class Snapshots {
  constructor(data) {
    this.data = data;
    this.rows = data.queries.length;
    this.columns = data.keys.length;
    this.weights = data.attention.weights;
  }

  // One head's map at a snapshot as lib/thumbnails.js has it, a view on the bytes.
  map(snapshot, { layer, head }) {
    const { rows, columns, data } = this, cells = rows * columns;
    const start = ((snapshot * data.layers + layer) * data.heads + head) * cells;
    return { values: this.weights.subarray(start, start + cells), rows, columns, full: FULL, causal: data.causal };
  }

  weight(snapshot, place, row, column) {
    return this.map(snapshot, place).values[row * this.columns + column] / FULL;
  }

  isMasked(row, column) {
    return this.data.causal && column > row;
  }

  cellText(snapshot, { layer, head, row, column }) {
    const { queries, predicts, keys } = this.data, query = queries[row];
    const reader = say(predicts ? "writer" : "reader", {
      layer: layer + 1, head: head + 1, query, next: predicts?.[row],
    });
    const weight = this.isMasked(row, column) ? null : this.weight(snapshot, { layer, head }, row, column);
    return cellText(reader, keys[column], weight);
  }
}

// One head at every snapshot, or at as many as there is room for, side by side.
export class SnapshotStrip {
  // seek(snapshot) hears where the pointer went down or was dragged.
  constructor(canvas, seek) {
    this.canvas = canvas;
    this.thumbnails = new Thumbnails();
    canvas.onpointerdown = canvas.onpointermove = (event) => {
      if (this.count && event.buttons & 1) seek(this.snapshotAt(placeOf(event).x));
    };
  }

  snapshotAt(x) {
    return Math.round(((x - this.edge) / (this.width - 2 * this.edge || 1)) * (this.count - 1));
  }

  // So far from both ends of the strip, half a frame's width, stand the first snapshot and the last.
  get edge() {
    return this.room / 2;
  }

  measure(count, width) {
    const frames = Math.max(1, Math.min(count, Math.floor(width / SMALLEST_FRAME)));
    Object.assign(this, { count, width, frames, room: Math.min(width / 6, width / frames) });
  }

  draw(data, snapshots, current, width) {
    this.measure(data.steps.length, width);
    const { canvas, count, frames, room, edge } = this;
    const largest = data.following ? LARGEST_LIVE : LARGEST_FRAME;
    const wide = Math.floor(Math.min(largest, room - 6)), high = heightOf(wide, snapshots);
    const pen = prepare(canvas, width, high + STEP_LABEL + 6), every = Math.ceil(ROOM_FOR_A_STEP / room);
    const at = (share) => ({ x: Math.round(edge + share * (width - room) - wide / 2), y: 3, wide, high });
    for (let number = 0; number < frames; number++) {
      const share = number / Math.max(1, frames - 1), nearest = Math.round(share * (count - 1)), box = at(share);
      this.thumbnails.draw(pen, snapshots.map(nearest, data), box);
      if (number % every) continue;
      const label = grouped(data.steps[nearest]), half = pen.measureText(label).width / 2;
      pen.fillText(label, Math.min(box.x + wide / 2, width - half), high + STEP_LABEL);
    }
    const box = at(current / Math.max(1, count - 1));
    pen.clearRect(box.x - 3, 0, wide + 6, high + 6);
    this.thumbnails.draw(pen, snapshots.map(current, data), box);
    frame(pen, box, pen.fillStyle, 2.5, 1.5);
    canvas.setAttribute("aria-label", say("frames", { head: data.name, count }));
  }
}
