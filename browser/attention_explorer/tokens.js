// Tokens of one side as buttons: Tab reaches one of them, the arrow keys go on to the others.

class TokenList {
  // point({row} or {column} or null) hears what is pointed at or focused, choose(side, index, more) what is clicked.
  constructor(place, side, { point, choose }) {
    Object.assign(this, { place, side });
    const index = (event) => [...place.children].indexOf(event.target.closest("button"));
    const look = (event) => index(event) >= 0 && point(side === "queries" ? { row: index(event) } : { column: index(event) });
    place.onclick = (event) => {
      if (index(event) < 0) return;
      choose(side, index(event), withMore(event));
      point(null); // what is chosen now is shown, until something else is pointed at
    };
    place.onpointerover = look;
    place.onpointerleave = () => point(null);
    place.addEventListener("focusin", (event) => {
      this.reach(index(event));
      look(event);
    });
    place.addEventListener("focusout", () => point(null));
    place.onkeydown = (event) => this.key(event, index(event));
  }

  // groups as Shown has them; buttons that stay the same keep their focus.
  fill(groups, short) {
    const texts = JSON.stringify(groups.map(({ text, fed, predicts }) => [text, fed, predicts]));
    if (this.texts === texts) return;
    this.texts = texts;
    this.place.replaceChildren(
      ...groups.map(({ text, fed, predicts }) => {
        const button = element("button", "token", short ? shortened(text) : text);
        button.title = fed === undefined ? text : `fed “${fed}”, predicts “${predicts}”`;
        return button;
      }),
    );
    this.reach(0);
  }

  each(mark) {
    [...this.place.children].forEach(mark);
  }

  reach(index) {
    this.each((button, at) => (button.tabIndex = at === index ? 0 : -1));
  }

  key(event, from) {
    const move = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1, Home: -from, End: this.place.children.length - 1 - from }[event.key];
    if (from < 0 || move === undefined || event.altKey || event.ctrlKey || event.metaKey) return;
    this.place.children[Math.min(Math.max(0, from + move), this.place.children.length - 1)].focus();
    event.preventDefault();
  }
}

const withMore = (event) => event.shiftKey || event.ctrlKey || event.metaKey;
