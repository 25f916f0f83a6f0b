// A matrix on a canvas: rows with their tokens, colour by value, to be pointed at by mouse, finger and keys.

const ROW = 18, DENSE_ROW = 10, MANY_ROWS = 24, PACKED_ROW = 8, VERY_MANY_ROWS = 48, SQUARE = 44, WIDEST_CELL = 26, FEW_COLUMNS = 16; // pixels, but for counts
const SCROLLS_FROM = 500, LEAST_COLUMN = 2, ROOM_FOR_A_VALUE = 34, ROOM_FOR_A_SHORT_ONE = 24, LETTER = 7, NOTE = 74, HEADER = 16;
const STEPS = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
const PLUS_COLOUR = [232, 113, 10], MINUS_COLOUR = [31, 119, 224]; // as in all figures of values around zero

// The room that the labels of rows need.
function labelWidth(rows) {
  return Math.min(96, LETTER * Math.max(...rows.map((row) => shortened(row).length)) + 10);
}

class Matrix {
  // look(cell) hears the cell under the pointer or null, choose(cell) the one that was clicked: {row, column}.
  constructor(canvas, { look, choose }) {
    Object.assign(this, { canvas, look, choose, under: null });
    canvas.tabIndex = 0;
    canvas.setAttribute("role", "application");
    canvas.onpointermove = (event) => this.point(this.cellAt(event));
    canvas.onpointerleave = () => this.point(null);
    canvas.onclick = (event) => {
      const cell = this.cellAt(event);
      if (cell) this.choose(cell);
    };
    canvas.onfocus = () => this.under || this.point(this.chosen ?? { row: 0, column: 0 });
    canvas.onblur = () => this.point(null);
    canvas.onkeydown = (event) => this.key(event);
  }

  // picture: {grid, rows: labels, columns: labels or null, scale, closed(row, column), frame: [first, count] or null,
  // notes: a text a row or null, named: room for the labels, square, label}; chosen: {row, column}, -1 for none.
  draw(picture, chosen, width) {
    Object.assign(this, picture, { chosen });
    const { grid, rows } = this, many = rows.length > MANY_ROWS, dense = rows.length > VERY_MANY_ROWS ? PACKED_ROW : DENSE_ROW;
    this.left = this.named || labelWidth(rows);
    this.right = this.notes ? NOTE : 0;
    const room = Math.max(grid.columns * LEAST_COLUMN, width - this.left - this.right - 2);
    const most = this.square || grid.columns <= FEW_COLUMNS ? SQUARE : WIDEST_CELL;
    this.wide = Math.min(most, room / grid.columns);
    this.high = this.square ? Math.max(dense, Math.min(SQUARE, this.wide)) : many ? dense : grid.columns <= FEW_COLUMNS ? ROW + 6 : ROW;
    this.top = this.columns ? this.keysHeight() : HEADER;
    this.width = this.left + grid.columns * this.wide + this.right + 2;
    const pen = prepare(this.canvas, this.width, this.top + rows.length * this.high + 3);
    this.paint(pen);
    this.writeLabels(pen, many);
    this.mark(pen);
    this.canvas.setAttribute("aria-label", this.label);
    this.bringIn(chosen.row);
  }

  // A tall matrix scrolls in its place: so that the chosen row is in sight.
  bringIn(row) {
    const place = this.canvas.parentElement, middle = this.top + (row + 0.5) * this.high;
    if (row >= 0 && this.top + this.rows.length * this.high > SCROLLS_FROM) place.scrollTop = middle - place.clientHeight / 2;
  }

  keysHeight() {
    const longest = LETTER * Math.max(...this.columns.map((key) => shortened(key).length)) + 8;
    this.upright = longest <= this.wide;
    return this.upright ? HEADER + 4 : Math.min(80, longest * 0.87 + 6);
  }

  // One pixel a cell, stretched without blur.
  paint(pen) {
    const { grid, scale, left, top, wide, high } = this, reach = this.scale === "weights" ? 1 : this.reach || grid.reach || 1;
    this.shown = reach;
    const image = pen.createImageData(grid.columns, grid.rows);
    for (let row = 0, cell = 0; row < grid.rows; row++) {
      for (let column = 0; column < grid.columns; column++, cell++) {
        const value = grid.values[cell], blank = this.closed?.(row, column) || !Number.isFinite(value);
        const share = Math.min(1, Math.abs(value) / reach);
        const colour = value < 0 || this.scale === "weights" ? MINUS_COLOUR : PLUS_COLOUR;
        image.data.set([...colour, blank ? 0 : 255 * (0.03 + 0.69 * share)], cell * 4);
      }
    }
    const scratch = document.createElement("canvas");
    scratch.width = grid.columns;
    scratch.height = grid.rows;
    scratch.getContext("2d").putImageData(image, 0, 0);
    pen.drawImage(scratch, left, top, grid.columns * wide, grid.rows * high);
    pen.strokeStyle = FRAME;
    pen.lineWidth = 1;
    pen.strokeRect(left - 0.5, top - 0.5, grid.columns * wide + 1, grid.rows * high + 1);
    if (this.closed) this.hatch(pen);
    if (wide >= ROOM_FOR_A_SHORT_ONE && high >= 14) this.write(pen, wide < ROOM_FOR_A_VALUE);
  }

