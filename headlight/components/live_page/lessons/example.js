// The small example of a lesson in the view of a head's inside: made-up numbers, of whose mask one cell may be closed.

import { default as steps } from "../../attention_steps/steps.js";

const NUMBER = /^\d{1,5}$/;

// What an example shows under a mask, "" for none; one that is not here is none.
function masked({ flips, ...plain }, mask) {
  const { arrays, steps: others } = flips[mask] ?? { arrays: {}, steps: {} };
  const parts = plain.steps.map((step, at) => ({ ...step, ...others[at] }));
  return { ...plain, arrays: { ...plain.arrays, ...arrays }, steps: parts };
}

// Query, key and dimension from 1, and a step.
function choiceIn(said, { steps: all }) {
  const number = (name) => (NUMBER.test(said[name] ?? "") ? Number(said[name]) : 1);
  const numbers = ["at_query", "at_key", "at_dimension"].map(number);
  return [...numbers, ["all", ...all.map(({ name }) => name)].includes(said.at_step) ? said.at_step : all[0].name];
}

// A mask with one cell of it closed, or opened again; query and key from 1.
function flipped({ keys }, mask, query, key) {
  const isCell = (row, column) => row + 1 === query && column + 1 === key;
  const cells = keys.flatMap((_, row) => keys.map((_, column) => Number(isCell(row, column)))).join("");
  return cells === mask ? "" : cells;
}

// Let the view show an example wherever the address asks for one. inside: the view; examples: by their seed, see
// headlight/lessons/live.py.
export function showExamples(inside, examples) {
  const { show, hear } = inside, choices = inside.find(".choices");
  let shown = null, said = {}, known = null, turn = 0;
  inside.show = (given) => {
    ({ said } = given);
    shown = examples[said.toy_block_seed] ?? null;
    choices.hidden = Boolean(shown);
    if (!shown) {
      known = null;
      return show.call(inside, given);
    }
    inside.known = null; // what the view showed before is news again
    const chosen = choiceIn(said, shown), news = chosen.join();
    if (news !== known) turn += 1;
    known = news;
    return inside.give(steps, { ...masked(shown, said.toy_flipped), chosen, turn: `example ${turn}` });
  };
  inside.hear = (name, report) => {
    if (!shown) return hear.call(inside, name, report);
    const isMask = name === "mask", chosen = isMask ? report.slice(2) : report;
    known = chosen.join(); // what the browser itself chose
    const [at_query, at_key, at_dimension] = chosen.map(String), [query, key] = report;
    const mask = isMask ? { toy_flipped: flipped(shown, said.toy_flipped ?? "", query, key) } : {};
    return inside.say({ at_query, at_key, at_dimension, at_step: chosen[3], ...mask });
  };
}
