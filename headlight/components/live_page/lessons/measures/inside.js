// The measures of what happens inside a head, by the engine of this page: of the sentence those of
// headlight/lessons/measures/hand.py, scaling.py and masks.py.

import { KINDS } from "../../../engine/engine.js";
import { kindHeadName, percent, pluralize, quoted, fixed, shortWeight, signed } from "../../payloads/text.js";
import { numberWords } from "../../../standalone_page/lesson.js";
import { headIn, headNames, indexOfMost, largestFirst, leadOf, meanOf, most, readable } from "./wording.js";
import { Undecided } from "../run.js";

const exactly = (run, value) => (value ? fixed(value, 2) : run.say("masks._exact")("said"));
const batchNames = (run, head = run.firstHead("decoder")) => ({ ...headNames(head), second: run.text });

// A head's own rows of its block: products, scores and weights, and which cells a query may read.
async function blockOf(run, kind, head) {
  const stages = await run.stages(kind, head), { queries, keys, maps } = stages;
  const cut = (values, at) => Array.from({ length: queries }, (_, row) => {
    return values.subarray((at * queries + row) * keys, (at * queries + row + 1) * keys);
  });
  const ofHead = Object.fromEntries(Object.entries(maps).map(([name, values]) => [name, cut(values, head.head)]));
  return { ...ofHead, d_k: stages.d_k, open: cut(stages.unmasked, 0) };
}

const namesOf = (head, d_k) => ({ ...headNames(head), dimension: String(head.head * d_k + 1) });

export async function best_key(run, { kind }) {
  const { trace } = run, say = run.say("hand.best_key"), { NEAR, MOST_OPTIONS } = run.limits("hand");
  const plain = run.say("hand._plainest_row"), head = run.firstHead(kind);
  const { weights, products, open, d_k } = await blockOf(run, kind, head);
  if (weights[0].length < 2) throw new Undecided(plain("undecided"));
  const second = (row) => row[largestFirst(row)[1]];
  const row = indexOfMost(weights.map((each) => second(each) && leadOf(each)));
  if (leadOf(weights[row]) < NEAR || !second(weights[row])) throw new Undecided(plain("undecided 2"));
  const tokens = readable(kind === "decoder" ? trace.decoderInputTokens : trace.sourceTokens);
  const word = readable(kind === "encoder" ? trace.sourceTokens : trace.targetTokens)[row];
  const values = Array.from(products[row], (value, key) => (open[row][key] ? value : -Infinity));
  const ranked = largestFirst(values).slice(0, MOST_OPTIONS).filter((key) => Number.isFinite(values[key]));
  const [best] = ranked;
  if (new Set(ranked.map((key) => tokens[key])).size < ranked.length) throw new Undecided(say("undecided"));
  const digits = (key) => signed(values[key], 1), told = run.say("hand._told_product");
  return {
    kind: "one",
    truth: say("truth", quoted(tokens[best]), digits(best)),
    calculation: say("calculation", ranked.map((key) => `${quoted(tokens[key])} ${digits(key)}`).join(", ")),
    options: ranked.map((key) => [String(key + 1), quoted(tokens[key]), key === best ? "" : told("said", digits(key))]),
    right: [String(best + 1)],
    names: {
      ...namesOf(head, d_k), query: String(row + 1), key: String(best + 1), other_key: String(ranked.at(-1) + 1),
      word, read: tokens[best], d_k: String(d_k),
    },
  };
}

function deviation(values) {
  const mean = meanOf(values);
  return Math.sqrt(meanOf(values.map((value) => (value - mean) ** 2)));
}

export async function root_of_d_k(run, { kind }) {
  const say = run.say("scaling.root_of_d_k"), head = run.firstHead(kind);
  const { products, scores, open, d_k } = await blockOf(run, kind, head), root = Math.sqrt(d_k);
  if (d_k === 1) throw new Undecided(say("undecided"));
  const widths = [products, scores].map((rows) => {
    return numberWords(deviation(rows.flatMap((row, at) => [...row].filter((_, key) => open[at][key]))));
  });
  return {
    kind: "number",
    truth: say("truth", d_k, fixed(root, 2), ...widths),
    calculation: say("calculation", d_k, d_k, fixed(root, 2)),
    value: root, tolerance: 0.1,
    names: { ...namesOf(head, d_k), d_k: String(d_k), products: widths[0] },
  };
}

// The largest weight that softmax makes of some of the scores.
function largestWeight(scores, open) {
  const values = [...scores].filter((_, key) => open[key]), peak = most(values);
  return 1 / values.reduce((sum, value) => sum + Math.exp(value - peak), 0);
}

function exact(run, value) {
  return value >= run.limits("scaling").LEAST_SHOWN ? fixed(value, 2) : run.say("scaling._exact")("said");
}

