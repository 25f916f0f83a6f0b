// The address of a view, "#decoding?text=I+love+you&step=3", with the same names as in the app's addresses; defaults
// are left out.

import { KINDS } from "../attention_explorer/story.js";
import { parseHeads, parseSelection, selectionAddress } from "../lib/selection.js";

export function readAddress(hash, views, defaults) {
  const [name, query = ""] = hash.replace(/^#/, "").split("?", 2);
  const params = { ...defaults, ...Object.fromEntries(new URLSearchParams(query)) };
  return { view: views.includes(name) ? name : views[0], params };
}

export function addressOf(view, params, defaults) {
  const pairs = Object.entries(params).filter(([name, value]) => value !== (defaults[name] ?? ""));
  return `#${view}${pairs.length ? `?${new URLSearchParams(pairs)}` : ""}`;
}

// The explorer's choice for an address: its selection, where heads are invalid `start`, and its options; options: by
// name, the default first.
export function explorerChoice(params, trace, options, start) {
  const sizes = Object.fromEntries(KINDS.map((kind) => [kind, trace[kind].shape]));
  const oneOf = ([name, values]) => [name, values.includes(params[name]) ? params[name] : values[0]];
  const chosen = Object.fromEntries(Object.entries(options).map(oneOf));
  return { ...chosen, ...selectionAddress(parseSelection(params, sizes, start)) };
}

// The first head of the address that is there, or null. shapes: [layers, heads] by kind.
export const headIn = ({ head }, shapes) => parseHeads(head, shapes)[0] ?? null;
