// Captions of the explorer's pictures: heads, axes, colours, and what was left out.

import { limitOf } from "./state.js";
import { axesText, isSmallestFirst, kindTitle, limitText, measureText, notes, tileName } from "./words.js";

const MOST_NAMED = 12; // heads by their number

// Of the chosen heads: `shown` as the explorer shows it; `each`, where they are drawn as lines, those drawn apart.
export function chosenCaption(attention, state, shown, each) {
  const { rows, scale, tokens, together } = state, { heads, kind } = shown, apart = each?.length > 1;
  const largest = scale === "0 to 1" ? "1" : "its head's largest weight";
  const full = scale === "0 to 1" ? `${shown.most}` : `${shown.largest.toFixed(2)}, the largest weight here`;
  return [
    heads.length > 1 && heads.length <= MOST_NAMED &&
      `Heads (layer.head) ${heads.map(tileName).join(", ")}${apart ? "" : `, their ${together}`}.`,
    each ? axesText(kind, rows, "Left", "Right") : axesText(kind, rows),
    each ? `A line is as opaque as its weight, from 0 to ${apart ? largest : full}.` : `Colour scale: 0 to ${full}.`,
    each && tokens.length && "Only lines of the selected tokens are drawn.",
    notes(apart ? 1 : heads.length, { ...state, view: "map" }, shown.removed),
    exactness(attention),
  ].filter(Boolean).join(" ");
}

// Of all heads of some kinds: groups as lib/thumbnails.js has them.
export function allHeadsCaption(attention, { kind, rows, scale, sort, label, least }, groups) {
  const kinds = groups.map(({ name }) => attention.kind(name)), titles = kinds.map(kindTitle);
  const isSorted = groups.some(({ sorted }) => sorted), limit = limitOf(attention, kind, { sort, least });
  const some = groups.every(({ sorted }) => sorted) ? "" : ", where a kind has it";
  const order = `sorted by ${sort}${some}, from the ${isSmallestFirst(sort) ? "smallest" : "largest"}`;
  const filter = [
    label !== "all" && (label === "none" ? "without a clear pattern" : `labelled “${label}”`),
    limit !== null && `with ${sort} ${limitText(sort)} ${measureText(sort, limit)}`,
  ].filter(Boolean).join(" and ");
  return [
    `All heads, ${titles.join(", ")}:`,
    `${isSorted ? order : "layers from top to bottom, heads from left to right"}.`,
    `Colours from 0 to ${scale === "0 to 1" ? "1" : "each head's largest weight"}. Below a head:`,
    `${isSorted ? `layer.head, ${sort}, and ` : ""}its pattern, where it has one.`,
    ...kinds.map((each, at) => (kinds.length > 1 ? `${titles[at]}: ` : "") + axesText(each, rows)),
    groups.some(({ members }) => members.some(({ faint }) => faint)) && `Faint: heads that are not ${filter}.`,
    exactness(attention),
  ].filter(Boolean).join(" ");
}

// The precision of the weights in files.
const exactness = ({ steps }) => {
  return steps > 1 && `Its files hold each weight as a multiple of 1/${steps.toLocaleString("en")}.`;
};
