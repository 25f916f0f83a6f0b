// The table behind a picture.

import { element } from "./canvas.js";

// Filled only while it is open.
export class Table {
  // rows(): the texts of the head, then those of each row; a text may be an element. label() is for screen readers.
  constructor(details, label, rows) {
    Object.assign(this, { details, label, rows });
    details.addEventListener("toggle", () => this.draw());
  }

  draw() {
    const place = this.details.querySelector(".table");
    if (!this.details.open) return place.replaceChildren();
    place.setAttribute("aria-label", this.label());
    const [head, ...rows] = this.rows(), body = element("tbody", "", ...rows.map((row) => tableRow(row)));
    const focused = [...place.querySelectorAll("button")].indexOf(place.getRootNode().activeElement);
    place.replaceChildren(element("table", "", element("thead", "", tableRow(head, "col")), body));
    place.querySelectorAll("button")[focused]?.focus({ preventScroll: true });
  }
}

// A row of texts or elements; the first cell is its header, and with scope "col" all are headers of columns.
export function tableRow(cells, scope) {
  return element("tr", "", ...cells.map((cell, at) => {
    if (at && !scope) return element("td", "", cell);
    return Object.assign(element("th", "", cell), { scope: scope ?? "row" });
  }));
}
