// Thumbnails of all heads, of one kind or of all: layers below one another and heads side by side, or sorted by a measure.

const THUMB_LEFT = 46, THUMB_GAP = 8, LARGEST_THUMB = 84, SMALLEST_THUMB = 18, LEAST_LABELLED = 28, CAPTION = 12, TITLE = 22;
const POINTED = "#e8710a";
const ARROWS = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };

class Overview {
  // point(head or null) hears of a head {kind, layer, head}, choose(kind, heads, more) what was clicked.
  constructor(canvas, { choose, point }) {
    Object.assign(this, { canvas, point, drawn: new Drawn(canvas), pointed: null, tiles: [], names: [], pictures: {} });
    canvas.tabIndex = 0;
    canvas.setAttribute("role", "application");
    canvas.onpointermove = (event) => this.pointAt(this.under(this.tiles, event));
    canvas.onpointerleave = () => this.pointAt(null);
    canvas.onclick = (event) => {
      const found = this.under(this.tiles, event) ?? this.under(this.names, event);
      if (found) choose(found.kind, found.heads, withMore(event));
    };
    canvas.onkeydown = (event) => this.key(event, choose);
    canvas.onblur = () => this.pointAt(null);
  }

  draw(attention, choice, width) {
    this.choice = choice;
    const asked = JSON.stringify([attention.header.id, width, choice.kinds, choice.kinds === "one" && choice.kind, choice.sort, choice.label, choice.least, choice.scale, getComputedStyle(this.canvas).color]);
    if (asked !== this.asked) {
      Object.assign(this, { asked, attention, pointed: null, tiles: [], names: [], texts: [] });
      const kinds = choice.kinds === "one" ? [choice.kind] : KINDS;
      const high = kinds.reduce((top, kind) => this.place(kind, top, width, kinds.length > 1), 0);
      const pen = this.drawn.start(width, high);
      for (const tile of this.tiles) this.thumbnail(pen, tile);
      for (const text of [...this.names, ...this.texts]) this.write(pen, text);
      this.drawn.keep();
      this.canvas.setAttribute("aria-label", `${this.tiles.length} heads, of ${kinds.map((kind) => WORDS.kinds[kind]).join(", ")}. Arrow keys move, Enter chooses, with shift in addition.`);
    }
    this.marks();
  }

  // Where everything of a kind goes, from `top` on; returns where it ends.
  place(name, top, width, titled) {
    const { attention, choice, tiles } = this, kind = attention.kind(name), found = findHeads(attention, name, choice);
    const sorted = choice.sort in kind.measures, left = sorted ? 2 : THUMB_LEFT;
    const room = Math.floor((width - left - 2) / (sorted ? Math.max(kind.heads, 6) : kind.heads)) - THUMB_GAP;
    const wide = Math.max(SMALLEST_THUMB, Math.min(LARGEST_THUMB, room)), across = wide + THUMB_GAP;
    const high = Math.round(Math.min(wide * 1.25, Math.max(wide * 0.4, (wide * kind.queries) / kind.keys)));
    const captions = wide < LEAST_LABELLED ? 0 : sorted ? 3 : 1, down = high + captions * CAPTION + THUMB_GAP;
    const line = sorted ? Math.max(1, Math.floor((width - left) / across)) : kind.heads;
    if (titled) this.texts.push({ text: WORDS.kinds[name], x: 0, y: top + 14, align: "left" });
    top += titled ? TITLE : 2;
    if (!sorted) top = this.nameHeads(name, kind, top, left, wide, across, down, high);
    found.forEach((head, at) => {
      const lines = [head.label ? WORDS.patterns[head.label][0] : "–"];
      if (sorted) lines.unshift(`${head.layer + 1}.${head.head + 1}`, measureText(choice.sort, head.value).replace(" nats", ""));
      tiles.push({ ...head, kind: name, heads: [head], x: left + (at % line) * across, y: top + Math.floor(at / line) * down, wide, high, line, lines: lines.slice(0, captions) });
    });
    return top + Math.ceil(found.length / line) * down;
  }

