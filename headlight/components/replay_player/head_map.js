// One head, large: a table whose cells are coloured by weight, to be read by eye, pointer, keyboard and screen reader.

import { ARROWS, element, isDark, isShortcut, setAttributes, shortened, tint } from "../lib/canvas.js";
import { shortWeight } from "../lib/format.js";
import { windowHeight } from "../lib/screen.js";
import { shownTokens } from "../lib/tokens.js";
import { say } from "./texts.toml";

const LARGEST_CELL = 36, SMALLEST_CELL = 8, SMALLEST_CELL_WITH_VALUE = 24; // pixels
const AROUND = 410, AROUND_LIVE = 490; // pixels of a window that are not for the cells
const LETTER = 7.2, ROOM_FOR_PREDICTIONS = 440, TALLEST_KEYS = 88, UPRIGHT_KEYS = 20;

export class HeadMap {
  // readOut(text) gets the cell under the pointer, or that the keys went to, in words.
  constructor(place, readOut) {
    this.readOut = readOut;
    this.table = element("table", "map");
    setAttributes(this.table, { role: "grid", "aria-readonly": true, tabindex: 0 });
    this.table.onpointerover = this.table.onclick = (event) => this.point(event.target.closest("td[id]"));
    this.table.onpointerleave = this.table.onblur = () => this.point(null);
    this.table.onfocus = () => this.under || this.point(this.cells[0]);
    this.table.onkeydown = (event) => this.key(event);
    place.replaceChildren(this.table);
  }

  // Show the chosen head at a snapshot, in this width.
  draw(data, snapshots, current, width) {
    const dark = isDark(this.table), tokens = JSON.stringify([data.queries, data.predicts, data.keys, data.causal]);
    const { place } = data.texts[current];
    Object.assign(this, { data, snapshots, current });
    if (tokens !== this.tokens) this.layOut();
    this.tokens = tokens;
    this.fit(width);
    this.table.setAttribute("aria-label", say("label", { kind: data.kindName, head: data.name, place }));
    for (let row = 0, index = 0; row < snapshots.rows; row++) {
      for (let column = 0; column < snapshots.columns; column++, index++) {
        if (snapshots.isMasked(row, column)) continue;
        const cell = this.cells[index], weight = snapshots.weight(current, data, row, column);
        const text = shortWeight(weight);
        tint(cell, weight, dark);
        if (cell.textContent !== text) cell.textContent = text;
      }
    }
    this.describe();
  }

  layOut() {
    const { queries, predicts, keys } = this.data;
    const cut = (text) => ({ shown: shortened(text), title: shortened(text) === text ? "" : text });
    const header = (text, scope, className) => {
      const { shown, title } = cut(text);
      return Object.assign(element("th", className, element("span", "", shown)), { scope, title });
    };
    const [rowLabels, columnLabels, following] = [queries, keys, predicts ?? []].map(shownTokens);
    this.labels = { queries: rowLabels, keys: columnLabels, predicts: following };
    const corner = header(say(predicts ? "fed" : "token"), "col", "corner");
    const head = element("tr", "", corner, ...columnLabels.map((key) => header(key, "col", "key")));
    if (predicts) head.append(header(say("predicted"), "col", "corner predicts"));
    const rows = queries.map((_, row) => {
      const cells = keys.map((_, column) => this.cell(row, column));
      if (predicts) {
        const { shown, title } = cut(following[row]);
        cells.push(Object.assign(element("td", "predicts", shown), { title }));
      }
      return element("tr", "", header(rowLabels[row], "row", "query"), ...cells);
    });
    const body = element("tbody", "", ...rows);
    this.table.replaceChildren(element("thead", "", head), body);
    this.cells = [...body.querySelectorAll("td[id]")];
    this.under = null;
  }

  cell(row, column) {
    const masked = this.snapshots.isMasked(row, column), cell = element("td", masked ? "closed" : "");
    setAttributes(cell, { id: `cell-${row}-${column}`, ...(masked && { "aria-label": say("masked") }) });
    return cell;
  }

  // Cells as large as this width allows, labels upright where they fit above them.
  fit(width) {
    const { queries, predicts, keys } = this.labels, predictions = this.data.predicts && width >= ROOM_FOR_PREDICTIONS;
    const longest = (tokens) => LETTER * Math.max(3, ...tokens.map((token) => shortened(token).length)) + 10;
    const slanted = Math.min(TALLEST_KEYS, 0.9 * longest(keys) + 4);
    const left = longest(queries), right = predictions ? Math.max(66, longest(predicts)) : 0.5 * slanted;
    const gaps = keys.length + 3; // a pixel around each cell, as in player.css
    const around = this.data.following ? AROUND_LIVE : AROUND;
    const high = Math.max(SMALLEST_CELL_WITH_VALUE, (windowHeight(this.table) - around) / queries.length - 1);
    const cell = Math.floor(Math.min(LARGEST_CELL, high, (width - left - right - gaps) / keys.length));
    const upright = longest(keys) - 10 <= cell;
    this.table.style.setProperty("--cell", `${Math.max(SMALLEST_CELL, cell)}px`);
    this.table.style.setProperty("--left", `${left}px`);
    this.table.style.setProperty("--top", `${upright ? UPRIGHT_KEYS : slanted}px`);
    this.table.style.marginRight = `${predictions ? 0 : right}px`;
    this.table.classList.toggle("upright", upright);
    this.table.classList.toggle("without_predictions", !predictions);
    this.table.classList.toggle("without_values", cell < SMALLEST_CELL_WITH_VALUE);
    this.table.classList.toggle("dense", cell < 15);
  }

  key(event) {
    if (isShortcut(event) || !(event.key in ARROWS)) return;
    const [row, column] = this.under ? this.position() : [0, 0], [down, right] = ARROWS[event.key];
    const cell = this.table.querySelector(`#cell-${row + down}-${column + right}`);
    if (cell) this.point(cell);
    event.preventDefault();
    event.stopPropagation(); // within the map the arrows go from cell to cell, not through the training
  }

  point(cell) {
    this.under?.classList.remove("under");
    this.under = cell;
    cell?.classList.add("under");
    if (cell) this.table.setAttribute("aria-activedescendant", cell.id);
    else this.table.removeAttribute("aria-activedescendant");
    this.describe();
  }

  position() {
    return this.under.id.split("-").slice(1).map(Number);
  }

  describe() {
    if (!this.under) return this.readOut("");
    const [row, column] = this.position(), { layer, head } = this.data;
    this.readOut(this.snapshots.cellText(this.current, { layer, head, row, column }));
  }
}
