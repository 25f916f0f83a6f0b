// The measures of headlight/lessons/measures/heads.py, by the engine of this page.

import { KINDS } from "../../../engine/engine.js";
import { isSame, wordsOf } from "../../payloads/lines.js";
import { opcodes } from "../../payloads/opcodes.js";
import { shareOf } from "../../payloads/patterns.js";
import { isGreedy, rank } from "../../payloads/switches.js";
import { kindHeadName, pluralize, quoted, rint, sentenceCase } from "../../payloads/text.js";
import { Undecided } from "../run.js";
import { clearBest, inRows, keyOf, nameOf, rankedBy, share } from "./alignment.js";
import { headNames, moved, once } from "./wording.js";

const addressOf = ({ kind, layer, head }) => `${kind}.${layer + 1}.${head + 1}`;
const engineName = ({ kind, layer, head }) => `${kind}.${layer}.${head}`;
const nameOfKind = (run, head) => kindHeadName(run.source.words.texts.kinds, head);

export function head_of_dimension(run) {
  const say = run.say("heads.head_of_dimension"), { MOST_OPTIONS } = run.limits("heads");
  const { num_heads: count, d_model } = run.config, size = d_model / count;
  if (count < 2) throw new Undecided(say("undecided"));
  const right = Math.floor(count / 2), dimension = right * size + Math.floor(size / 2);
  const first = right * size + 1, last = (right + 1) * size;
  const near = [right + 1 < count ? right + 1 : right - 1, right - 1];
  const offered = once([right, dimension % count, ...near, count - 1, 0]).slice(0, MOST_OPTIONS);
  const told = (head) => say("told", head * size + 1, (head + 1) * size);
  return {
    kind: "one",
    truth: say("truth", right + 1, first, last),
    calculation: say("calculation", size, dimension, right),
    options: offered.map((head) => [String(head), say("option", head + 1), told(head)]),
    right: [String(right)],
    names: {
      dimension: String(dimension + 1), width: String(count * size), heads: String(count), d_k: String(size),
      layer: "1", head: String(right + 1),
    },
  };
}

// The head that reads a neighbour in most rows, then others to choose from.
function neighbourHeads(run, pattern) {
  const say = run.say("heads._neighbour_heads"), { MOST_OPTIONS } = run.limits("heads");
  const measured = run.heads("encoder");
  if (measured.length < 2 || !Number.isFinite(shareOf(measured[0].counts[pattern], run.law))) {
    throw new Undecided(say("undecided 2"));
  }
  const best = clearBest(run, measured, pattern), ranked = rankedBy(run, measured, pattern);
  if (share(run, best, pattern) <= 0.5) throw new Undecided(say("undecided 3", pattern));
  const [other] = rankedBy(run, measured, pattern === "next" ? "previous" : "next");
  return once([best, ranked[1], other, ranked.at(-1), ...ranked]).slice(0, MOST_OPTIONS);
}

export function neighbour_head(run, { pattern }) {
  const say = run.say("heads.neighbour_head"), heads = neighbourHeads(run, pattern), [best] = heads;
  const rows = (head) => inRows(run, head, pattern);
  const all = heads.map((head) => `${nameOf(head)}: ${head.counts[pattern][0]}`);
  return {
    kind: "one",
    truth: say("truth", sentenceCase(nameOf(best)), pattern, rows(best)),
    calculation: say("calculation", pattern, all.join(", "), best.counts[pattern][1]),
    options: heads.map((head) => [keyOf(head), nameOf(head), say("option", pattern, rows(head))]),
    right: [keyOf(best)],
    names: { ...headNames(best), rows: rows(best) },
  };
}

const rankedLosses = async (run) => rank(await run.losses());

// The words and marks that differ: those of the longer side wherever two translations part.
function changedWords(old, now) {
  const parts = opcodes(old, now).filter(([tag]) => tag !== "equal");
  return parts.reduce((count, [, from, to, start, stop]) => count + Math.max(to - from, stop - start), 0);
}

