// The controls of decoding above the view, as in the app's bar: greedy, beam search step by step or as a tree, or
// sampling with a seed.

import { default as beamTree } from "../beam_tree/tree.js";
import { button, element } from "../lib/canvas.js";
import { searchTree } from "./search_tree.js";
import { say } from "./texts.toml";

// The decoding that each number belongs to.
const DECODING_OF = { beam: "beam", alpha: "beam", temperature: "sampling", topk: "sampling", seed: "sampling" };
const CHOICES = { decoding: ["greedy", "beam", "sampling"], decoding_view: ["step by step", "beam search"] };
export const DRAWN_HERE = say("drawn_here");

// The values of an address by field; invalid ones are the defaults. numbers: the app's own limits and default of each,
// { least, most, usual, step }.
export function decodingIn(params, numbers) {
  const number = ([name, { least, most, usual, step }]) => {
    const value = params[name] ? Number(params[name]) : usual;
    return [name, value >= least && value <= most && (step < 1 || Number.isInteger(value)) ? value : usual];
  };
  const chosen = ([name, choices]) => [name, choices.includes(params[name]) ? params[name] : choices[0]];
  return Object.fromEntries([...Object.entries(CHOICES).map(chosen), ...Object.entries(numbers).map(number)]);
}

// The engine's options.
export function optionsOf({ decoding, beam, alpha, temperature, topk, seed }) {
  if (decoding === "beam") return { beam: { size: beam, alpha } };
  return decoding === "sampling" ? { sampling: { temperature, topK: topk, seed } } : {};
}

export class DecodingFields {
  // navigate(changes): writes into the address; numbers as above.
  constructor(section, numbers, navigate) {
    this.fields = section.querySelectorAll(".ways [name]");
    for (const field of this.fields) {
      const { name } = field, number = numbers[name];
      if (number) Object.assign(field, { type: "number", min: number.least, max: number.most, step: number.step });
      const usual = number ? String(number.usual) : CHOICES[name][0];
      field.onchange = () => navigate({ [name]: field.value === usual || !field.checkValidity() ? "" : field.value });
    }
  }

  show(values) {
    for (const field of this.fields) {
      field.value = values[field.name];
      const of = field.name === "decoding_view" ? "beam" : DECODING_OF[field.name];
      field.closest("label").hidden = of !== undefined && of !== values.decoding;
    }
  }
}

// Draw the tree of a search in `place` and return the best translation. from(ids): searches from a branch, its ids
// joined by dots, or "" for the start.
export function showTree(place, record, { source, head, from }) {
  const setTriggerValue = (_, ids) => from(ids);
  beamTree({ parentElement: place, data: { branches: searchTree(record), source, head }, setTriggerValue });
  return record.ended[0].text;
}

// A line with a translation, and a button back from a forced prefix.
export function resultLine(name, text, undo) {
  const back = undo ? [" ", button(say("undo"), undo)] : [];
  return element("p", "", say("result", { name }), element("strong", "", text), ...back);
}
