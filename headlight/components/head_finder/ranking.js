// Filters of the finder, and its sentences on heads.

import { sentenceCase, signed } from "../lib/words.js";

// The kinds that a choice shows: those named in "encoder.cross", all where it names none.
export function kindsOf(chosen, kinds) {
  const named = kinds.map(({ kind }) => kind).filter((kind) => chosen.kinds.split(".").includes(kind));
  return named.length ? named : kinds.map(({ kind }) => kind);
}

// The choice of kinds after a click on one of them: the others alone where all were shown.
export function toggledKinds(chosen, kinds, kind) {
  const shown = kindsOf(chosen, kinds), all = kinds.map((each) => each.kind);
  const after = all.filter((each) => shown.includes(each) !== (each === kind));
  return after.length === kinds.length ? "" : after.join(".");
}

export function fits(head, chosen, kinds) {
  return kindsOf(chosen, kinds).includes(head.kind) && (!chosen.role || head.pattern === chosen.role);
}

const valueText = (value) => (value ? signed(value[0], 2) : "—");

export const labelOf = (measures, name) => measures.find((measure) => measure.name === name)?.label ?? name;

// A head in words: its sentence and both measures.
export function wordsOf({ heads, values, measures }, at, chosen) {
  const shown = [...new Set([chosen.x, chosen.y])].map((name) => {
    return `${labelOf(measures, name)} ${valueText(values[name]?.[at])}`;
  });
  const { name, says } = heads[at];
  return `${sentenceCase(name)}: ${says} ${shown.join("; ")}.`;
}