export async function without_neighbour_head(run, { pattern }) {
  const say = run.say("heads.without_neighbour_head"), { FEW } = run.limits("heads");
  const found = neighbour_head(run, { pattern });
  const head = { kind: "encoder", layer: found.names.layer - 1, head: found.names.head - 1 };
  const { total } = (await rankedLosses(run)).find((each) => engineName(each) === engineName(head));
  const after = await run.traceOf({ off: [engineName(head)] });
  const count = changedWords(wordsOf(run.trace.targetTokens), wordsOf(after.targetTokens));
  const outcome = count > 1 ? say("outcome 2", count) : say(count ? "outcome 3" : "outcome");
  return {
    kind: "one",
    truth: say("truth", nameOfKind(run, head), outcome, moved(run, total)),
    calculation: say("calculation", quoted(run.trace.targetText), quoted(after.targetText)),
    options: [["same", say("option"), ""], ["few", say("option 2"), ""], ["many", say("option 3"), ""]],
    right: [count ? (count <= FEW ? "few" : "many") : "same"],
    names: { ...found.names, off: addressOf(head) },
  };
}

function requireGreedy(run) {
  if (!isGreedy(run.trace)) throw new Undecided(run.say("wording.require_greedy")("undecided"));
}

export async function heads_that_change(run) {
  const say = run.say("heads.heads_that_change"), { TOLERATED } = run.limits("heads");
  requireGreedy(run);
  const losses = await run.losses(), turned = losses.filter((each) => each.turned), count = losses.length;
  if (!turned.length) throw new Undecided(say("undecided"));
  const kinds = KINDS.map((kind) => `${kind} ${turned.filter((each) => each.kind === kind).length}`);
  return {
    kind: "number",
    truth: say("truth", turned.length, count),
    calculation: say("calculation", kinds.join(", ")),
    value: turned.length, tolerance: Math.max(1, rint(TOLERATED * count)), bounds: [0, count],
    names: { heads: String(count) },
  };
}

export async function most_missed(run) {
  const say = run.say("heads.most_missed"), { NEAR_NATS } = run.limits("heads"), ranked = await rankedLosses(run);
  const first = engineName({ kind: "cross", ...run.firstHead("cross") });
  const aligner = ranked.find((each) => engineName(each) === first);
  const ofKinds = KINDS.map((kind) => ranked.find((each) => each.kind === kind));
  const heads = once([...ofKinds, aligner]).sort((one, other) => other.total - one.total), [best, next] = heads;
  if (!next || best.total - next.total < NEAR_NATS) throw new Undecided(say("undecided"));
  const name = (head) => nameOfKind(run, head), loss = ({ total }) => moved(run, total);
  return {
    kind: "one",
    truth: say("truth", name(best), loss(best)),
    calculation: say("calculation", heads.map((head) => `${name(head)}: ${loss(head)}`).join(", ")),
    options: heads.map((head) => [addressOf(head), name(head), say("told", loss(head))]),
    right: [addressOf(best)],
    names: { off: addressOf(best), head_name: name(best), aligner: name(aligner) },
  };
}

// The first heads by their loss that together change the translation.
async function enoughOf(run, ranked) {
  const { MOST_OFF } = run.limits("heads");
  for (let count = 1; count <= Math.min(MOST_OFF, ranked.length); count++) {
    const heads = ranked.slice(0, count), after = await run.traceOf({ off: heads.map(engineName) });
    if (!isSame(after.targetIds, run.trace.targetIds)) return heads;
  }
  throw new Undecided(run.say("heads._enough")("undecided", MOST_OFF));
}

export async function break_with_few(run) {
  const say = run.say("heads.break_with_few"), { trace } = run;
  requireGreedy(run);
  const ranked = await rankedLosses(run);
  if (ranked.some(({ turned }) => turned)) throw new Undecided(say("undecided"));
  const enough = await enoughOf(run, ranked), named = (run.address.off ?? "").split("-");
  const off = once(named).flatMap((name) => ranked.filter((head) => addressOf(head) === name));
  const now = off.length ? await run.traceOf({ off: off.map(engineName) }) : trace;
  const done = !isSame(now.targetIds, trace.targetIds);
  const without = say("without", pluralize(off.length, "head"));
  let truth = off.length ? say("told", without) : say("told 2");
  if (done) truth = say("told 3", without, quoted(now.targetText), enough.length);
  return {
    kind: "do", truth, done,
    calculation: say("calculation", enough.length),
    names: { least: String(enough.length), off: enough.map(addressOf).join("-") },
  };
}
