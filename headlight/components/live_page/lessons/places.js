// Where a step of a lesson is to be seen in a live page: the view that shows what the app's page does, and its address.

// What the app's pages are called here; those that are not here have the names of their views.
const VIEWS = { translate: "attention", what_if: "heads" };
// Of a page of several figures the one that is here, by the name that an address has for them.
const FIGURES = {
  attention: ["attention", "explorer"], inside: ["inside", "step by step"], what_if: ["what_if", "head ablation"],
};
// What stands beside a step's figure where the page does not have that: the nearest of its kind.
const INSTEAD = { logits: "decoding", why: "home", training: "home", positions: "home", masks: "attention" };
const VEILED = {
  home_lines: "[data-view=home] .component", switches: "[data-view=heads] .component",
  player: "[data-view=decoding] .component", findings: ".findings", more: ".findings",
};

// { view, said: its address, isHere: whether it is the step's own figure }. address: as the app has it; views: those of
// this page; figures: the names of those of a page, where it has several of the app's; examples:
// small ones, by their seeds.
export function placeOf(page, address, { views, figures, examples, shape }) {
  const [name, figure] = FIGURES[page] ?? [], view = VIEWS[page] ?? page, shown = address[name] ?? figure;
  const isExample = shown === "small example" && Object.hasOwn(examples, address.toy_block_seed);
  const isOwn = !figure || shown === figure || isExample;
  const isDrawn = figures[page]?.includes(address[page] ?? figures[page][0]) ?? isOwn;
  const isHere = views.includes(view) && isDrawn;
  const instead = INSTEAD[page] ?? views[0];
  if (!views.includes(view)) {
    return { view: instead, said: instead === "attention" ? explorerOf(address, shape) : {}, isHere };
  }
  const said = view === "attention" ? { ...address, ...explorerOf(address, shape) } : { ...address };
  delete said[name];
  return { view, said, isHere };
}

// What the explorer shows of an address of one head, or of the average of several.
function explorerOf({ kind, layer, head, rows, query }, [layers, heads]) {
  const all = (count) => Array.from({ length: count }, (_, at) => at + 1);
  const numbers = (text, count) => (/^\d+$/.test(text ?? "") ? [text] : all(count));
  const chosen = numbers(layer, layers).flatMap((one) => numbers(head, heads).map((other) => `${one}.${other}`));
  const [first, ...others] = chosen, [ofLayer, ofHead] = first.split(".");
  return {
    ...(kind ? { kind } : {}),
    ...(layer || head ? { layer: ofLayer, head: ofHead, heads: others.length ? chosen.join("-") : "" } : {}),
    ...(rows ? { rows } : {}),
    ...(query ? { tokens: `q${query}` } : {}),
  };
}

// Blur what gives a step's answer away, and take the blur from all else.
export function veil(names) {
  const veiled = new Set(names.flatMap((name) => [...document.querySelectorAll(VEILED[name] ?? ":not(*)")]));
  for (const place of document.querySelectorAll(".component, .findings")) {
    place.classList.toggle("veiled", veiled.has(place));
    place.inert = veiled.has(place);
  }
}
