// A text in another language than the model reads, guessed by its function words as in headlight/app/languages.py.

import { LANGUAGE } from "../lib/language.js";
import { say } from "./texts.toml";

const FEW = 2, SHORT = 3; // words of another language that suffice; words of a text in which one suffices

// reads: the model's language; words: frequent words by language.
export function otherLanguage(text, { reads, words: { [reads]: expected, ...others } }) {
  const written = new Set(text.toLowerCase().replaceAll("’", "'").match(/\p{L}+'?/gu) ?? []);
  const count = (known, without) => known.filter((word) => written.has(word) && !without.includes(word)).length;
  const guesses = Object.entries(expected ? others : {}).map(([language, known]) => {
    return { language, foreign: count(known, expected), familiar: count(expected, known) };
  });
  const least = written.size >= SHORT ? 1 : FEW, lead = ({ foreign, familiar }) => foreign - familiar;
  const best = guesses.sort((one, other) => lead(other) - lead(one))[0];
  return best && best.foreign >= least && best.foreign > 2 * best.familiar ? best.language : null;
}

export function languageNotice(text, languages) {
  const other = otherLanguage(text, languages), { reads } = languages;
  const name = (language) => LANGUAGE.languages[language] ?? language;
  return other ? say("other", { other: name(other), reads: name(reads) }) : "";
}