export async function row_without_root(run, { kind }) {
  const { trace } = run, say = run.say("scaling.row_without_root"), { NEAR } = run.limits("scaling");
  const head = run.firstHead(kind), { products, scores, weights, open, d_k } = await blockOf(run, kind, head);
  const without = products.map((row, at) => largestWeight(row, open[at])), divided = weights.map(most);
  const root = Math.sqrt(d_k);
  const row = indexOfMost(without.map((value, at) => value - divided[at]));
  const twice = largestWeight(scores[row].map((score) => score / root), open[row]);
  const [undivided, same] = [without[row], divided[row]];
  if (Math.min(undivided - same, same - twice) < NEAR) throw new Undecided(say("undecided"));
  const [high, low] = [undivided, same].map((value) => exact(run, value));
  return {
    kind: "one",
    truth: say("truth", high, low),
    calculation: say("calculation", fixed(root, 2), low, high),
    options: [
      ["undivided", shortWeight(undivided), ""], ["same", shortWeight(same), say("told")],
      ["twice", shortWeight(twice), say("told 2")],
    ],
    right: ["undivided"],
    names: {
      ...namesOf(head, d_k), d_k: String(d_k), query: String(row + 1), now: low,
      word: readable(kind === "encoder" ? trace.sourceTokens : trace.targetTokens)[row],
    },
  };
}

// The mean largest weight of all heads' rows, and by how much it would rise without the division.
function largestWeights(run) {
  const root = Math.sqrt(run.config.d_model / run.config.num_heads), found = [];
  for (const kind of KINDS) {
    const [layers, heads, queries, keys] = run.trace[kind].shape;
    if (queries < 3 || keys < 3) throw new Undecided(run.say("scaling._largest_weights")("undecided"));
    for (let place = 0; place < layers * heads; place++) {
      const head = { kind, layer: Math.floor(place / heads), head: place % heads }, rows = run.rows(kind, head);
      const now = meanOf(rows.map(most));
      const without = rows.map((row) => 1 / row.reduce((sum, weight) => sum + (weight / most(row)) ** root, 0));
      found.push({ ...head, now, rise: meanOf(without) - now });
    }
  }
  return found;
}

export function quiet_head(run) {
  const say = run.say("scaling.quiet_head"), { HARDLY, PLAINLY } = run.limits("scaling"), heads = largestWeights(run);
  const cross = heads.filter(({ kind }) => kind === "cross"), start = cross[indexOfMost(cross.map(({ rise }) => rise))];
  const quietest = heads[indexOfMost(heads.map(({ rise }) => -rise))];
  if (quietest.rise >= HARDLY || start.rise < PLAINLY) throw new Undecided(say("undecided"));
  const name = (head) => kindHeadName(run.source.words.texts.kinds, head), asked = headIn(run.address);
  const shown = asked && heads.find(({ kind, layer, head }) => {
    return kind === run.address.kind && layer === asked.layer && head === asked.head;
  });
  return {
    kind: "do",
    truth: shown ? say("here", name(shown), exact(run, shown.now), exact(run, shown.rise)) : say("said"),
    calculation: say("calculation", name(quietest), exact(run, quietest.rise)),
    done: Boolean(shown) && shown.rise < HARDLY,
    names: {
      limit: shortWeight(HARDLY), layer: String(start.layer + 1), head: String(start.head + 1),
      quiet_kind: quietest.kind, quiet_layer: String(quietest.layer + 1), quiet_head: String(quietest.head + 1),
    },
  };
}

// The rows in order: first those whose token and the next one begin a word, of these the middle ones.
function plainRows({ decoderInputTokens: fed, targetTokens: following }, from) {
  const middle = Math.floor(fed.length / 2);
  const goOn = (row) => [fed[row], following[row]].filter((token) => !token.startsWith("▁")).length;
  const rows = [...fed.keys()].slice(from, -1);
  return rows.sort((one, other) => goOn(one) - goOn(other) || Math.abs(one - middle) - Math.abs(other - middle));
}

export function open_cells(run) {
  const { trace } = run, say = run.say("masks.open_cells"), { length } = trace.decoderInputTokens;
  if (length < 5) throw new Undecided(say("undecided"));
  const row = plainRows(trace, 2)[0] + 1, head = run.firstHead("decoder"); // of which row tokens are open
  const told = new Map([[row, ""], [row - 1, say("told")], [row + 1, say("told 2")]]).set(length, say("told 3"));
  return {
    kind: "one",
    truth: say("truth", row, pluralize(row, "token")),
    calculation: say("calculation", row, row, row - 1, length - row),
    options: [...told].map(([count, words]) => [String(count), pluralize(count, "token"), words]),
    right: [String(row)],
    names: {
      ...namesOf(head, run.config.d_model / run.config.num_heads), row: String(row),
      fed: readable(trace.decoderInputTokens)[row - 1], length: String(length),
    },
  };
}

