// Both sides as text: a pointed-at or chosen token colours what it reads, or what reads it.

class Sentence {
  constructor(place, { look, choose }) {
    Object.assign(this, { place, look });
    this.lists = { queries: place.querySelector(".query_tokens"), keys: place.querySelector(".key_tokens") };
    for (const [side, list] of Object.entries(this.lists)) {
      const index = (event) => [...list.children].indexOf(event.target.closest("button"));
      list.onclick = (event) => index(event) >= 0 && choose(side, index(event), event.shiftKey || event.ctrlKey || event.metaKey);
      list.onpointerover = list.onfocusin = (event) => index(event) >= 0 && this.point({ side, index: index(event) });
      list.onpointerleave = list.onfocusout = () => this.point(null);
    }
  }

  draw(shown, choice) {
    const before = this.shown;
    Object.assign(this, { shown, choice });
    if (!before || before.rows.length !== shown.rows.length || before.columns.length !== shown.columns.length || before.name !== shown.name || before.rows[0]?.text !== shown.rows[0]?.text) this.pointed = null;
    this.fillList("queries", shown.rows);
    this.fillList("keys", shown.columns);
    this.colour(this.pointed);
  }

  fillList(side, groups) {
    const texts = groups.map(({ text }) => text).join("\u0000");
    const list = this.lists[side];
    if (list.dataset.texts === texts) return;
    list.dataset.texts = texts;
    list.replaceChildren(...groups.map(({ text }) => element("button", "token", text)));
  }

  // By the weights of what is pointed at (a token, or a cell of the map), else of what is chosen.
  colour(found) {
    const { shown, choice } = this;
    let side = choice.side, indexes = this.indexes(side === "queries" ? shown.rows : shown.columns);
    if (found) [side, indexes] = [found.side, [found.index]];
    const other = side === "queries" ? "keys" : "queries";
    const sums = new Float32Array(other === "keys" ? shown.columns.length : shown.rows.length);
    for (const index of indexes) {
      for (let at = 0; at < sums.length; at++) {
        const [row, column] = side === "queries" ? [index, at] : [at, index];
        if (shown.isShown(row, column)) sums[at] += shown.at(row, column);
      }
    }
    const most = Math.max(1, ...sums);
    [...this.lists[other].children].forEach((button, at) => {
      button.style.backgroundColor = indexes.length ? blue(sums[at] / most) : "";
      button.setAttribute("aria-pressed", "false");
    });
    [...this.lists[side].children].forEach((button, at) => {
      button.style.backgroundColor = "";
      button.setAttribute("aria-pressed", indexes.includes(at));
    });
    return { side, indexes, sums };
  }

  indexes(groups) {
    return groups.flatMap(({ places }, index) => (places.some((place) => this.choice.tokens.includes(place)) ? [index] : []));
  }

  point(found) {
    this.pointed = found;
    if (this.shown) this.colour(found);
    this.look(found);
  }
}
