// Tokens as they look: a word or a part of one, joined to its word; a special token as a small glyph. Screen readers
// get the same words without glyphs. The same rules as in headlight/plots/tokens.py.

import { element } from "./canvas.js";
import { LANGUAGE } from "./language.js";

const SPACE = "▁"; // as SentencePiece writes the space before a word
const GLYPHS = LANGUAGE.glyphs;
const CONTINUED = "·"; // before a token that goes on with the word before it, where the two cannot be joined
const BLANK = "␣"; // a token, or a part of one, that is nothing but a blank
const JOINTS = [" | ", " → "]; // within a label of two tokens; no token has a space
// Of Marian and M2M-100, of NLLB and mBART.
const LANGUAGE_CODE = /^(?:>>.*<<|__[\p{L}\p{N}_]+__|[a-z]{2,3}_[A-Z][A-Za-z]{1,3})$/u;
const SPECIAL_IN_SENTENCE = /(?<![^\s“„|])(?:<\/s>|<s>|<pad>|<unk>)(?![^\s”“|.,:;])/g;
const NAMED = /^(?:<.+>|\[[A-Z]+\])$/; // a special token without a glyph, or a byte: "<mask>", "<0xC3>", "[SEP]"
const MARKS = new Set(".,!?;:…«»„“”\"'()-"); // as in transformer/interpret/head_patterns.py
export const SPECIAL_TOKENS = ["<s>", "</s>", "<pad>"]; // as in transformer/interpret/trace.py
const ENDS_A_WORD = new Set([...SPECIAL_TOKENS, SPACE]);

export const isSpecial = (token) => Object.hasOwn(GLYPHS, token);

// In a row of chips.
export function chipText(token) {
  if (isSpecial(token)) return GLYPHS[token];
  const text = (token.startsWith(SPACE) ? token.slice(SPACE.length) : token).replaceAll(SPACE, BLANK);
  return text || (token && BLANK);
}

// Alone.
export const shownToken = (token) => (continues(token) ? CONTINUED : "") + chipText(token);

// The tokens of a sentence on an axis, or labels of two tokens each: "liebe → meinen".
export function shownTokens(labels) {
  const joint = JOINTS.find((each) => labels.some((label) => label.includes(each)));
  if (joint) {
    const pairs = labels.map((label) => cutAt(label, joint));
    const [firsts, seconds] = [0, 1].map((side) => shownTokens(pairs.map((pair) => pair[side] ?? "")));
    return pairs.map((pair, at) => (pair.length > 1 ? firsts[at] + joint + seconds[at] : firsts[at]));
  }
  if (!labels.some((label) => label.startsWith(SPACE))) return labels.map(chipText);
  return labels.map((label, at) => {
    const before = labels[at - 1];
    const isFirst = at === 0 || ENDS_A_WORD.has(before) || LANGUAGE_CODE.test(before);
    return isFirst ? chipText(label) : shownToken(label);
  });
}

// A sentence that names tokens, “▁my”, as it reads.
export function inWords(sentence) {
  const shown = sentence.replace(/(?<![^\s“„|])▁(?=[^\s”“|])/g, "").replace(/([“„]|«\s)▁(?=[”“]|\s»)/g, `$1${BLANK}`);
  return shown.replace(SPECIAL_IN_SENTENCE, (token) => GLYPHS[token]);
}

// A token or a sentence that names tokens, for screen readers and tooltips: "I", "start → Ich".
export const spoken = (text) => inWords(text).replace(/[⟨⟩]/g, "");

function cutAt(label, joint) {
  const at = label.indexOf(joint);
  return at < 0 ? [label] : [label.slice(0, at), label.slice(at + joint.length)];
}

export const isLanguage = (token) => LANGUAGE_CODE.test(token);

export const isMarks = (token) => {
  const marks = token.replace(/^▁+/, "");
  return marks.length > 0 && [...marks].every((sign) => MARKS.has(sign));
};

function continues(token) {
  return token !== "" && !(token.startsWith(SPACE) || LANGUAGE_CODE.test(token) || NAMED.test(token) || isMarks(token));
}

const LETTER = /[\p{L}\p{N}]/u;

// Return whether an apostrophe or a hyphen has a letter on either side.
function joins(tokens, at) {
  const isWord = (token = "") => LETTER.test(token) && !(token.startsWith("<") && token.endsWith(">"));
  const [before, mark, after] = [tokens[at - 1], tokens[at], tokens[at + 1]];
  return ["'", "-"].includes(mark) && isWord(before) && isWord(after) && !after.startsWith(SPACE);
}

// The words of a sentence, and its runs of punctuation marks, as ranges [first, after the last] of its tokens.
// An apostrophe or a hyphen between letters belongs to its word: "don't" is one.
export function wordRanges(tokens) {
  const ranges = [], marks = tokens.map((token, at) => isMarks(token) && !joins(tokens, at));
  tokens.forEach((token, at) => {
    if (token.startsWith("<") && token.endsWith(">")) return;
    const last = ranges.at(-1), follows = last?.[1] === at && !token.startsWith(SPACE);
    if (follows && marks[at] === marks[at - 1]) last[1] = at + 1;
    else ranges.push([at, at + 1]);
  });
  return ranges;
}

// The chips of a row put together: those of one word, as ranges say, into one frame, in which only the ends are round.
export function joined(chips, words, tag = "span") {
  const frames = [];
  chips.forEach((chip, index) => {
    const isWithin = words.some(([first, after]) => first < index && index < after);
    if (isWithin) frames.at(-1).append(chip);
    else frames.push(element(tag, "word", chip));
  });
  return frames;
}

// A row of chips (lib/chips.css), each with a place for a note, and the chips themselves: {items, chips}.
export function chipRow(tokens, ...others) {
  const chips = tokens.map((token) => {
    const text = element("span", "token", chipText(token)), letters = element("span", "letters", spoken(token));
    text.setAttribute("aria-hidden", "true");
    const parts = [text, letters, ...others.map((make) => make()), element("span", "note")];
    return element("span", isSpecial(token) ? "chip special" : "chip", ...parts);
  });
  return { chips, items: joined(chips, wordRanges(tokens), "li") };
}
