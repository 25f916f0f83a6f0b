// Readers on the left, what they read on the right, joined by lines: opacity is the weight, colour is the head.

const LINE_ROW = 26, LINES_WIDE = 460, COLUMN = 130, FAINTEST = 0.02;

class Lines {
  constructor(place, { look, choose }) {
    Object.assign(this, { place, look });
    this.canvas = place.querySelector("canvas");
    this.left = place.querySelector(".readers");
    this.right = place.querySelector(".read");
    this.buttons(this.left, "queries", choose);
    this.buttons(this.right, "keys", choose);
  }

  buttons(list, side, choose) {
    const index = (event) => [...list.children].indexOf(event.target.closest("button"));
    list.onclick = (event) => index(event) >= 0 && choose(side, index(event), event.shiftKey || event.ctrlKey || event.metaKey);
    list.onpointerover = list.onfocusin = (event) => index(event) >= 0 && this.point({ side, index: index(event) });
    list.onpointerleave = list.onfocusout = () => this.point(null);
  }

  // each: one Shown a head; together: their mean.
  draw(each, together, choice, width) {
    Object.assign(this, { each, together, choice });
    this.high = Math.max(12, Math.min(LINE_ROW, 900 / Math.max(together.rows.length, together.columns.length)));
    this.wide = Math.max(80, Math.min(LINES_WIDE, width - 2 * COLUMN));
    this.place.style.setProperty("--row", `${this.high}px`);
    this.list(this.left, together.rows, "queries");
    this.list(this.right, together.columns, "keys");
    this.paint();
  }

  list(list, groups, side) {
    const chosen = (places) => side === this.choice.side && places.some((place) => this.choice.tokens.includes(place));
    list.replaceChildren(
      ...groups.map(({ text, places, predicts }) => {
        const button = element("button", "", shortened(text));
        button.setAttribute("aria-pressed", chosen(places));
        button.title = predicts ? `fed “${text}”, to predict “${predicts}”` : text;
        return button;
      }),
    );
  }

  paint() {
    const { each, together, high, wide, choice } = this;
    const pen = prepare(this.canvas, wide, Math.max(together.rows.length, together.columns.length) * high);
    const several = each.length > 1;
    each.forEach((shown, number) => {
      pen.strokeStyle = several ? PALETTE[number % PALETTE.length] : PALETTE[0];
      for (let row = 0; row < shown.rows.length; row++) {
        for (let column = 0; column < shown.columns.length; column++) {
          if (!shown.isShown(row, column) || !this.isWanted(row, column)) continue;
          const weight = shown.at(row, column) / (choice.scale === "per map" ? shown.reach || 1 : 1);
          if (weight < FAINTEST) continue;
          pen.globalAlpha = Math.min(1, weight);
          pen.lineWidth = 1 + 2 * weight;
          pen.beginPath();
          pen.moveTo(0, (row + 0.5) * high);
          pen.lineTo(wide, (column + 0.5) * high);
          pen.stroke();
        }
      }
    });
    pen.globalAlpha = 1;
    this.canvas.setAttribute("aria-label", `Lines from ${together.rows.length} readers to ${together.columns.length} tokens`);
  }

  // Pointing at a token leaves its lines alone; so do chosen tokens while none is pointed at.
  isWanted(row, column) {
    const { pointed, choice, together } = this;
    if (pointed) return pointed.side === "queries" ? pointed.index === row : pointed.index === column;
    if (!choice.tokens.length) return true;
    const { places } = choice.side === "queries" ? together.rows[row] : together.columns[column];
    return places.some((place) => choice.tokens.includes(place));
  }

  point(found) {
    this.show(found);
    this.look(found);
  }

  // Only the lines of what is pointed at, here or elsewhere.
  show(found) {
    this.pointed = found;
    if (this.each) this.paint();
  }
}
