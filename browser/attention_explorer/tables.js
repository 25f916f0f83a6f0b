// The tables behind the pictures: filled only while they are open.

class Table {
  // rows(): the texts of the head, then those of each row; a text may be an element. label() names it for screen readers.
  constructor(details, label, rows) {
    Object.assign(this, { details, label, rows });
    details.addEventListener("toggle", () => this.draw());
  }

  draw() {
    const place = this.details.querySelector(".places");
    if (!this.details.open) return place.replaceChildren();
    place.setAttribute("aria-label", this.label());
    const [head, ...rows] = this.rows(), table = element("table"), top = element("thead"), body = element("tbody");
    top.append(this.row(head, "col"));
    body.append(...rows.map((row) => this.row(row)));
    table.append(top, body);
    const focused = [...place.querySelectorAll("button")].indexOf(place.getRootNode().activeElement);
    place.replaceChildren(table);
    place.querySelectorAll("button")[focused]?.focus({ preventScroll: true });
  }

  row(cells, scope) {
    const row = element("tr");
    cells.forEach((cell, at) => {
      const made = element(scope || at === 0 ? "th" : "td");
      if (scope || at === 0) made.scope = scope ?? "row";
      made.append(cell);
      row.append(made);
    });
    return row;
  }
}

function weightRows({ shown }) {
  const name = ({ text, fed, predicts }) => (fed === undefined ? text : `fed ${fed}, predicts ${predicts}`);
  const weight = (row, column) => (shown.isShown(row, column) ? shown.at(row, column).toFixed(shown.digits) : shown.isOpen(row, column) ? "left out" : "masked");
  return [
    ["reads", ...shown.columns.map(({ text }) => text), "entropy"],
    ...shown.rows.map((group, row) => [name(group), ...shown.columns.map((_, column) => weight(row, column)), shown.entropy(row).toFixed(2)]),
  ];
}

// The heads that the filter leaves, in their order, each a button; and all that was measured of them.
function headRows({ attention, choice }) {
  const { kind: name } = choice, kind = attention.kind(name), measures = Object.keys(kind.measures);
  return [
    ["head", "label", ...measures],
    ...findHeads(attention, name, choice).filter(({ stays }) => stays).map(({ layer, head, label }) => {
      const button = element("button", "", `layer ${layer + 1}, head ${head + 1}`);
      button.onclick = (event) => choice.takeHeads(name, [{ layer, head }], withMore(event));
      button.setAttribute("aria-pressed", choice.has(name, { layer, head }));
      return [button, label ?? "no clear pattern", ...measures.map((measure) => measureText(measure, kind.measures[measure][layer * kind.heads + head]))];
    }),
  ];
}
