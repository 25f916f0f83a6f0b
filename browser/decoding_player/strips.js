// One kind of attention in one step: every head as a thin line of cells on a canvas, layer under layer.

const ROW_HEIGHT = 11, LAYER_GAP = 6, LABEL_SPACE = 52, TALLEST_LABELS = 90;
const SMALLEST_CELL_WITH_LABEL = 12, LARGEST_CELL = 34; // pixels

class Strip {
  // tell(text) gets what is under the pointer in words; choose(layer, head) the line that was clicked.
  constructor(canvas, tell, choose) {
    this.canvas = canvas;
    canvas.onpointermove = (event) => tell(this.words(this.under(event)));
    canvas.onpointerleave = () => tell("");
    canvas.onclick = (event) => {
      const found = this.under(event);
      if (found) choose(found.layer, found.head);
    };
  }

  receive(data, keys, weights) {
    this.data = data;
    this.keys = keys;
    this.weights = sixteenBits(weights);
    this.longest = Math.max(...keys.map((key) => shortened(key).length));
  }

  // Pixels that all keys take when each has room for its label.
  get comfortable() {
    return LABEL_SPACE + 14 + this.keys.length * SMALLEST_CELL_WITH_LABEL;
  }

  // Draw one step, the first `open` keys of it, into this width.
  draw(step, open, width) {
    this.step = step;
    this.open = open;
    this.measure(width);
    const { cell, top, canvas } = this, { layers, heads } = this.data;
    const pen = this.pen();
    if (cell >= SMALLEST_CELL_WITH_LABEL) this.label(pen);
    const ink = pen.fillStyle;
    for (let layer = 0; layer < layers; layer++) {
      const y = top + layer * this.layerHeight;
      pen.fillStyle = ink;
      pen.fillText(`layer ${layer + 1}`, 0, y + (heads * ROW_HEIGHT) / 2 + 4);
      for (let head = 0; head < heads; head++) {
        for (let key = 0; key < open; key++) {
          pen.fillStyle = blue(this.weight(layer, head, key));
          pen.fillRect(LABEL_SPACE + key * cell, y + head * ROW_HEIGHT, cell - 1, ROW_HEIGHT - 1);
        }
      }
      this.emphasise(pen, layer, y);
    }
    canvas.setAttribute("aria-label", `${layers} layers by ${heads} heads: the weights of step ${step}, a line a head`);
  }

  measure(width) {
    const room = Math.max(width, 120) - LABEL_SPACE - 14;
    this.cell = Math.min(LARGEST_CELL, Math.max(3, room / this.keys.length));
    this.top = this.cell >= SMALLEST_CELL_WITH_LABEL ? Math.min(TALLEST_LABELS, 14 + 6 * this.longest) : 6;
    this.layerHeight = this.data.heads * ROW_HEIGHT + LAYER_GAP;
    this.width = LABEL_SPACE + this.cell * this.keys.length + 14;
    this.height = this.top + this.layerHeight * this.data.layers;
  }

  pen() {
    const { canvas } = this, ratio = window.devicePixelRatio || 1, style = getComputedStyle(canvas);
    canvas.width = Math.round(this.width * ratio);
    canvas.height = Math.round(this.height * ratio);
    canvas.style.width = `${this.width}px`;
    const pen = canvas.getContext("2d");
    pen.scale(ratio, ratio);
    pen.font = `12px ${style.fontFamily}`;
    pen.fillStyle = style.color;
    pen.strokeStyle = "#e8710a";
    pen.lineWidth = 2;
    return pen;
  }

  label(pen) {
    this.keys.slice(0, this.open).forEach((key, index) => {
      pen.save();
      pen.translate(LABEL_SPACE + (index + 0.5) * this.cell, this.top - 4);
      pen.rotate(-Math.PI / 3);
      pen.fillText(shortened(key), 0, 4);
      pen.restore();
    });
  }

  // A frame around what colours the sentences: a head, or all heads of a layer; none around the average of all.
  emphasise(pen, layer, y) {
    const { layer: chosenLayer, head, heads } = this.data;
    if ((chosenLayer ?? layer) !== layer || (chosenLayer === null && head === null)) return;
    const [first, rows] = head === null ? [0, heads] : [head, 1];
    pen.strokeRect(LABEL_SPACE - 1, y + first * ROW_HEIGHT - 1, this.cell * this.keys.length + 1, rows * ROW_HEIGHT + 1);
  }

  weight(layer, head, key) {
    const steps = this.data.steps.length;
    const row = (layer * this.data.heads + head) * steps + this.step - 1;
    return this.weights[row * this.keys.length + key] / 65535;
  }

  under(event) {
    // The canvas may be shown smaller than it is.
    const scale = this.width / this.canvas.clientWidth;
    const x = event.offsetX * scale, y = event.offsetY * scale - this.top;
    const layer = Math.floor(y / this.layerHeight);
    const head = Math.floor((y - layer * this.layerHeight) / ROW_HEIGHT);
    const key = Math.floor((x - LABEL_SPACE) / this.cell);
    const inside = layer >= 0 && layer < this.data.layers && head < this.data.heads;
    return inside ? { layer, head, key } : null;
  }

  words(found) {
    if (!found || found.key < 0 || found.key >= this.open) return "";
    const { layer, head, key } = found;
    const weight = this.weight(layer, head, key).toFixed(4);
    return `Layer ${layer + 1}, head ${head + 1} reads “${this.keys[key]}” with weight ${weight}`;
  }
}
