// Where a reader is: "#decoding?text=I+love+you&step=3", the same names as in the app's addresses. What is said as in
// the default is left out.

export function readAddress(hash, views, defaults) {
  const [name, query = ""] = hash.replace(/^#/, "").split("?", 2);
  const said = { ...defaults, ...Object.fromEntries(new URLSearchParams(query)) };
  return { view: views.includes(name) ? name : views[0], said };
}

export function addressOf(view, said, defaults) {
  const pairs = Object.entries(said).filter(([name, value]) => value !== (defaults[name] ?? ""));
  return `#${view}${pairs.length ? `?${new URLSearchParams(pairs)}` : ""}`;
}

// Numbers from 0 of a text such as "1.3", counted from 1: each once, in order, those that there are.
export function numbersIn(text, count) {
  const numbers = /^\d{1,4}(\.\d{1,4})*$/.test(text) ? text.split(".").map((each) => Number(each) - 1) : [];
  return [...new Set(numbers)].filter((number) => number >= 0 && number < count).sort((one, other) => one - other);
}

// A layer or head of an address, from 0; null for what is not there.
export function placeIn(text, count) {
  return /^\d{1,3}$/.test(text ?? "") && text >= 1 && text <= count ? text - 1 : null;
}

// The explorer's choice for an address, as `addressed_choice` of headlight/views/attention/explorer_content.py: invalid
// parts fall back, the heads to `best`. options: by name, the default first.
export function explorerChoice(said, trace, { options, kinds }, best) {
  const oneOf = (value, choices) => (choices.includes(value) ? value : choices[0]);
  const kind = oneOf(said.kind, kinds), [layers, heads, queries, keys] = trace[kind].shape;
  const are = (text, form, fits) => form.test(text) && text.split("-").every(fits);
  const isHead = (each) => each.split(".")[0] <= layers && each.split(".")[1] <= heads;
  const areHeads = (text) => are(text, /^[1-9]\d{0,2}\.[1-9]\d{0,2}(-[1-9]\d{0,2}\.[1-9]\d{0,2})*$/, isHead);
  const isToken = (side) => (each) => Number(each) <= (side === "q" ? queries : keys);
  const several = said.heads ?? "", tokens = said.tokens ?? "", single = `${said.layer}.${said.head}`;
  const first = areHeads(single) ? single : best;
  const areTokens = /^[qk]/.test(tokens) && are(tokens.slice(1), /^[1-9]\d{0,2}(-[1-9]\d{0,2})*$/, isToken(tokens[0]));
  return {
    ...Object.fromEntries(Object.keys(options).map((name) => [name, oneOf(said[name], options[name])])),
    kind, heads: areHeads(several) && several.split("-")[0] === first ? several : first,
    tokens: areTokens ? tokens : "",
  };
}
