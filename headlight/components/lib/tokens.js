// How a token is shown: as a word or a part of one, joined to its word; a special token as a small glyph. What it is to
// the letter, the mark ▁ of a word's beginning included, stands on hover, in tables, and is read to screen readers.

import { element } from "./canvas.js";

const SPACE = "▁"; // as SentencePiece writes the space before a word
const GLYPHS = { "</s>": "⟨end⟩", "<s>": "⟨start⟩", "<pad>": "⟨pad⟩", "<unk>": "⟨unknown⟩" };

// The text of a token's chip; a piece that is nothing but the mark keeps it.
export function chipText(token, isSpecial) {
  if (isSpecial) return GLYPHS[token] ?? token;
  return token.length > 1 && token.startsWith(SPACE) ? token.slice(SPACE.length) : token;
}

// The buttons of a row put together: those of one word, as ranges of [first, after the last] say, into one frame, in
// which only the ends are round.
export function joined(buttons, words) {
  const frames = [];
  buttons.forEach((button, index) => {
    const word = words.findIndex(([first, after]) => first <= index && index < after);
    const isWithin = word >= 0 && index > words[word][0];
    if (isWithin) frames.at(-1).append(button);
    else frames.push(element("span", "word", button));
  });
  return frames;
}
