// What stands under a picture of the explorer: which heads it is of, what its axes and colours are, what was left out.

import { axesText, headName, limitOf, notes } from "./state.js";

const MOST_NAMED = 12; // heads by their number
const SMALL = 84; // tokens of a side whose cells a thumbnail has one by one

// Of the chosen heads: `shown` as the explorer shows it; `each`, where they are drawn as lines, those drawn apart.
export function chosenCaption(attention, choice, shown, each) {
  const { kind, rows, scale, tokens, together } = choice, { heads } = shown, apart = each?.length > 1;
  const several = heads.length > 1 && heads.length <= MOST_NAMED;
  const own = scale === "0 to 1" ? "1" : "its head's largest weight";
  const full = scale === "0 to 1" ? `${shown.most}` : `${shown.largest.toFixed(2)}, the largest weight here`;
  return [
    several && `Heads (layer.head) ${heads.map(headName).join(", ")}${apart ? "" : `, their ${together}`}.`,
    each ? axesText(kind, rows, "Left", "Right") : axesText(kind, rows),
    each && `A line is as opaque as its weight, from 0 to ${apart ? own : full}.`,
    each && tokens.length && "Only lines of the selected tokens are drawn.",
    !each && `Colour scale: 0 to ${full}.`,
    notes(apart ? 1 : heads.length, { ...choice, view: "map" }),
    rounded(attention),
  ].filter(Boolean).join(" ");
}

// Of all heads of some kinds: groups as lib/thumbnails.js has them.
export function allHeadsCaption(attention, choice, groups) {
  const { sort, rows, scale } = choice, kinds = groups.map(({ name }) => attention.texts.kinds[name]);
  const sorted = groups.filter((group) => group.sorted).length, [, , way] = attention.texts.measures[sort] ?? [];
  const order = `sorted by ${sort}, from the ${way === "at most" ? "smallest" : "largest"}`;
  const grid = "layers from top to bottom, heads from left to right";
  const laid = sorted === groups.length ? order : sorted ? `${order}; a kind without it: ${grid}` : grid;
  const full = scale === "0 to 1" ? "1" : "each head's largest weight";
  const below = sorted ? `Below a head: layer.head, ${sort}, and its pattern,` : "Below a head: its pattern,";
  const labelled = `decoder rows labelled by ${rows === "fed" ? "input" : "output"} token`;
  return [
    `All heads, ${kinds.join(", ")}: ${laid}. Colours from 0 to ${full}. ${below} where it has one.`,
    groups.length > 1 ? `Rows: queries, ${labelled}; columns: keys.` : axesText(groups[0].name, rows),
    groups.some(({ rows: down, columns }) => Math.max(down, columns) > SMALL) &&
      "Where a map has more cells than there is room for, one shows the largest weight of several.",
    groups.some(({ found }) => found.some(({ faint }) => faint)) &&
      `Faint: heads that are not ${asked(attention, choice)}.`,
    rounded(attention),
  ].filter(Boolean).join(" ");
}

// How exact the weights of the picture's files are.
const rounded = ({ steps }) => `Its files hold each weight as a multiple of 1/${steps.toLocaleString("en")}.`;

// What the filter asks for.
function asked(attention, choice) {
  const { label, sort, kind } = choice, limit = limitOf(attention, kind, choice);
  const [, , way] = attention.texts.measures[sort] ?? [];
  const least = limit !== null && `with ${sort} ${way} ${attention.measureText(sort, limit)}`;
  const pattern = label === "none" ? "without a clear pattern" : label !== "all" && `labelled “${label}”`;
  return [pattern, least].filter(Boolean).join(" and ");
}
