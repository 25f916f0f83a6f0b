// Filters of the finder, and its sentences on heads.

import { KINDS } from "../lib/colours.js";

export const nameOf = ({ kind, layer, head }) => `${kind}.${layer + 1}.${head + 1}`;
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

// A value with its standard error, as in headlight/views/research/atlas_content.py: "0.71 ± 0.01", "0.713 ± 0.002",
// "0.5903 ± 0.0003".
export function valueText(value) {
  if (!value) return "—";
  const [mean, error] = value, digits = 2 + (error ? (error < 0.005) + (error < 0.0005) : 0);
  const text = mean.toFixed(digits).replace(/^-(0\.0*)$/, "$1").replace("-", "−");
  return error === null ? text : `${text} ± ${error.toFixed(digits)}`;
}

export const labelOf = (measures, name) => measures.find((measure) => measure.name === name)?.label ?? name;

// What is said of a head: its sentence and both measures.
export function wordsOf({ heads, values, measures }, at, chosen) {
  const shown = [...new Set([chosen.x, chosen.y])].map((name) => {
    return `${labelOf(measures, name)} ${valueText(values[name]?.[at])}`;
  });
  const { name, says } = heads[at];
  return `${name[0].toUpperCase()}${name.slice(1)}: ${says} ${shown.join("; ")}.`;
}
