// The explorer's selection and options, shared by its views; their form in the address; and the heads that fit them.

import { element, withMore } from "../lib/canvas.js";
import { headName } from "../lib/names.js";
import { isSameHead, parseHead, parseNumbers, selectionAddress } from "../lib/selection.js";
import { everyHead } from "../lib/thumbnails.js";
import { say } from "./texts.toml";
import { isSmallestFirst, measureText, tileName } from "./words.js";

const FIRST = {
  view: "map", heads: [{ kind: "cross", layer: 0, head: 0 }], side: "queries", tokens: [], rows: "output token",
  words: "pieces", specials: "shown", top: 100, together: "mean", scale: "0 to 1", kinds: "one", label: "all",
  sort: "layer", least: 0,
};
const IN_ADDRESS = ["view", "rows", "label"]; // besides the selection

export class ExplorerState {
  constructor(changed) {
    Object.assign(this, FIRST, { changed });
    this.several = false; // whether a click adds to what is chosen: shift for those who have no such key
  }

  // That of the chosen heads.
  get kind() {
    return this.heads[0].kind;
  }

  set(some) {
    Object.assign(this, some);
    this.changed();
  }

  has(kind, head) {
    return this.heads.some((each) => isSameHead(each, { ...head, kind }));
  }

  // These heads alone, or with `more` in addition to those that are chosen; once more, and they are so no longer.
  takeHeads(kind, some, more) {
    const heads = some.map(({ layer, head }) => ({ kind, layer, head }));
    if (kind !== this.kind) return this.set({ heads, tokens: [] });
    if (!more && !this.several) return this.set({ heads });
    const others = this.heads.filter((one) => !heads.some((each) => isSameHead(each, one)));
    const taken = heads.every((each) => this.has(kind, each)) ? others : [...others, ...heads];
    this.set({ heads: taken.length ? taken : this.heads });
  }

  // Another kind, with the same heads as far as it has them.
  takeKind(kind, size) {
    this.set({ heads: this.headsWithin(size).map((head) => ({ ...head, kind })), tokens: [] });
  }

  // The chosen heads that a model of this size has, else its first.
  headsWithin({ layers, heads, perLayer }) {
    const within = this.heads.filter(({ layer, head }) => layer < layers && head < (perLayer?.[layer] ?? heads));
    return within.length ? within : [{ kind: this.kind, layer: 0, head: 0 }];
  }

  // A group of tokens that are shown as one, alone or in addition.
  takeTokens(side, positions, more) {
    more ||= this.several;
    const here = side === this.side ? this.tokens : [], chosen = positions.every((position) => here.includes(position));
    const others = more ? here.filter((token) => !positions.includes(token)) : [];
    const taken = chosen && (more || here.length === positions.length) ? others : [...others, ...positions];
    this.set({ side, tokens: taken.sort((one, other) => one - other) });
  }

  holds(side, positions) {
    return side === this.side && positions.some((position) => this.tokens.includes(position));
  }

  // First the tokens go, then all heads but the first.
  clear() {
    if (this.tokens.length) this.set({ tokens: [] });
    else if (this.heads.length > 1) this.set({ heads: this.heads.slice(0, 1) });
  }

  // As plain texts for the address.
  serialize() {
    const tokens = { queries: [], keys: [], [this.side]: this.tokens };
    return {
      ...Object.fromEntries(IN_ADDRESS.map((name) => [name, this[name]])),
      ...selectionAddress({ heads: this.heads, ...tokens }),
    };
  }

  // From the address; Python has put right what makes no sense there.
  parse({ head, query, key, ...texts }) {
    const queries = parseNumbers(query), keys = parseNumbers(key), ofKeys = keys.length > 0 && queries.length === 0;
    const tokens = ofKeys ? { side: "keys", tokens: keys } : { side: "queries", tokens: queries };
    Object.assign(this, texts, tokens, { heads: head.split("-").map(parseHead) });
  }
}

// The heads of a kind in the order that is asked for, each with the measured value and whether the filter leaves it.
export function findHeads(attention, name, { label, sort, least }) {
  const kind = attention.kind(name), values = kind.measures[sort], atMost = isSmallestFirst(sort);
  const limit = limitOf(attention, name, { sort, least });
  const members = everyHead(kind).map((each) => {
    const number = each.layer * kind.heads + each.head;
    const value = values ? values[number] : null, pattern = kind.labels[number];
    const fits = limit === null || (value !== null && (atMost ? value <= limit : value >= limit));
    return { ...each, value, label: pattern, fits: fits && (label === "all" || (pattern ?? "none") === label) };
  });
  if (!values) return members;
  const far = atMost ? Infinity : -Infinity, sign = atMost ? 1 : -1;
  return members.sort((one, other) => sign * ((one.value ?? far) - (other.value ?? far)) || 0);
}

// The heads of a kind as lib/thumbnails.js has a group of them.
export function groupOf(attention, name, state) {
  const { layers, heads, measures, causal } = attention.kind(name), sorted = state.sort in measures;
  const shape = { ...attention.smallSize(name), causal };
  const members = findHeads(attention, name, state).map((head) => ({ ...head, faint: !head.fits }));
  const patternOf = ({ label }) => attention.facts.patternWords[label]?.[1].split(" ") ?? [""]; // a word per line
  const captions = (sorted ? 2 : 0) + Math.max(1, ...members.map((head) => patternOf(head).length));
  return {
    name, layers, heads, ...shape, sorted, captions, members,
    mapOf: (head) => {
      const values = attention.small(name, head), perMap = state.scale === "per map";
      const largest = perMap ? values.reduce((one, other) => Math.max(one, other), 0) : 0;
      return { ...shape, values, full: largest || attention.steps };
    },
    captionsOf: (head) => {
      const pattern = patternOf(head);
      if (!sorted) return pattern;
      return [tileName(head), measureText(state.sort, head.value).replace(" nats", ""), ...pattern];
    },
    titleOf: (head) => attention.headText(name, head),
  };
}

// The filter's limit: a share of the way, for entropy from the largest that a head of this kind has down to 0.
export function limitOf(attention, name, { sort, least }) {
  const values = attention.kind(name).measures[sort];
  if (!values || !least) return null;
  return isSmallestFirst(sort) ? ((100 - least) / 100) * Math.max(...values) : least / 100;
}

// A button that takes a head of the kind that is shown.
export function headButton(state, head, text) {
  const onclick = (event) => state.takeHeads(state.kind, [head], withMore(event));
  return Object.assign(element("button", "", text), { onclick });
}

// The heads that the filter leaves as rows of a table, each a button, with all that was measured of them.
export function headRows(attention, state) {
  const { kind: name } = state, kind = attention.kind(name), measures = Object.keys(kind.measures);
  const rows = findHeads(attention, name, state).filter(({ fits }) => fits).map(({ layer, head, label }) => {
    const button = headButton(state, { layer, head }, headName({ layer, head }));
    const at = layer * kind.heads + head;
    button.setAttribute("aria-pressed", state.has(name, { layer, head }));
    const values = measures.map((measure) => measureText(measure, kind.measures[measure][at]));
    return [button, label ?? say("no_pattern"), ...values];
  });
  return [[say("head"), say("label"), ...measures], ...rows];
}

// The same text for the same state, in whatever order Python and we have put it.
export const inOrder = (serialized) => JSON.stringify(Object.entries(serialized).sort());
