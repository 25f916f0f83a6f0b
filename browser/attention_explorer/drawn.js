// A drawing on a canvas that is kept, so that marks on it can come and go without drawing it anew.

class Drawn {
  constructor(canvas) {
    this.canvas = canvas;
    this.copy = document.createElement("canvas");
  }

  start(width, height) {
    return (this.pen = prepare(this.canvas, width, height));
  }

  keep() {
    const { canvas, copy } = this;
    copy.width = canvas.width;
    copy.height = canvas.height;
    copy.getContext("2d").drawImage(canvas, 0, 0);
  }

  // The pen, on what was kept and nothing else.
  again() {
    const { pen, canvas, copy } = this;
    pen.save();
    pen.setTransform(1, 0, 0, 1, 0, 0);
    pen.clearRect(0, 0, canvas.width, canvas.height);
    pen.drawImage(copy, 0, 0);
    pen.restore();
    return pen;
  }
}

// Weights as an image of a pixel a cell, to be stretched.
class Picture {
  constructor(columns, rows) {
    this.canvas = document.createElement("canvas");
    Object.assign(this.canvas, { width: columns, height: rows });
    this.pen = this.canvas.getContext("2d");
    this.image = this.pen.createImageData(columns, rows);
    for (let cell = 0; cell < columns * rows; cell++) this.image.data.set([31, 119, 224, 0], cell * 4);
    Object.assign(this, { columns, rows });
  }

  // share(row, column): from 0 to 1, negative where the cell stays blank.
  of(share) {
    for (let row = 0, cell = 3; row < this.rows; row++) {
      for (let column = 0; column < this.columns; column++, cell += 4) {
        const part = share(row, column);
        this.image.data[cell] = part < 0 ? 0 : 255 * (0.03 + 0.69 * Math.min(1, part));
      }
    }
    this.pen.putImageData(this.image, 0, 0);
    return this.canvas;
  }
}
