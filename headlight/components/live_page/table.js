// A table of a view.

import { element } from "../lib/canvas.js";

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
