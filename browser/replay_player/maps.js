// The maps of a film as thumbnails on canvases: every head at one moment, and one head at every moment.

const CHOSEN = "#e8710a";
const LAYER_LABEL = 46, HEAD_LABEL = 20, GUTTER = 8, LARGEST_THUMBNAIL = 96; // pixels
const SMALLEST_FRAME = 30, LARGEST_FRAME = 56, STEP_LABEL = 18, ROOM_FOR_A_STEP = 36;
const SHADES = Uint8ClampedArray.from({ length: 256 }, (_, weight) => 255 * (0.03 + (0.69 * weight) / 255));

// Weights of all moments and heads of one kind; rows are queries, columns keys.
class Maps {
  constructor(data) {
    Object.assign(this, { layers: data.layers, heads: data.heads, causal: data.causal });
    this.rows = data.queries.length;
    this.columns = data.keys.length;
    this.weights = sixteenBits(data.weights);
    this.scratch = document.createElement("canvas");
    this.scratch.width = this.columns;
    this.scratch.height = this.rows;
    this.pen = this.scratch.getContext("2d");
    this.image = this.pen.createImageData(this.columns, this.rows);
    for (let cell = 0; cell < this.rows * this.columns; cell++) this.image.data.set([31, 119, 224, 0], cell * 4);
  }

  start(moment, layer, head) {
    return ((moment * this.layers + layer) * this.heads + head) * this.rows * this.columns;
  }

  weight(moment, layer, head, row, column) {
    return this.weights[this.start(moment, layer, head) + row * this.columns + column] / 65535;
  }

  isOpen(row, column) {
    return !this.causal || column <= row;
  }

  // One map as a picture with a pixel a cell; closed cells are blank. It serves until the next one is asked for.
  picture(moment, layer, head) {
    const start = this.start(moment, layer, head);
    for (let row = 0, cell = 0; row < this.rows; row++) {
      for (let column = 0; column < this.columns; column++, cell++) {
        this.image.data[cell * 4 + 3] = this.isOpen(row, column) ? SHADES[this.weights[start + cell] >> 8] : 0;
      }
    }
    this.pen.putImageData(this.image, 0, 0);
    return this.scratch;
  }

  // Draw one map with its frame into a box of this width, cells not blurred; returns nothing.
  draw(pen, moment, layer, head, x, y, width, height, chosen) {
    pen.drawImage(this.picture(moment, layer, head), x, y, width, height);
    pen.strokeStyle = chosen ? CHOSEN : FRAME;
    pen.lineWidth = chosen ? 2.5 : 1;
    const out = chosen ? 1.5 : 0.5;
    pen.strokeRect(x - out, y - out, width + 2 * out, height + 2 * out);
  }

  // A thumbnail's height for this width; long maps are not let grow beyond their square.
  heightFor(width) {
    return Math.round(Math.min(width * 1.25, (width * this.rows) / this.columns));
  }
}

// Every head at one moment: layers below one another, heads side by side.
class Overview {
  // tell(text) gets what is under the pointer in words; choose(layer, head) the head that was clicked.
  constructor(canvas, tell, choose) {
    this.canvas = canvas;
    this.tell = tell;
    canvas.onpointermove = (event) => this.point(this.under(event));
    canvas.onpointerleave = () => this.point(null);
    canvas.onclick = (event) => {
      const found = this.under(event);
      if (found) choose(found.layer, found.head);
    };
  }

  draw(data, maps, moment, width) {
    Object.assign(this, { data, maps, moment });
    const { layers, heads } = maps;
    this.wide = Math.max(6, Math.min(LARGEST_THUMBNAIL, Math.floor((width - LAYER_LABEL) / heads) - GUTTER));
    this.high = maps.heightFor(this.wide);
    const across = this.wide + GUTTER, down = this.high + GUTTER;
    const pen = prepare(this.canvas, LAYER_LABEL + heads * across, HEAD_LABEL + layers * down);
    for (let head = 0; head < heads; head++) {
      pen.fillText(head ? head + 1 : "head 1", LAYER_LABEL + head * across + this.wide / 2, 12);
    }
    pen.textAlign = "left";
    for (let layer = 0; layer < layers; layer++) {
      const y = HEAD_LABEL + layer * down;
      pen.fillText(`layer ${layer + 1}`, 0, y + this.high / 2 + 4);
      for (let head = 0; head < heads; head++) {
        const chosen = layer === data.layer && head === data.head;
        maps.draw(pen, moment, layer, head, LAYER_LABEL + head * across, y, this.wide, this.high, chosen);
      }
    }
    this.canvas.setAttribute("aria-label", `${layers} layers by ${heads} heads at ${data.moments[moment].place}`);
    this.say();
  }

