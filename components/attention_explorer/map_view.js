// The chosen heads' matrix, large, with values; rows read, columns are read.

const LARGEST_MAP_CELL = 46, ROOM_FOR_WEIGHT = 27, KEYS_HIGH = 84, LABEL_LETTER = 7;

class MapView {
  constructor(canvas, { look, choose }) {
    Object.assign(this, { canvas, look });
    canvas.tabIndex = 0;
    canvas.setAttribute("role", "application");
    canvas.onpointermove = (event) => this.point(this.under(event));
    canvas.onpointerleave = () => this.point(null);
    canvas.onclick = (event) => {
      const side = this.sideUnder(event), cell = this.under(event), more = event.shiftKey || event.ctrlKey || event.metaKey;
      if (cell) choose("queries", cell.row, more);
      else if (side) choose(side.side, side.index, more);
    };
    canvas.onkeydown = (event) => this.key(event, choose);
    canvas.onblur = () => this.point(null);
  }

  draw(shown, choice, width) {
    Object.assign(this, { shown, choice });
    const { rows, columns } = shown;
    const widest = Math.max(...rows.map(({ text }) => shortened(text).length));
    this.left = Math.min(100, LABEL_LETTER * widest + 10);
    this.cell = Math.max(5, Math.min(LARGEST_MAP_CELL, (width - this.left - 30) / columns.length));
    this.top = KEYS_HIGH;
    this.width = this.left + columns.length * this.cell + 30;
    this.paint();
    this.canvas.setAttribute("aria-label", `${rows.length} rows that read, ${columns.length} columns that are read. Arrow keys move, Enter chooses the row.`);
  }

  paint() {
    const { shown, cell, left, top } = this, { rows, columns } = shown;
    const pen = (this.pen = prepare(this.canvas, this.width, top + rows.length * cell + 4));
    const reach = this.choice.scale === "per map" ? shown.reach || 1 : 1;
    rows.forEach((_, row) => columns.forEach((_, column) => this.fill(pen, row, column, reach)));
    const letters = Math.max(8, Math.min(12, cell));
    pen.save();
    pen.font = pen.font.replace("12px", `${letters}px`);
    pen.textAlign = "right";
    rows.forEach(({ text }, row) => pen.fillText(shortened(text), left - 6, top + (row + 0.5) * cell + letters / 3));
    pen.textAlign = "left";
    columns.forEach(({ text }, column) => {
      pen.save();
      pen.translate(left + (column + 0.5) * cell + letters / 3, top - 5);
      pen.rotate(-Math.PI / 3);
      pen.fillText(shortened(text), 0, 0);
      pen.restore();
    });
    pen.restore();
    this.frames(pen);
  }

  fill(pen, row, column, reach) {
    const { shown, cell, left, top } = this;
    if (!shown.isShown(row, column)) return;
    const weight = shown.at(row, column), x = left + column * cell, y = top + row * cell;
    const ink = pen.fillStyle;
    pen.fillStyle = blue(Math.min(1, weight / reach));
    pen.fillRect(x + 0.5, y + 0.5, cell - 1, cell - 1);
    pen.fillStyle = ink;
    if (cell >= ROOM_FOR_WEIGHT) {
      pen.save();
      pen.font = pen.font.replace("12px", cell >= 36 ? "11px" : "9px");
      pen.fillText(weight >= 0.995 ? "1" : weight.toFixed(2).slice(1), x + cell / 2, y + cell / 2 + 4);
      pen.restore();
    }
  }

  // The chosen rows or columns, and the cell under the pointer.
  frames(pen) {
    const { shown, cell, left, top, choice } = this, wide = shown.columns.length * cell, high = shown.rows.length * cell;
    pen.strokeStyle = FRAME;
    pen.strokeRect(left - 0.5, top - 0.5, wide + 1, high + 1);
    pen.strokeStyle = pen.fillStyle;
    pen.lineWidth = 2;
    const groups = choice.side === "queries" ? shown.rows : shown.columns;
    groups.forEach(({ places }, index) => {
      if (!places.some((place) => choice.tokens.includes(place))) return;
      if (choice.side === "queries") pen.strokeRect(left, top + index * cell, wide, cell);
      else pen.strokeRect(left + index * cell, top, cell, high);
    });
    if (this.pointed) {
      pen.strokeStyle = "#e8710a";
      pen.strokeRect(left + this.pointed.column * cell, top + this.pointed.row * cell, cell, cell);
    }
  }

  under(event) {
    if (!this.shown) return null;
    const column = Math.floor((event.offsetX - this.left) / this.cell), row = Math.floor((event.offsetY - this.top) / this.cell);
    const inside = row >= 0 && column >= 0 && row < this.shown.rows.length && column < this.shown.columns.length;
    return inside ? { row, column } : null;
  }

  sideUnder(event) {
    const column = Math.floor((event.offsetX - this.left) / this.cell), row = Math.floor((event.offsetY - this.top) / this.cell);
    if (event.offsetY < this.top && column >= 0 && column < this.shown.columns.length) return { side: "keys", index: column };
    if (event.offsetX < this.left && row >= 0 && row < this.shown.rows.length) return { side: "queries", index: row };
    return null;
  }

  key(event, choose) {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const from = this.pointed ?? { row: 0, column: 0 }, move = ARROWS[event.key];
    if (move && !this.pointed) this.point(from);
    else if (move) {
      const within = (value, count) => Math.min(Math.max(0, value), count - 1);
      this.point({ row: within(from.row + move[0], this.shown.rows.length), column: within(from.column + move[1], this.shown.columns.length) });
    } else if (event.key === "Enter" || event.key === " ") choose("queries", from.row, event.shiftKey);
    else return;
    event.preventDefault();
  }

  point(cell) {
    if (cell?.row === this.pointed?.row && cell?.column === this.pointed?.column) return;
    this.pointed = cell;
    this.paint();
    this.look(cell);
  }
}
