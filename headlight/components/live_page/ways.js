// How the page's view of decoding goes about it, as the app's bar has it: greedily, by beam search, step by step or as
// a tree, or by sampling with a seed.

import { default as beamTree } from "../beam_tree/tree.js";
import { element } from "../lib/canvas.js";
import { searchTree } from "./search_tree.js";

// Of each number its least, its most, what it is without being said, and the way that it belongs to.
const NUMBERS = {
  beam: { least: 2, most: 10, usual: 4, of: "beam" },
  alpha: { least: 0, most: 1.5, usual: 0.6, of: "beam" },
  temperature: { least: 0.1, most: 2, usual: 1, of: "sampling" },
  topk: { least: 0, most: 50, usual: 0, of: "sampling" },
  seed: { least: 1, most: 9999, usual: 1, of: "sampling" },
};
const WAYS = ["greedy", "beam", "sampling"], VIEWS = ["step by step", "beam search"];
const WHOLE = ["beam", "topk", "seed"];
export const DRAWN_HERE =
  "The same seed draws the same on this page, in every browser; the app, whose numbers are PyTorch's, draws otherwise.";

// What an address asks for; what makes no sense falls back.
export function wayIn(said) {
  const oneOf = (value, choices) => (choices.includes(value) ? value : choices[0]);
  const number = ([name, { least, most, usual }]) => {
    const value = said[name] === undefined || said[name] === "" ? usual : Number(said[name]);
    const may = value >= least && value <= most && (!WHOLE.includes(name) || Number.isInteger(value));
    return [name, may ? value : usual];
  };
  const numbers = Object.fromEntries(Object.entries(NUMBERS).map(number));
  return { way: oneOf(said.decoding, WAYS), view: oneOf(said.decoding_view, VIEWS), ...numbers };
}

// The engine's options for a way.
export function optionsOf({ way, beam, alpha, temperature, topk, seed }) {
  if (way === "beam") return { beam: { size: beam, alpha } };
  return way === "sampling" ? { sampling: { temperature, topK: topk, seed } } : {};
}

// The fields above the view.
export class WayFields {
  // say(changes): writes into the address.
  constructor(section, say) {
    this.fields = Object.fromEntries([...section.querySelectorAll(".ways [name]")].map((field) => [field.name, field]));
    for (const [name, field] of Object.entries(this.fields)) {
      if (name in NUMBERS) {
        const { least, most } = NUMBERS[name];
        Object.assign(field, { type: "number", min: least, max: most, step: WHOLE.includes(name) ? 1 : 0.1 });
      }
      field.onchange = () => {
        const usual = { decoding: WAYS[0], decoding_view: VIEWS[0], ...usualNumbers() }[name];
        say({ [name]: field.value === String(usual) || !field.checkValidity() ? "" : field.value });
      };
    }
  }

  show({ way, view, ...numbers }) {
    const values = { decoding: way, decoding_view: view, ...numbers };
    for (const [name, field] of Object.entries(this.fields)) {
      field.value = values[name];
      const of = name === "decoding_view" ? "beam" : NUMBERS[name]?.of;
      field.closest("label").hidden = of !== undefined && of !== way;
    }
  }
}

const usualNumbers = () => Object.fromEntries(Object.entries(NUMBERS).map(([name, { usual }]) => [name, usual]));

// The tree of a search, drawn in `place`; from(ids): search from a branch, its ids joined by dots, or "" for the start.
// Returns the best translation.
export function showTree(place, record, { source, head, from }) {
  const setTriggerValue = (_, ids) => from(ids);
  beamTree({ parentElement: place, data: { branches: searchTree(record), source, head }, setTriggerValue });
  return record.ended[0].text;
}

// A line on what this way found, and a button back from what is forced.
export function wayLine(name, text, undo) {
  const line = element("p", "", `${name}: `, element("strong", "", text));
  if (!undo) return line;
  const button = element("button", "", "From the start");
  line.append(" ", Object.assign(button, { type: "button", onclick: undo }));
  return line;
}