export async function masked_weight(run) {
  const say = run.say("masks.masked_weight"), { NEAR } = run.limits("masks"), head = run.firstHead("decoder");
  const { scores, weights, open, d_k } = await blockOf(run, "decoder", head);
  const closed = open.map((row) => [...row.keys()].filter((key) => !row[key]));
  const shares = scores.map((row, at) => {
    const peak = most(row), parts = Array.from(row, (score) => Math.exp(score - peak));
    return closed[at].reduce((sum, key) => sum + parts[key], 0) / parts.reduce((sum, part) => sum + part, 0);
  });
  const equal = closed.map((keys, at) => keys.length / open[at].length);
  const plain = shares.map((share, at) => {
    return closed[at].length > 1 && share > NEAR && equal[at] > NEAR && Math.abs(share - equal[at]) > NEAR ? share : 0;
  });
  const row = indexOfMost(plain);
  if (!plain[row]) throw new Undecided(say("undecided"));
  if (closed[row].some((key) => weights[row][key])) throw new Undecided(say("undecided 2"));
  const count = closed[row].length;
  return {
    kind: "one",
    truth: say("truth", pluralize(count, say("truth 2")), percent(shares[row])),
    calculation: say("calculation"),
    options: [
      ["zero", say("option"), ""], ["scores", say("option 2", percent(shares[row])), say("option 3")],
      ["equal", say("option 4", percent(equal[row])), say("option 5")],
    ],
    right: ["zero"],
    names: {
      ...namesOf(head, d_k), query: String(row + 1), fed: readable(run.trace.decoderInputTokens)[row],
      closed: String(count),
    },
  };
}

// The mean weight on later tokens of all rows but the last, of each head.
function laterShares(run, kind) {
  const [layers, heads] = run.trace[kind].shape;
  return Array.from({ length: layers * heads }, (_, place) => {
    const rows = run.rows(kind, { layer: Math.floor(place / heads), head: place % heads }).slice(0, -1);
    const later = (row, at) => row.subarray(at + 1).reduce((sum, weight) => sum + weight, 0);
    return rows.length ? meanOf(rows.map(later)) : 0;
  });
}

export function reads_later(run) {
  const say = run.say("masks.reads_later"), { NEAR } = run.limits("masks"), heads = run.config.num_heads;
  const [encoder, decoder] = ["encoder", "decoder"].map((kind) => laterShares(run, kind)), place = indexOfMost(encoder);
  const means = { encoder: meanOf(encoder), decoder: meanOf(decoder) };
  if (means.encoder < NEAR || run.trace.targetTokens.length < 3) throw new Undecided(say("undecided"));
  const reading = Object.keys(means).filter((kind) => means[kind]), right = reading.length === 1 ? reading[0] : "both";
  const told = (kind) => say("told", kind, exactly(run, means[kind]));
  return {
    kind: "one",
    truth: say("truth", shortWeight(means.encoder), exactly(run, means.decoder)),
    calculation: say("calculation"),
    options: [
      ["encoder", say("option"), right === "encoder" ? "" : told("encoder")],
      ["decoder", say("option 2"), told("decoder")],
      ["both", "both", right === "both" ? "" : told("decoder")], ["neither", "neither", told("encoder")],
    ],
    right: [right],
    names: batchNames(run, { layer: Math.floor(place / heads), head: place % heads }),
  };
}

export function shifted_row(run) {
  const { trace } = run, say = run.say("masks.shifted_row");
  const fed = trace.decoderInputTokens, following = trace.targetTokens;
  const row = plainRows(trace, 2).find((each) => {
    const near = [fed[each - 1], fed[each], following[each], following[each + 1]];
    return new Set(near).size === near.length && fed.indexOf(fed[each]) === fed.lastIndexOf(fed[each]);
  });
  if (row === undefined) throw new Undecided(run.say("masks._distinct_row")("undecided"));
  const [input, output] = [readable(fed), readable(following)];
  const options = new Map([
    [output[row], ""], [input[row], say("options")], [input[row - 1], say("options 2")],
    [output[row + 1], say("options 3", quoted(input[row + 1]))],
  ]);
  return {
    kind: "one",
    truth: say("truth", quoted(input[row]), quoted(output[row])),
    calculation: say("calculation", input.map(quoted).join(", ")),
    options: [...options].map(([token, told]) => [token, quoted(token), told]),
    right: [output[row]],
    names: { ...batchNames(run), row: String(row + 1), fed: input[row], following: output[row] },
  };
}