  // The numbers of layers and heads: to be clicked for all of that number.
  nameHeads(name, kind, top, left, wide, across, down, high) {
    const all = this.attention.everyHead(name), below = top + 16;
    for (let head = 0; head < kind.heads; head++) {
      this.names.push({ kind: name, heads: all.filter((each) => each.head === head), text: head || wide < 34 ? head + 1 : "head 1", x: left + head * across, y: top, wide, high: 14, align: "center" });
    }
    for (let layer = 0; layer < kind.layers; layer++) {
      this.names.push({ kind: name, heads: all.filter((each) => each.layer === layer), text: `layer ${layer + 1}`, x: 0, y: below + layer * down + high / 2 - 8, wide: THUMB_LEFT - 4, high: 16, align: "left" });
    }
    return below;
  }

  write(pen, { text, x, y, wide = 0, high = 0, align }) {
    pen.textAlign = align;
    pen.fillText(text, align === "center" ? x + wide / 2 : x, y + (high ? high - 4 : 0));
  }

  thumbnail(pen, { kind, layer, head, stays, x, y, wide, high, lines }) {
    const { queries, keys } = this.attention.kind(kind), raw = this.attention.raw(kind, { layer, head });
    const most = this.choice.scale === "per map" ? raw.reduce((one, other) => Math.max(one, other), 1) : this.attention.steps;
    const block = Math.max(1, Math.ceil(Math.max(keys / wide, queries / high))); // cells that share a pixel, the largest of them shown
    const share = (row, column) => {
      if (kind === "decoder" && column > row) return -1;
      let largest = 0;
      const bottom = Math.min(queries, (row + 1) * block), right = Math.min(keys, (column + 1) * block);
      for (let r = row * block; r < bottom; r++) for (let c = column * block; c < right; c++) largest = Math.max(largest, raw[r * keys + c]);
      return largest / most;
    };
    pen.globalAlpha = stays ? 1 : 0.3;
    pen.drawImage(this.picture(Math.ceil(keys / block), Math.ceil(queries / block)).of(share), x, y, wide, high);
    pen.strokeStyle = FRAME;
    pen.lineWidth = 1;
    pen.strokeRect(x - 0.5, y - 0.5, wide + 1, high + 1);
    pen.save();
    pen.textAlign = "center";
    pen.font = pen.font.replace("12px", wide < 44 ? "9px" : "10.5px");
    lines.forEach((line, number) => pen.fillText(line, x + wide / 2, y + high + (number + 1) * CAPTION - 2));
    pen.restore();
    pen.globalAlpha = 1;
  }

  picture(columns, rows) {
    return (this.pictures[`${columns} ${rows}`] ??= new Picture(columns, rows));
  }

  marks() {
    const pen = this.drawn.again();
    for (const tile of this.tiles) {
      if (tile === this.pointed) this.frame(pen, tile, POINTED, 3.5);
      if (this.choice.has(tile.kind, tile)) this.frame(pen, tile, pen.fillStyle, 1.5);
    }
  }

  frame(pen, { x, y, wide, high }, colour, out) {
    pen.strokeStyle = colour;
    pen.lineWidth = 2;
    pen.strokeRect(x - out, y - out, wide + 2 * out, high + 2 * out);
  }

  under(targets, { offsetX, offsetY }) {
    const margin = THUMB_GAP / 2;
    return targets.find(({ x, y, wide, high }) => offsetX >= x - margin && offsetX < x + wide + margin && offsetY >= y - margin && offsetY < y + high + margin) ?? null;
  }

  key(event, choose) {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const { tiles, choice } = this, move = ARROWS[event.key];
    const from = this.pointed ?? tiles.find((tile) => choice.has(tile.kind, tile)) ?? tiles[0], at = tiles.indexOf(from);
    if (move) this.pointAt(tiles[at + move[0] * from.line + move[1]] ?? from);
    else if (event.key === "Enter" || event.key === " ") choose(from.kind, from.heads, event.shiftKey);
    else return;
    event.preventDefault();
  }

  pointAt(tile) {
    if (tile === this.pointed) return;
    this.pointed = tile;
    this.marks();
    this.point(tile);
  }
}
