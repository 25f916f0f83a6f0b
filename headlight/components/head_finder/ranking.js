// Which heads the finder shows, in which order, and what it says of them.

import { KINDS } from "../lib/colours.js";

export const nameOf = ({ kind, layer, head }) => `${kind}.${layer + 1}.${head + 1}`;
export const shortName = ({ layer, head }) => `L${layer + 1}H${head + 1}`;
export const colourOf = (kind) => KINDS[kind];

// The kinds that a choice shows: those named in "encoder.cross", all where it names none.
export function kindsOf(chosen, kinds) {
  const named = kinds.map(({ kind }) => kind).filter((kind) => chosen.kinds.split(".").includes(kind));
  return named.length ? named : kinds.map(({ kind }) => kind);
}

// The choice of kinds after a click on one of them: the others alone where all were shown.
export function toggledKinds(chosen, kinds, kind) {
  const shown = kindsOf(chosen, kinds), after = kinds.map((each) => each.kind).filter((each) => {
    return shown.includes(each) !== (each === kind);
  });
  return after.length === kinds.length ? "" : after.join(".");
}

export function fits(head, chosen, kinds) {
  return kindsOf(chosen, kinds).includes(head.kind) && (!chosen.role || head.pattern === chosen.role);
}

// Indices of the heads that fit, sorted as `sort` says: by "head", "share" of the pattern, or a measure, with "-" from
// the greatest on; a head without a value comes last.
export function sorted({ heads, values, kinds }, chosen) {
  const isFalling = chosen.sort.startsWith("-"), column = chosen.sort.replace(/^-/, ""), sign = isFalling ? -1 : 1;
  const valueOf = (at) => (column === "share" ? heads[at].share : values[column]?.[at]?.[0] ?? null);
  const found = [...heads.keys()].filter((at) => fits(heads[at], chosen, kinds));
  if (column === "head") return isFalling ? found.reverse() : found;
  return found.sort((one, other) => {
    const [first, second] = [valueOf(one), valueOf(other)];
    if (first === null || second === null) return (first === null) - (second === null) || one - other;
    return sign * (first - second) || one - other;
  });
}

// What a click on a column sorts by: first from the greatest on, then from the least on; heads the other way round.
export function sortAfter(sort, column) {
  if (column === "head") return sort === "head" ? "-head" : "head";
  return sort === `-${column}` ? column : `-${column}`;
}

// A value with its standard error, as in headlight/views/atlas/content.py: "0.71 ± 0.01", "0.713 ± 0.002",
// "0.5903 ± 0.0003".
export function valueText(value) {
  if (!value) return "—";
  const [mean, error] = value, digits = 2 + (error ? (error < 0.005) + (error < 0.0005) : 0);
  const text = mean.toFixed(digits).replace(/^-(0\.0*)$/, "$1").replace("-", "−");
  return error === null ? text : `${text} ± ${error.toFixed(digits)}`;
}

// What is said of a head: its sentence and both measures.
export function wordsOf({ heads, values, measures }, at, chosen) {
  const labelOf = (name) => measures.find((measure) => measure.name === name)?.label ?? name;
  const shown = [...new Set([chosen.x, chosen.y])].map((name) => `${labelOf(name)} ${valueText(values[name]?.[at])}`);
  const { name, says } = heads[at];
  return `${name[0].toUpperCase()}${name.slice(1)}: ${says} ${shown.join("; ")}.`;
}
