// The chosen heads' matrix, large, with values where they have room; rows read, columns are read.

const LARGEST_MAP_CELL = 46, SMALLEST_MAP_CELL = 5, FRAMED_CELL = 12, ROOM_FOR_WEIGHT = 27, LETTER = 7, KEYS_RIGHT = 44, CLOSEST_LABELS = 9;

class MapView {
  constructor(canvas, { point, choose }) {
    Object.assign(this, { canvas, point, drawn: new Drawn(canvas) });
    canvas.tabIndex = 0;
    canvas.setAttribute("role", "application");
    canvas.onpointermove = canvas.onpointerdown = (event) => this.pointAt(this.under(event));
    canvas.onpointerleave = (event) => event.pointerType !== "touch" && this.pointAt(null); // a tapped cell stays in sight
    canvas.onclick = (event) => {
      const found = this.under(event);
      if (!found) return;
      choose(found.row === undefined ? "keys" : "queries", found.row ?? found.column, withMore(event));
      if (found.row === undefined || found.column === undefined) this.pointAt(null);
    };
    canvas.onkeydown = (event) => this.key(event, choose);
    canvas.onblur = () => this.pointAt(null);
  }

  draw(shown, choice, width) {
    Object.assign(this, { shown, choice });
    const { rows, columns } = shown, longest = (groups) => LETTER * Math.max(...groups.map(({ text }) => shortened(text).length));
    this.left = Math.min(100, longest(rows) + 12);
    this.top = Math.min(84, 0.87 * longest(columns) + 14);
    this.cell = Math.max(SMALLEST_MAP_CELL, Math.min(LARGEST_MAP_CELL, (width - this.left - KEYS_RIGHT) / columns.length));
    const pen = this.drawn.start(this.left + columns.length * this.cell + KEYS_RIGHT, this.top + rows.length * this.cell + 4);
    if (this.cell < FRAMED_CELL) this.stretch(pen);
    else rows.forEach((_, row) => columns.forEach((_, column) => this.fill(pen, row, column)));
    this.label(pen);
    this.drawn.keep();
    this.canvas.setAttribute("aria-label", `${rows.length} rows that read, ${columns.length} columns that are read. Arrow keys move, Enter chooses the row; the table below has the numbers.`);
  }

  stretch(pen) {
    const { shown, cell, left, top } = this, full = shown.full(this.choice.scale), { rows, columns } = shown;
    const picture = new Picture(columns.length, rows.length).of((row, column) => (shown.isShown(row, column) ? shown.at(row, column) / full : -1));
    pen.drawImage(picture, left, top, columns.length * cell, rows.length * cell);
  }

  fill(pen, row, column) {
    const { shown, cell, left, top } = this;
    if (!shown.isShown(row, column)) return;
    const weight = shown.at(row, column), x = left + column * cell, y = top + row * cell, ink = pen.fillStyle;
    pen.fillStyle = blue(Math.min(1, weight / shown.full(this.choice.scale)));
    pen.fillRect(x + 0.5, y + 0.5, cell - 1, cell - 1);
    pen.fillStyle = ink;
    if (cell < ROOM_FOR_WEIGHT) return;
    pen.save();
    pen.font = pen.font.replace("12px", cell >= 36 ? "11px" : "9px");
    pen.fillText(weight >= 0.995 ? weight.toFixed(weight < 1.005 ? 0 : 1) : weight.toFixed(2).slice(1), x + cell / 2, y + cell / 2 + 4);
    pen.restore();
  }

  label(pen) {
    const { shown, cell, left, top } = this, letters = Math.max(8, Math.min(12, cell)), every = Math.ceil(CLOSEST_LABELS / cell);
    pen.save();
    pen.font = pen.font.replace("12px", `${letters}px`);
    pen.textAlign = "right";
    shown.rows.forEach(({ text }, row) => row % every || pen.fillText(shortened(text), left - 6, top + (row + 0.5) * cell + letters / 3));
    pen.textAlign = "left";
    shown.columns.forEach(({ text }, column) => {
      if (column % every) return;
      pen.save();
      pen.translate(left + (column + 0.5) * cell + letters / 3, top - 5);
      pen.rotate(-Math.PI / 3);
      pen.fillText(shortened(text), 0, 0);
      pen.restore();
    });
    pen.restore();
  }

  // Row and column of what is pointed at, here or elsewhere, over those that are chosen.
  show(pointed) {
    const { shown, cell, left, top, choice } = this, pen = this.drawn.again();
    this.pointed = pointed;
    const wide = shown.columns.length * cell, high = shown.rows.length * cell;
    const row = (index) => pen.strokeRect(2, top + index * cell, left + wide - 2, cell);
    const column = (index) => pen.strokeRect(left + index * cell, top, cell, high);
    pen.lineWidth = 1;
    pen.strokeStyle = FRAME;
    pen.strokeRect(left - 0.5, top - 0.5, wide + 1, high + 1);
    pen.lineWidth = 2;
    pen.strokeStyle = pen.fillStyle;
    chosenIndexes(shown, choice).forEach(choice.side === "queries" ? row : column);
    pen.strokeStyle = POINTED;
    if (pointed?.row !== undefined) row(pointed.row);
    if (pointed?.column !== undefined) column(pointed.column);
  }

  // A cell, or a row or a column by its label.
  under({ offsetX, offsetY }) {
    if (!this.shown) return null;
    const column = Math.floor((offsetX - this.left) / this.cell), row = Math.floor((offsetY - this.top) / this.cell);
    const isRow = row >= 0 && row < this.shown.rows.length, isColumn = column >= 0 && column < this.shown.columns.length;
    if (isRow && isColumn) return { row, column };
    if (isRow && offsetX < this.left) return { row };
    return isColumn && offsetY < this.top ? { column } : null;
  }

  key(event, choose) {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const { row = 0, column = 0 } = this.pointed ?? {}, move = this.pointed ? ARROWS[event.key] : ARROWS[event.key] && [0, 0];
    const within = (value, groups) => Math.min(Math.max(0, value), groups.length - 1);
    if (move) this.pointAt({ row: within(row + move[0], this.shown.rows), column: within(column + move[1], this.shown.columns) });
    else if (event.key === "Enter" || event.key === " ") choose("queries", row, event.shiftKey);
    else return;
    event.preventDefault();
  }

  pointAt(found) {
    if (found?.row === this.pointed?.row && found?.column === this.pointed?.column) return;
    this.point(found);
  }
}