  hatch(pen) {
    const { grid, left, top, wide, high } = this;
    pen.beginPath();
    for (let row = 0; row < grid.rows; row++) {
      for (let column = 0; column < grid.columns; column++) {
        if (!this.closed(row, column)) continue;
        pen.moveTo(left + column * wide + 2, top + (row + 1) * high - 2);
        pen.lineTo(left + (column + 1) * wide - 2, top + row * high + 2);
      }
    }
    pen.stroke();
  }

  // Two decimals; where cells are small, one, and of a weight two without the 0 before them.
  write(pen, short) {
    const { grid, left, top, wide, high } = this;
    const text = (value) => (!short ? number(value, 2) : this.scale === "weights" ? number(value, 2).replace(/^0/, "") : number(value, 1));
    pen.save();
    pen.font = pen.font.replace("12px", short ? "9px" : "11px");
    for (let row = 0; row < grid.rows; row++) {
      for (let column = 0; column < grid.columns; column++) {
        if (this.closed?.(row, column)) continue;
        pen.fillText(text(grid.at(row, column)), left + (column + 0.5) * wide, top + (row + 0.5) * high + (short ? 3 : 4));
      }
    }
    pen.restore();
  }

  writeLabels(pen, many) {
    const { left, top, high, wide, rows, columns, grid } = this;
    pen.save();
    if (many) pen.font = pen.font.replace("12px", this.high < DENSE_ROW ? "8px" : "9px");
    pen.textAlign = "right";
    rows.forEach((row, index) => pen.fillText(shortened(row), left - 6, top + (index + 0.5) * high + (many ? 3 : 4)));
    pen.textAlign = "left";
    this.notes?.forEach((note, index) => {
      pen.fillText(note, left + grid.columns * wide + 6, top + (index + 0.5) * high + (many ? 3 : 4));
    });
    pen.restore();
    if (columns) this.writeKeys(pen);
    else this.writeDimensions(pen);
  }

  writeKeys(pen) {
    const dense = this.wide < 12;
    this.columns.forEach((key, column) => {
      pen.save();
      if (dense) pen.font = pen.font.replace("12px", "9px");
      pen.translate(this.left + (column + 0.5) * this.wide, this.top - 5);
      if (!this.upright) {
        pen.rotate(-Math.PI / 3);
        pen.textAlign = "left";
      }
      pen.fillText(shortened(key), 0, 0);
      pen.restore();
    });
  }

  // Numbers of dimensions from `start` on, as many as there is room for, and the frame of a head's columns.
  writeDimensions(pen) {
    const { grid, left, top, wide, high } = this, start = this.start ?? 1;
    const every = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512].find((step) => step * wide >= 34) ?? grid.columns;
    for (let column = 0; column < grid.columns; column += every) {
      pen.fillText(start + column, left + (column + 0.5) * wide, top - 4);
    }
    if (this.frame) {
      const [first, count] = this.frame;
      pen.strokeStyle = pen.fillStyle;
      pen.lineWidth = 1.5;
      pen.strokeRect(left + first * wide, top - 2, count * wide, grid.rows * high + 4);
    }
  }

  // The chosen row and column, in the colour of text: colours are taken by values.
  mark(pen) {
    const { grid, left, top, wide, high, chosen } = this;
    pen.strokeStyle = pen.fillStyle;
    pen.lineWidth = 2;
    if (chosen.row >= 0) pen.strokeRect(left, top + chosen.row * high, grid.columns * wide, high);
    pen.setLineDash([3, 2]);
    if (chosen.column >= 0) pen.strokeRect(left + chosen.column * wide, top, Math.max(2, wide), grid.rows * high);
    pen.setLineDash([]);
  }

  cellAt(event) {
    if (!this.grid) return null;
    const column = Math.floor((event.offsetX - this.left) / this.wide), row = Math.floor((event.offsetY - this.top) / this.high);
    const inside = row >= 0 && row < this.grid.rows && column >= 0 && column < this.grid.columns;
    return inside ? { row, column } : null;
  }

  key(event) {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    if (event.key === "Enter" || event.key === " ") {
      if (this.under) this.choose(this.under);
    } else if (event.key in STEPS) {
      const from = this.under ?? { row: 0, column: 0 }, [down, right] = STEPS[event.key];
      const row = Math.min(Math.max(from.row + down, 0), this.grid.rows - 1);
      this.point({ row, column: Math.min(Math.max(from.column + right, 0), this.grid.columns - 1) });
    } else return;
    event.preventDefault();
  }

  point(cell) {
    if (cell && (cell.row < 0 || cell.column < 0)) cell = { row: Math.max(0, cell.row), column: Math.max(0, cell.column) };
    if (cell?.row === this.under?.row && cell?.column === this.under?.column) return;
    this.under = cell;
    this.look(cell);
  }
}
