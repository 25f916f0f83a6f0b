// Both sides as text: a pointed-at or chosen token colours what it reads, or what reads it.

class Sentence {
  constructor(place, linked) {
    this.place = place;
    this.lists = {
      queries: new TokenList(place.querySelector(".query_tokens"), "queries", linked),
      keys: new TokenList(place.querySelector(".key_tokens"), "keys", linked),
    };
  }

  draw(shown, choice) {
    this.lists.queries.fill(shown.rows);
    this.lists.keys.fill(shown.columns);
    const reader = shown.name === "encoder" ? "source" : "target", read = shown.name === "decoder" ? "target" : "source";
    this.place.querySelector(".reader_side").textContent = `${reader} reads`;
    this.place.querySelector(".read_side").textContent = `${read} is read`;
    Object.assign(this, { shown, choice });
  }

  // By the weights of what is pointed at, {row, column} or one of them, else of what is chosen.
  show(pointed) {
    const { shown, choice } = this;
    const side = !pointed ? choice.side : pointed.row === undefined ? "keys" : "queries";
    const indexes = pointed ? [pointed.row ?? pointed.column] : chosenIndexes(shown, choice);
    const other = side === "queries" ? "keys" : "queries", others = shown.side(other);
    const sums = others.map((_, at) => shown.sumOf(side, indexes, at)), most = Math.max(shown.most, ...sums);
    this.lists[other].each((button, at) => (button.style.backgroundColor = indexes.length ? blue(sums[at] / most) : ""));
    this.lists[side].each((button) => (button.style.backgroundColor = ""));
    for (const [name, list] of Object.entries(this.lists)) {
      const groups = shown.side(name), here = pointed?.[name === "queries" ? "row" : "column"];
      list.each((button, at) => {
        button.setAttribute("aria-pressed", choice.holds(name, groups[at].places));
        button.classList.toggle("pointed", at === here);
      });
    }
  }
}

// The chosen tokens as they are numbered on the side that is shown.
function chosenIndexes(shown, choice) {
  return shown.side(choice.side).flatMap(({ places }, index) => (choice.holds(choice.side, places) ? [index] : []));
}
