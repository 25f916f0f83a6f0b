// Readers on the left, what they read on the right, joined by lines: opacity is the weight, colour is the head.

const LINE_ROW = 26, LINES_HIGH = 900, LINES_WIDE = 460, TOKENS_WIDE = 110, FAINTEST = 0.02, APART = 3;

class Lines {
  constructor(place, linked) {
    this.place = place;
    this.drawn = new Drawn(place.querySelector("canvas"));
    this.left = new TokenList(place.querySelector(".readers"), "queries", linked);
    this.right = new TokenList(place.querySelector(".read"), "keys", linked);
  }

  // each: one Shown a colour; together: what the tokens are taken from.
  draw(each, together, choice, width) {
    Object.assign(this, { each, together, choice });
    const longest = Math.max(together.rows.length, together.columns.length);
    this.high = Math.max(10, Math.min(LINE_ROW, LINES_HIGH / longest));
    this.wide = Math.max(80, Math.min(LINES_WIDE, width - 2 * TOKENS_WIDE));
    this.place.style.setProperty("--row", `${this.high}px`);
    this.place.style.setProperty("--tokens", `${TOKENS_WIDE}px`);
    this.left.fill(together.rows, "short");
    this.right.fill(together.columns, "short");
    this.drawn.start(this.wide, longest * this.high);
    this.strokes((row, column) => this.isChosen(row, column));
    this.drawn.keep();
    this.drawn.canvas.setAttribute("aria-label", `Lines from ${together.rows.length} tokens that read to ${together.columns.length} that are read`);
  }

  strokes(isWanted) {
    const { each, high, wide, choice } = this, { pen } = this.drawn;
    each.forEach((shown, number) => {
      const full = shown.full(choice.scale), columns = shown.columns.length;
      const down = high / 2 + Math.min(APART, high / each.length) * (number - (each.length - 1) / 2); // beside the other heads' line
      pen.strokeStyle = PALETTE[number];
      for (let cell = 0; cell < shown.values.length; cell++) {
        const weight = Math.min(1, shown.values[cell] / full);
        if (weight < FAINTEST) continue;
        const row = Math.floor(cell / columns), column = cell % columns;
        if (!shown.isShown(row, column) || !isWanted(row, column)) continue;
        pen.globalAlpha = weight;
        pen.lineWidth = 1 + 2 * weight;
        pen.beginPath();
        pen.moveTo(0, row * high + down);
        pen.lineTo(wide, column * high + down);
        pen.stroke();
      }
    });
    pen.globalAlpha = 1;
  }

  isChosen(row, column) {
    const { choice, together } = this;
    if (!choice.tokens.length) return true;
    return choice.holds(choice.side, (choice.side === "queries" ? together.rows[row] : together.columns[column]).places);
  }

  // Only the lines of what is pointed at, here or elsewhere; with null those of what is chosen, or all.
  show(pointed) {
    const pen = this.drawn.again();
    if (pointed) {
      pen.clearRect(0, 0, this.drawn.canvas.width, this.drawn.canvas.height);
      this.strokes((row, column) => (pointed.row ?? row) === row && (pointed.column ?? column) === column);
    }
    this.mark(pointed);
  }

  mark(pointed) {
    const { together, choice } = this;
    for (const [list, groups, index] of [[this.left, together.rows, pointed?.row], [this.right, together.columns, pointed?.column]]) {
      list.each((button, at) => {
        button.setAttribute("aria-pressed", choice.holds(list.side, groups[at].places));
        button.classList.toggle("pointed", at === index);
      });
    }
  }
}
