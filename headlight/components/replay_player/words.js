// Sentences and numbers of the training replay.

import { local } from "../lib/language.js";
import { NOTHING, headName } from "../lib/names.js";
import { percent, sentenceCase } from "../lib/words.js";
import { say } from "./texts.toml";

const MOST_WORDS = 16, MOST_LETTERS = 70; // early outputs repeat one word up to the length limit

// An output cut to what can be shown: { wrote, more }.
export function outputText(text) {
  const words = text.split(/\s+/).filter(Boolean);
  let wrote = "";
  for (const [taken, word] of words.entries()) {
    const longer = `${wrote} ${word}`.trimStart();
    if (taken === MOST_WORDS || (taken && longer.length > MOST_LETTERS)) {
      return { wrote, more: say("more_words", { count: words.length - taken }) };
    }
    wrote = longer.length <= MOST_LETTERS ? longer : `${longer.slice(0, MOST_LETTERS)}…`;
  }
  return { wrote: wrote || NOTHING, more: "" };
}

export const lossText = (loss) => local(loss >= 0.095 ? loss.toFixed(2) : String(Number(loss.toPrecision(1))));
export const scoreText = (value, name) => {
  return name === "exact match" ? say("percent", { percent: Math.round(value * 100) }) : local(value.toFixed(1));
};
export const spokenText = (place, loss, { wrote, more }) => {
  return say(loss ? "spoken" : "spoken_before", { place: place.toLowerCase(), loss, wrote, more }).trimEnd();
};

// uniform: the focus of a head that spreads every row evenly, null where rows have a single key.
// pattern: { place, rows, eligible } of the head at this snapshot, or null.
export function headText(focus, uniform, pattern) {
  if (uniform === null) return say("single_key");
  const { rows, eligible, place } = pattern ?? {};
  return say("focus", { focus, uniform }) + (pattern ? say("pattern", { rows, eligible, place }) : "");
}

// The change of a head over the training, and the head of its kind that changed most: { layer, head, first, last }.
export function headStory({ first, last, steps, heads, most, isMost }) {
  const [from, to] = [first, last].map(percent);
  const course = say(from === to ? "same" : "went", { from, to });
  if (isMost || !most || heads < 2 || steps.length < 3) return course;
  return course + say("most", { head: sentenceCase(headName(most)), first: most.first, last: most.last });
}
