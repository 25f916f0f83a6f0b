// Sentences and numbers of the training replay.

import { NOTHING, headName } from "../lib/names.js";
import { grouped, percent, pluralize, sentenceCase } from "../lib/words.js";

const MOST_WORDS = 16, MOST_LETTERS = 70; // early outputs repeat one word up to the length limit

export function axesText(kind, [source, target]) {
  if (kind === "encoder") return `rows and columns: ${source}`;
  if (kind === "decoder") return `rows and columns: ${target}, as it was fed`;
  return `rows: ${target}, as it was fed to the decoder; columns: ${source}`;
}

export const placeText = (step, last) => `Update ${grouped(step)} of ${grouped(last)}`;

// An output cut to what can be shown: { wrote, more }.
export function outputText(text) {
  const words = text.split(/\s+/).filter(Boolean);
  let wrote = "";
  for (const [taken, word] of words.entries()) {
    const longer = `${wrote} ${word}`.trimStart();
    if (taken === MOST_WORDS || (taken && longer.length > MOST_LETTERS)) {
      return { wrote, more: `… and ${pluralize(words.length - taken, "more word")}` };
    }
    wrote = longer.length <= MOST_LETTERS ? longer : `${longer.slice(0, MOST_LETTERS)}…`;
  }
  return { wrote: wrote || NOTHING, more: "" };
}

export const lossText = (loss) => (loss >= 0.095 ? loss.toFixed(2) : String(Number(loss.toPrecision(1))));
export const scoreText = (value, name) => {
  return name === "exact match" ? `${Math.round(value * 100)} %` : value.toFixed(1);
};
export const scoreTitle = (name) => `${sentenceCase(name)} on held-out data`;
export const spokenText = (place, loss, { wrote, more }) => {
  return `${place.toLowerCase()}: ${loss ? `loss ${loss}` : "no loss yet"}, wrote: ${wrote} ${more}`.trimEnd();
};

// uniform: the focus of a head that spreads every row evenly, null where rows have a single key.
// pattern: { place, rows, eligible } of the head at this snapshot, or null.
export function headText(focus, uniform, pattern) {
  if (uniform === null) return "Every row has a single key, so there is nothing to choose.";
  const sharp = `A row puts ${percent(focus)} on one token (spread evenly: ${percent(uniform)}).`;
  if (!pattern) return sharp;
  return `${sharp} In ${pattern.rows} of ${pattern.eligible} rows that is ${pattern.place}.`;
}

// The change of a head over the training, and the head of its kind that changed most: { layer, head, first, last }.
export function headStory({ first, last, steps, heads, most, isMost }) {
  const [from, to] = [first, last].map(percent);
  const course = from === to ? `It ends at ${to}, as it began.` : `It went from ${from} to ${to}.`;
  if (isMost || !most || heads < 2 || steps.length < 3) return course;
  const ends = [most.first, most.last].map(percent);
  return `${course} ${sentenceCase(headName(most))} changes most: from ${ends.join(" to ")}.`;
}
