// Captions of the explorer's pictures: heads, axes, colours, and what was left out.

import { limitOf } from "./state.js";
import { say } from "./texts.toml";
import { axesText, isSmallestFirst, kindTitle, limitText, measureText, notes, tileName } from "./words.js";

const MOST_NAMED = 12; // heads by their number

// Of the chosen heads: `shown` as the explorer shows it; `each`, where they are drawn as lines, those drawn apart.
export function chosenCaption(attention, state, shown, each) {
  const { rows, scale, tokens, together } = state, { heads, kind, most } = shown, apart = each?.length > 1;
  const largest = scale === "0 to 1" ? "1" : say("largest_of_head"), names = heads.map(tileName);
  const full = apart ? largest : scale === "0 to 1" ? most : say("largest_here", { largest: shown.largest });
  return [
    heads.length > 1 && heads.length <= MOST_NAMED &&
      (apart ? say("heads", { heads: names }) : say("heads_together", { heads: names, together })),
    each ? axesText(kind, rows, say("left"), say("right")) : axesText(kind, rows),
    say(each ? "opacity" : "colours", { full }),
    each && tokens.length && say("selected"),
    notes(apart ? 1 : heads.length, { ...state, view: "map" }, shown.removed),
    exactness(attention),
  ].filter(Boolean).join(" ");
}

// Of all heads of some kinds: groups as lib/thumbnails.js has them.
export function allHeadsCaption(attention, { kind, rows, scale, sort, label, least }, groups) {
  const kinds = groups.map(({ name }) => attention.kind(name)), titles = kinds.map(kindTitle);
  const isSorted = groups.some(({ sorted }) => sorted), limit = limitOf(attention, kind, { sort, least });
  const some = groups.every(({ sorted }) => sorted) ? "" : say("some");
  const filter = [
    label !== "all" && (label === "none" ? say("unlabelled") : say("labelled", { label })),
    limit !== null && say("limited", { sort, limit: limitText(sort), value: measureText(sort, limit) }),
  ].filter(Boolean);
  return [
    say("all_heads", { kinds: titles }),
    isSorted ? say(isSmallestFirst(sort) ? "smallest" : "largest", { sort, some }) : say("unsorted"),
    say("all_colours", { full: scale === "0 to 1" ? "1" : say("largest_of_each") }),
    isSorted ? say("below_sorted", { sort }) : say("below"),
    ...kinds.map((each, at) => (kinds.length > 1 ? say("kind", { kind: titles[at] }) : "") + axesText(each, rows)),
    groups.some(({ members }) => members.some(({ faint }) => faint)) && say("faint", { filter }),
    exactness(attention),
  ].filter(Boolean).join(" ");
}

// The precision of the weights in files.
const exactness = ({ steps }) => steps > 1 && say("exactness", { steps });
