// How the language of the interface writes numbers and quotations: English here, as in headlight/language.toml. In the
// bundle of another language the bundler puts its conventions in place of these.

export const LANGUAGE = {
  code: "en", decimal: ".", thousands: ",", space: " ", under: "under 1 %", over: "over 99 %", quotes: ["“", "”"],
  glyphs: { "</s>": "⟨end⟩", "<s>": "⟨start⟩", "<pad>": "⟨pad⟩", "<unk>": "⟨unknown⟩" }, places: {}, languages: {},
};

// A number that is written as in English: 1,234.5 % as 1.234,5 %.
const SIGNS = { ".": LANGUAGE.decimal, ",": LANGUAGE.thousands, " ": LANGUAGE.space };
export const local = (text) => text.replace(/[., ]/g, (sign) => SIGNS[sign]);

// A text whose quotations stand between “ and ”.
export function quotations(text) {
  const [first, last] = LANGUAGE.quotes;
  return LANGUAGE.code === "en" ? text : text.replace(/“([^“”„]*)”/g, (_, quotation) => first + quotation + last);
}
