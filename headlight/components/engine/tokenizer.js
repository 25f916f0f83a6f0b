// SentencePiece's BPE and unigram model with its `nmt_nfkc` normaliser: text to ids and back, equal to Python's
// `sentencepiece`.
//
// The normaliser is a table of 225,276 rules (240,007 bytes in tokenizer.model), and none of it is needed here. Of its
// 5,009 rules for one character all but 46 say what String.prototype.normalize("NFKC") says; the 46 are below. The
// other 220,267 make one character of two to four, again NFKC's; `isRule` knows them. What the table does not do is
// NFKC of a whole text: the longest rule that begins here is applied, then the next. So marks are not put into
// canonical order, and a letter that is composed already takes no further mark: "\u00fc\u0300" stays two characters,
// which NFKC makes one, "\u01dc".

const SPACE = "\u2581"; // SentencePiece's mark for a blank
const LONGEST_RULE = 4; // characters
const NOTHING_UNDER = 0x300; // two characters below this never become one
// Exceptions of the table to NFKC: these become a blank, controls vanish, and one stays as it is.
const BLANKS = new Set("\t\n\f\r\u061c\u1680\u200b\u200c\u200e\u200f\u2028\u2029\u2581\ufeff\ufffd");
const DROPPED = new Set("\x01\x02\x03\x04\x05\x06\x07\b\v\x7f\x8f\x9f");
for (let code = 0x0e; code < 0x20; code++) DROPPED.add(String.fromCharCode(code));
const KEPT = "\uff5e";
const UNKNOWN_PENALTY = 10; // SentencePiece's: an unknown character's score is so much less than the least piece's
const LONE_SURROGATE = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

function ofOne(character) {
  if (BLANKS.has(character)) return " ";
  if (DROPPED.has(character)) return "";
  return character === KEPT ? character : character.normalize("NFKC");
}

// Return whether the table composes these to one character: they are one in NFKC, none of them is composed of others,
// and they stand in canonical order.
function isRule(characters, composed) {
  const parts = characters.map((each) => each.normalize("NFKD"));
  const isOne = (text) => text.length === (text.codePointAt(0) > 0xffff ? 2 : 1);
  if (!isOne(composed) || !parts.every(isOne)) return false;
  return parts.join("") === characters.join("").normalize("NFKD");
}

// The text as the pieces spell it: normalised, blanks in runs of one and none at either end, each as the mark, and one
// before all. Empty for a text of blanks alone.
function normalized(text) {
  const characters = [...text.replace(LONE_SURROGATE, "?")]; // as transformer.data.tokenizer.well_formed
  let result = "";
  for (let at = 0; at < characters.length; ) {
    let best = "", length = 1;
    if (characters[at + 1]?.codePointAt(0) >= NOTHING_UNDER) {
      for (length = Math.min(LONGEST_RULE, characters.length - at); length > 1; length--) {
        const some = characters.slice(at, at + length), composed = some.join("").normalize("NFKC");
        if (isRule(some, composed)) {
          best = composed;
          break;
        }
      }
    }
    result += best || ofOne(characters[at]);
    at += length;
  }
  const words = result.split(" ").filter(Boolean); // a blank alone: others became one, or are letters to the table
  return words.map((word) => SPACE + word).join("");
}

export class Tokenizer {
  // pieces: texts by id; unknown: an id; controls: ids that no text has; scores: log-probabilities of a unigram model's
  // pieces, null for BPE, whose earlier pieces are merged first.
  constructor({ pieces, unknown, controls, scores = null }) {
    Object.assign(this, { pieces, unknown, controls: new Set(controls) });
    this.ids = new Map(pieces.map((piece, id) => [piece, id]));
    for (const id of [unknown, ...controls]) this.ids.delete(pieces[id]);
    if (!scores) return;
    this.scores = Float32Array.from(scores);
    this.unknownScore = Math.min(...Array.from(this.ids.values(), (id) => this.scores[id])) - UNKNOWN_PENALTY;
    this.longest = Math.max(...Array.from(this.ids.keys(), (piece) => [...piece].length)); // characters
  }

  encode(text) {
    const ids = [], spelled = normalized(text);
    for (const part of this.scores ? this.likeliest(spelled) : this.merged(spelled)) {
      const id = this.ids.get(part) ?? this.unknown;
      if (id !== this.unknown || ids.at(-1) !== this.unknown) ids.push(id); // a run of unknown ones is one
    }
    return ids;
  }

  // The parts with the largest sum of scores (Viterbi), the longer first part of equal ones. The sums are rounded to 32
  // bits after each part as SentencePiece's are: it decides which are equal.
  likeliest(text) {
    const characters = [...text], count = characters.length;
    const sums = new Float32Array(count + 1).fill(-Infinity, 1), begins = new Int32Array(count + 1); // by a part's end
    for (let begin = 0; begin < count; begin++) {
      let part = "", score = this.unknownScore; // of one character without a piece
      for (let end = begin + 1; end <= Math.min(begin + this.longest, count); end++) {
        part += characters[end - 1];
        const sum = Math.fround(sums[begin] + (this.scores[this.ids.get(part)] ?? score));
        if (sum > sums[end]) [sums[end], begins[end]] = [sum, begin];
        score = -Infinity;
      }
    }
    const parts = [];
    for (let end = count; end > 0; end = begins[end]) parts.push(characters.slice(begins[end], end).join(""));
    return parts.reverse();
  }

  // No piece has a blank but as its first character (int8.py makes sure), so that no merge joins two words.
  merged(text) {
    return text.split(/(?=\u2581)/u).flatMap((word) => this.mergedWord(word));
  }

  // Merge the two neighbours whose piece was learned first, the left ones of equal ones, until none is a piece.
  mergedWord(word) {
    const parts = [...word];
    const merged = (at) => this.ids.get(parts[at] + parts[at + 1]) ?? Infinity;
    const ranks = parts.slice(1).map((_, at) => merged(at)); // of each part with the next one
    while (ranks.length) {
      let best = 0;
      for (let at = 1; at < ranks.length; at++) if (ranks[at] < ranks[best]) best = at;
      if (ranks[best] === Infinity) break;
      parts.splice(best, 2, parts[best] + parts[best + 1]);
      ranks.splice(best, 1);
      if (best > 0) ranks[best - 1] = merged(best - 1);
      if (best < ranks.length) ranks[best] = merged(best);
    }
    return parts;
  }

  decode(ids) {
    let text = "";
    for (const id of ids) {
      if (this.controls.has(id)) continue;
      text += id === this.unknown ? " \u2047 " : this.piece(id, text === "");
    }
    return text;
  }

  // A first piece's blank is the one that was put before the text.
  piece(id, first) {
    const piece = this.pieces[id];
    return (first && piece.startsWith(SPACE) ? piece.slice(1) : piece).replaceAll(SPACE, " ");
  }
}
