// Templates of texts.toml, filled with named numbers as by Formatter of headlight/app/finding.py.

import { number } from "./format.js";
import { LANGUAGE, local, quotations } from "./language.js";
import { chanceText, grouped, percent, quoted, signed } from "./words.js";

const FIELD = /\{(\w+)(?::([^}]*))?\}/g;
const FORMATS = {
  ",": grouped, number, percent, probability: chanceText, signed: (value, digits = 2) => signed(value, digits),
  token: quoted,
};
const PLURALS = new Intl.PluralRules(LANGUAGE.code);

// Return a function that fills the templates of a module by their names. Among the plural forms of a template, { one,
// other }, the value `count` chooses.
export const sayer = (templates) => (name, values = {}) => {
  const template = templates[name];
  return fill(template.other ? (template[PLURALS.select(values.count)] ?? template.other) : template, values);
};

// "{share:percent} on {keys:, }": the format of a list is the text between its items. A missing name is an error.
export function fill(template, values) {
  return quotations(template.replace(FIELD, (_, name, format = "") => {
    if (!(name in values)) throw new Error(`no value for {${name}} of “${template}”`);
    return formatted(values[name], format);
  }));
}

function formatted(value, format) {
  if (Array.isArray(value)) return value.join(format);
  const decimals = /^\.(\d)f$/.exec(format), [name, ...digits] = format.split(" ");
  if (decimals) return local(value.toFixed(Number(decimals[1])));
  return format ? FORMATS[name](value, ...digits.map(Number)) : String(value);
}
