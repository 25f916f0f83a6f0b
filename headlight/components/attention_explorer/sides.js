// The tokens of both sides as buttons, where they label the map's axes and the ends of the lines: to be pointed at, to
// be chosen, and coloured by what they attend to.

import { element, isShortcut, shortened, tint, withMore } from "../lib/canvas.js";
import { spoken } from "../lib/tokens.js";
import { sideNames, stepTitle } from "./words.js";

// The chosen tokens as they are numbered on the side that is shown.
export function chosenIndexes(shown, state) {
  return shown.side(state.side).flatMap(({ positions }, index) => {
    return state.holds(state.side, positions) ? [index] : [];
  });
}

// The tokens of one side as buttons: Tab reaches one of them, the arrow keys go on to the others.
class TokenList {
  // point({row} or {column} or null) hears what is pointed at or focused, choose(side, index, more) what is clicked.
  constructor(place, side, { point, choose }) {
    Object.assign(this, { place, side, name: side === "queries" ? "row" : "column" });
    const index = (event) => [...place.children].indexOf(event.target.closest("button"));
    const look = (event) => index(event) >= 0 && point({ [this.name]: index(event) });
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

  // groups as Shown has them; buttons that stay the same keep their focus. With `every` above 1 only every second or
  // third has a text, so that they do not touch.
  fill(groups, every) {
    const texts = JSON.stringify([every, groups.map(({ text, fed, predicts }) => [text, fed, predicts])]);
    if (this.texts === texts) return;
    this.texts = texts;
    const buttons = groups.map((group, index) => {
      const button = element("button", "token", index % every ? "" : shortened(group.shown));
      const title = spoken(stepTitle(group));
      button.title = title === button.textContent ? "" : title;
      button.setAttribute("aria-label", spoken(group.text));
      button.style.setProperty("--at", index);
      return button;
    });
    this.place.replaceChildren(...buttons);
    this.reach(0);
  }

  each(act) {
    [...this.place.children].forEach(act);
  }

  // Mark the chosen tokens and the one that is pointed at, here or elsewhere.
  mark(groups, state, pointed) {
    this.each((button, index) => {
      button.setAttribute("aria-pressed", state.holds(this.side, groups[index].positions));
      button.classList.toggle("pointed", index === pointed?.[this.name]);
    });
  }

  reach(index) {
    this.each((button, at) => (button.tabIndex = at === index ? 0 : -1));
  }

  key(event, from) {
    const last = this.place.children.length - 1;
    const steps = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1, Home: -from, End: last - from };
    if (from < 0 || !(event.key in steps) || isShortcut(event)) return;
    this.place.children[Math.min(Math.max(0, from + steps[event.key]), last)].focus();
    event.preventDefault();
  }
}

// Both sides: a pointed-at or chosen token colours what it attends to, or what attends to it.
export class BothSides {
  // queries, keys: where in `place` the buttons go.
  constructor(place, queries, keys, linked) {
    this.place = place;
    this.lists = [[queries, "queries"], [keys, "keys"]].map(([selector, side]) => {
      return new TokenList(place.querySelector(selector), side, linked);
    });
  }

  fill(shown, every = 1) {
    const names = sideNames(shown.kind);
    for (const list of this.lists) {
      list.fill(shown.side(list.side), every);
      list.place.setAttribute("aria-label", names[list.side]);
    }
    this.place.querySelector(".query_side").textContent = names.queries;
    this.place.querySelector(".key_side").textContent = names.keys;
  }

  // By the weights of what is pointed at, else of what is chosen.
  show(shown, state, pointed, dark) {
    const side = !pointed ? state.side : pointed.row === undefined ? "keys" : "queries";
    const indexes = pointed ? [pointed.row ?? pointed.column] : chosenIndexes(shown, state);
    const other = side === "queries" ? "keys" : "queries";
    const sums = shown.side(other).map((_, at) => shown.sumOf(side, indexes, at)), most = Math.max(shown.most, ...sums);
    for (const list of this.lists) {
      const isColoured = list.side === other && indexes.length > 0;
      list.each((button, at) => tint(button, isColoured ? sums[at] / most : null, dark));
      list.mark(shown.side(list.side), state, pointed);
    }
  }
}
