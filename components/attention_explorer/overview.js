// Thumbnails of all heads: layers below one another, heads side by side, each with its label.

const THUMB_LABEL = 44, THUMB_HEAD = 18, THUMB_GAP = 8, LARGEST_THUMB = 84, SMALLEST_THUMB = 18, LABEL_ROW = 13;

class Overview {
  constructor(canvas, { choose, tell }) {
    Object.assign(this, { canvas, tell });
    canvas.tabIndex = 0;
    canvas.setAttribute("role", "application");
    canvas.onpointermove = (event) => this.point(this.under(event));
    canvas.onpointerleave = () => this.point(null);
    canvas.onclick = (event) => {
      const found = this.under(event);
      if (found) choose(found.layer, found.head, event.shiftKey || event.ctrlKey || event.metaKey);
    };
    canvas.onkeydown = (event) => this.key(event, choose);
    canvas.onblur = () => this.point(null);
  }

  // order: heads as {layer, head} in rows, or null for layers by heads; dim(layer, head) is true for what the filter leaves out.
  draw(attention, choice, width, dim) {
    const name = choice.kind, kind = attention.kind(name);
    Object.assign(this, { attention, choice, kind });
    const room = (width - THUMB_LABEL) / kind.heads - THUMB_GAP;
    this.wide = Math.max(SMALLEST_THUMB, Math.min(LARGEST_THUMB, Math.floor(room)));
    this.high = Math.round(Math.min(this.wide * 1.25, (this.wide * kind.queries) / kind.keys));
    const labelled = this.wide >= 40 ? LABEL_ROW : 0;
    this.across = this.wide + THUMB_GAP;
    this.down = this.high + labelled + THUMB_GAP;
    const pen = prepare(this.canvas, THUMB_LABEL + kind.heads * this.across, THUMB_HEAD + kind.layers * this.down);
    const picture = new Picture(kind.keys, kind.queries);
    for (let head = 0; head < kind.heads; head++) {
      pen.fillText(head ? head + 1 : "head 1", THUMB_LABEL + head * this.across + this.wide / 2, 12);
    }
    for (let layer = 0; layer < kind.layers; layer++) {
      const y = THUMB_HEAD + layer * this.down;
      pen.textAlign = "left";
      pen.fillText(`layer ${layer + 1}`, 0, y + this.high / 2 + 4);
      pen.textAlign = "center";
      for (let head = 0; head < kind.heads; head++) {
        const x = THUMB_LABEL + head * this.across, faint = dim(layer, head);
        pen.globalAlpha = faint ? 0.25 : 1;
        const causal = name === "decoder";
        pen.drawImage(picture.of(attention.raw(name, layer, head), causal), x, y, this.wide, this.high);
        this.frame(pen, x, y, choice.has({ layer, head }));
        if (labelled) this.label(pen, x, y, kind.measures[layer * kind.heads + head].label);
        pen.globalAlpha = 1;
      }
    }
    this.canvas.setAttribute("aria-label", `${kind.name}: ${kind.layers} layers by ${kind.heads} heads. Arrow keys move, Enter chooses, with shift in addition.`);
  }

  frame(pen, x, y, chosen) {
    pen.strokeStyle = chosen ? pen.fillStyle : FRAME;
    pen.lineWidth = chosen ? 2.5 : 1;
    const out = chosen ? 1.5 : 0.5;
    pen.strokeRect(x - out, y - out, this.wide + 2 * out, this.high + 2 * out);
  }

  label(pen, x, y, label) {
    pen.save();
    pen.font = pen.font.replace("12px", "10px");
    pen.globalAlpha *= label ? 1 : 0.6;
    pen.fillText(label ? SHORT_LABELS[label] : "–", x + this.wide / 2, y + this.high + 10);
    pen.restore();
  }

  under(event) {
    if (!this.kind) return null;
    const head = Math.floor((event.offsetX - THUMB_LABEL) / this.across), layer = Math.floor((event.offsetY - THUMB_HEAD) / this.down);
    return head >= 0 && layer >= 0 && head < this.kind.heads && layer < this.kind.layers ? { layer, head } : null;
  }

  key(event, choose) {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const from = this.pointed ?? this.choice.heads[0], move = ARROWS[event.key];
    if (move) {
      const within = (value, count) => Math.min(Math.max(0, value), count - 1);
      this.point({ layer: within(from.layer + move[0], this.kind.layers), head: within(from.head + move[1], this.kind.heads) });
    } else if (event.key === "Enter" || event.key === " ") choose(from.layer, from.head, event.shiftKey);
    else return;
    event.preventDefault();
  }

  point(found) {
    this.pointed = found;
    this.tell(found);
  }
}

const ARROWS = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
const SHORT_LABELS = {
  previous: "previous", same: "same", next: "next", mirrored: "mirrored", "end of sentence": "end", punctuation: "punct.", alignment: "aligned",
};

// Weights as an image with a pixel a cell.
class Picture {
  constructor(columns, rows) {
    this.scratch = document.createElement("canvas");
    Object.assign(this.scratch, { width: columns, height: rows });
    this.pen = this.scratch.getContext("2d");
    this.image = this.pen.createImageData(columns, rows);
    for (let cell = 0; cell < columns * rows; cell++) this.image.data.set([31, 119, 224, 0], cell * 4);
    Object.assign(this, { columns, rows });
  }

  of(weights, causal) {
    for (let row = 0, cell = 0; row < this.rows; row++) {
      for (let column = 0; column < this.columns; column++, cell++) {
        this.image.data[cell * 4 + 3] = causal && column > row ? 0 : 255 * (0.03 + (0.69 * weights[cell]) / 65535);
      }
    }
    this.pen.putImageData(this.image, 0, 0);
    return this.scratch;
  }
}
