// One cell of queries times keys, worked out: two vectors, their products dimension by dimension, and the sum.

import { JOINT, element, setAttributes } from "../lib/canvas.js";
import { number } from "../lib/format.js";
import { inWords } from "../lib/tokens.js";
import { others } from "./sums.js";
import { say } from "./texts.toml";

// The sentence and the table below it. sums: what `Sums.of` gives for the cell; owner: "The model has".
export function workedCell({ name, query, key, terms, rest, first, value, result }, owner) {
  const more = rest.count ? [others(rest.count)] : [], gaps = more.map(() => "…");
  const row = (tag, name, cells) => element("tr", "", element("th", "", inWords(name)), ...cells.map((cell) => {
    return element(tag, "", cell);
  }));
  const of = (name) => terms.map((term) => number(term[name], 2));
  const products = [...of("value"), ...more.map(() => number(rest.value, 2)), number(value, 2)];
  const table = element(
    "table", "worked",
    row("th", say("dimension"), [...terms.map(({ index }) => String(first + index)), ...more, say("sum")]),
    row("td", say("query", { query: query.split(JOINT)[0] }), [...of("left"), ...gaps, ""]),
    row("td", say("key", { key }), [...of("right"), ...gaps, ""]),
    row("td", say("product"), products),
  );
  const text = say("worked", { name, value, owner, result });
  const scrolled = element("div", "sideways", table);
  setAttributes(scrolled, { tabindex: 0, role: "region", "aria-label": inWords(name) });
  return [element("p", "", inWords(text)), scrolled];
}