  under(event) {
    if (!this.maps) return null;
    const x = event.offsetX - LAYER_LABEL, y = event.offsetY - HEAD_LABEL;
    const head = Math.floor(x / (this.wide + GUTTER)), layer = Math.floor(y / (this.high + GUTTER));
    const column = Math.floor(((x - head * (this.wide + GUTTER)) / this.wide) * this.maps.columns);
    const row = Math.floor(((y - layer * (this.high + GUTTER)) / this.high) * this.maps.rows);
    const inside = layer >= 0 && layer < this.maps.layers && head >= 0 && head < this.maps.heads;
    return inside ? { layer, head, row, column } : null;
  }

  point(found) {
    this.found = found;
    this.say();
  }

  say() {
    const { found, maps } = this;
    if (!found || found.row >= maps.rows || found.column >= maps.columns) return this.tell("");
    this.tell(cellWords(this.data, maps, this.moment, found));
  }
}

// One head at every moment, or at as many as there is room for, as the frames of a film below its slider.
class FilmStrip {
  // seek(moment) is told where the pointer went down or was dragged.
  constructor(canvas, seek) {
    this.canvas = canvas;
    canvas.onpointerdown = canvas.onpointermove = (event) => {
      if (!this.count || !(event.buttons & 1)) return;
      seek(Math.round(((event.offsetX - this.edge) / (this.width - 2 * this.edge || 1)) * (this.count - 1)));
    };
  }

  // Half a frame's width: so far from both ends of the strip stand the first moment and the last.
  draw(data, maps, moment, width) {
    this.count = data.steps.length;
    this.width = width;
    const frames = Math.max(1, Math.min(this.count, Math.floor(width / SMALLEST_FRAME)));
    const room = Math.min(width / 6, width / frames), between = (width - room) / Math.max(1, this.count - 1);
    const wide = Math.floor(Math.min(LARGEST_FRAME, room - 6)), high = maps.heightFor(wide);
    this.edge = room / 2;
    const pen = prepare(this.canvas, width, high + STEP_LABEL + 6);
    const every = Math.ceil(ROOM_FOR_A_STEP / room);
    for (let frame = 0; frame < frames; frame++) {
      const share = frame / Math.max(1, frames - 1), nearest = Math.round(share * (this.count - 1));
      const x = Math.round(this.edge + share * (width - room) - wide / 2);
      maps.draw(pen, nearest, data.layer, data.head, x, 3, wide, high, false);
      if (frame % every === 0) pen.fillText(data.steps[nearest].toLocaleString("en"), x + wide / 2, high + STEP_LABEL);
    }
    const x = Math.round(this.edge + moment * between - wide / 2);
    pen.clearRect(x - 3, 0, wide + 6, high + 6);
    maps.draw(pen, moment, data.layer, data.head, x, 3, wide, high, true);
    this.canvas.setAttribute("aria-label", `Frames side by side: ${data.name} at ${this.count} moments`);
  }
}

// A cell of a map in words: which head's row reads which key, with what weight.
function cellWords(data, maps, moment, { layer, head, row, column }) {
  const query = data.queries[row], key = data.keys[column];
  const reader = data.predicts ? `fed “${query}”, to predict “${data.predicts[row]}”,` : `“${query}”`;
  const where = `Layer ${layer + 1}, head ${head + 1}: ${reader}`;
  if (!maps.isOpen(row, column)) return `${where} may not read “${key}”, which comes later`;
  return `${where} reads “${key}” with weight ${maps.weight(moment, layer, head, row, column).toFixed(3)}`;
}

