// What a view of the page itself shows: maps, drawn as the heatmaps of all components, each with a title, a scale, what
// is pointed at, and a sentence; tables; and choices that stand in the address.

import { Drawing, element, opacity } from "../lib/canvas.js";
import { NEGATIVE, POSITIVE, asText } from "../lib/colours.js";
import { Geometry, Heatmap, LETTER, fitUpright, rowLabelsWidth, slantedHeight } from "../lib/heatmap.js";
import { inWords, shownTokens } from "../lib/tokens.js";
import { signed, twoDigits } from "./payloads/text.js";

const LARGEST_CELL = 36, LEAST_CELL = 4; // pixels
const LEAST_ROW = 4, TALLEST_ROW = 22, TALLEST = 380, NUMBERS = 18, NOTE = 40, ROOM_FOR_A_VALUE = 26;

export class MapFigure {
  constructor() {
    this.title = element("figcaption");
    this.canvas = element("canvas");
    this.scale = element("div", "scale");
    this.readout = element("p", "readout");
    this.caption = element("p", "map_words");
    this.readout.setAttribute("aria-live", "polite");
    this.figure = element("figure", "map_figure", this.title, this.canvas, this.scale, this.readout, this.caption);
    this.drawing = new Drawing(this.canvas);
    this.heatmap = new Heatmap(this.canvas, { point: (found) => this.point(found), choose() {} });
    new ResizeObserver(() => this.map && this.width !== this.figure.clientWidth && this.draw()).observe(this.figure);
  }

  // map: `title` and `caption`; rows and columns as tokens, or how many numbers there are; at(row, column); told(row,
  // column), the words for a cell; `limit`, the value of full colour, of `signed` numbers in both directions; `masked`,
  // `marked` (row, column); notes, a text behind each row; `plain` without digits; nothing to hide the figure.
  show(map) {
    this.map = map;
    this.figure.hidden = !map;
    if (!map) return;
    this.title.textContent = map.title;
    this.caption.textContent = inWords(map.caption ?? "");
    this.scale.replaceChildren(...(map.limit === undefined ? [] : scaleOf(map)));
    this.readout.textContent = "";
    this.draw();
  }

  draw() {
    const { map, figure } = this;
    this.width = figure.clientWidth;
    if (!this.width) return; // its view is not shown
    const picture = pictureOf(map, this.width), { width, height } = picture.geometry;
    this.heatmap.pointed = null;
    this.heatmap.draw(this.drawing.start(width, height), picture, `${map.title}. ${this.caption.textContent}`.trim());
    this.drawing.keep();
  }

  point(found) {
    const pen = this.drawing.again(), { left, top, wide, high } = this.heatmap.geometry;
    this.readout.textContent = found ? inWords(this.map.told(found.row, found.column)) : "";
    if (!found) return;
    pen.strokeStyle = pen.fillStyle;
    pen.lineWidth = 2;
    pen.strokeRect(left + found.column * wide, top + found.row * high, wide, high);
  }
}

function pictureOf(map, width) {
  const { rows, columns, limit = 1, notes, masked } = map, areTokens = Array.isArray(columns);
  const names = Array.isArray(rows) ? shownTokens(rows) : Array.from({ length: rows }, (_, row) => String(row));
  const keys = areTokens ? shownTokens(columns) : null, count = areTokens ? keys.length : columns;
  const left = rowLabelsWidth(names), over = areTokens ? 0.5 * LETTER * Math.min(12, keys.at(-1).length) : 2;
  const after = Math.max(notes ? NOTE : 0, over), room = (width - left - after - 4) / count;
  const high = Math.max(LEAST_ROW, Math.min(TALLEST_ROW, TALLEST / names.length));
  const largest = map.square && !areTokens ? high : LARGEST_CELL;
  const wide = Math.max(areTokens ? LEAST_CELL : 0, Math.min(largest, room)), tall = map.square ? wide : high;
  const upright = areTokens && fitUpright(keys, wide);
  const top = areTokens ? (upright ? NUMBERS : slantedHeight(keys)) : NUMBERS;
  const isBlank = (row, column) => masked?.(row, column);
  const geometry = new Geometry({ rows: names.length, columns: count, left, top, wide, high: tall, after, below: 3 });
  return {
    geometry, rows: names, columns: keys, upright, notes, masked, marked: map.marked, signed: map.signed, first: 0,
    share: (row, column) => (isBlank(row, column) ? NaN : map.at(row, column) / limit),
    valueText: map.plain ? null : (row, column, short) => {
      return isBlank(row, column) ? "" : (map.signed && short ? fewDigits : twoDigits)(map.at(row, column));
    },
    room: ROOM_FOR_A_VALUE,
  };
}

// For a cell of about three letters.
function fewDigits(value) {
  const text = signed(value, Math.abs(value) < 0.95 ? 1 : 0);
  return text === "0.0" ? "0" : text.replace("0.", ".");
}

// The colours from one end to the other, with the numbers there.
function scaleOf({ signed: isSigned, limit }) {
  const bar = element("i"), [low, high] = isSigned ? [-limit, limit] : [0, limit];
  if (isSigned) {
    const ends = [asText([...NEGATIVE, opacity(1)]), asText([...NEGATIVE, 0.03]), asText([...POSITIVE, opacity(1)])];
    bar.style.background = `linear-gradient(to right, ${ends})`;
  }
  return [element("span", "", twoDigits(low)), bar, element("span", "", twoDigits(high))];
}

// Tables that can be scrolled where they are long: rows of [name, cells], a cell {text, title, css, shade} or null.
export function tableOf(rows, label) {
  const made = rows.map(([name, cells]) => {
    const head = element("th", "", name);
    head.scope = "row";
    return element("tr", "", head, ...cells.map((cell) => {
      const place = element("td", cell?.css ?? "", cell?.text ?? "");
      if (cell?.title) place.title = cell.title;
      if (cell?.shade) place.style.setProperty("--shade", cell.shade);
      return place;
    }));
  });
  const place = element("div", "compared", element("table", "", element("tbody", "", ...made)));
  for (const [name, value] of Object.entries({ tabindex: 0, role: "region", "aria-label": label })) {
    place.setAttribute(name, value);
  }
  return place;
}

// What is chosen above a view: each choice is a label with a list or a field, made once. say(changes) hears of one.
export class Choices {
  constructor(place, say) {
    Object.assign(this, { place, say, made: {} });
  }

  // chosen: [{ name, label, options: [[value, text]] or null for a field, value, first }], `first` being what the
  // address leaves out.
  show(chosen) {
    const shown = chosen.map(({ name, label, options, value, first = "" }) => {
      const made = (this.made[name] ??= labelled(label, element(options ? "select" : "input")));
      const { control } = made;
      control.name = name;
      const text = JSON.stringify(options), all = (options ?? []).map(([each, as]) => new Option(as, each));
      if (options && made.options !== text) control.replaceChildren(...all);
      made.options = text;
      if (control.value !== value) control.value = value;
      control.onchange = () => this.say({ [name]: control.value === first ? "" : control.value });
      return made.whole;
    });
    // Only where it changes, so that what is focused stays so.
    if (shown.some((each, at) => this.place.children[at] !== each) || this.place.children.length !== shown.length) {
      this.place.replaceChildren(...shown);
    }
  }
}

function labelled(label, control) {
  return { control, whole: element("label", "", `${label} `, control) };
}
