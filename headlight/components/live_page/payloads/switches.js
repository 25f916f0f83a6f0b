// What the head switches show, and what became of a translation without some heads, as
// headlight/views/what_if/ablation.py and change_content.py say it.

import { candidatesAt, isNeverChosen } from "../../decoding_player/story.js";
import { isSame } from "../../lib/diff.js";
import { LEAST_SHOWN, distinct, fixed, kindHeadName, quotedAt, rint, signed } from "./text.js";

const KINDS = ["encoder", "decoder", "cross"];
const LITTLE = 0.1; // nats
const NAMED = 3; // heads that a sentence names one by one

const sum = (values) => values.reduce((total, value) => total + value, 0);

// Whether every token is the one that greedy decoding takes.
export function isGreedy(trace) {
  return trace.targetIds.every((_, step) => {
    const { tokens, probabilities } = candidatesAt(trace, step), chance = trace.targetProbabilities[step];
    const above = tokens.filter((token, at) => isNeverChosen(trace, token) && probabilities[at] > chance).length;
    return trace.targetRanks[step] - above === 1;
  });
}

// losses: of all heads in any order {kind, layer, head, losses: of each token in nats, turned}; names: of the kinds.
export function switchesPayload(losses, trace, names) {
  const greedy = isGreedy(trace), totals = losses.map((each) => sum(each.losses));
  const kinds = KINDS.map((kind) => {
    const made = { kind, name: names[kind], losses: [], turned: [], words: [] };
    losses.forEach((each, at) => {
      if (each.kind !== kind) return;
      const put = (name, value) => ((made[name][each.layer] ??= [])[each.head] = value);
      put("losses", rint(totals[at] * 1e4) / 1e4);
      put("turned", each.turned && greedy);
      put("words", headWords(each, trace, names, greedy));
    });
    return made;
  });
  return { kinds, limit: totals.reduce((most, total) => Math.max(most, Math.abs(total)), 0) };
}

function headWords(each, trace, names, greedy) {
  const moved = `${movedWords(each.losses)}${shareWords(each.losses, trace)}`;
  const end = each.turned && greedy ? " Greedy decoding then finds another translation." : "";
  return `Without ${kindHeadName(names, each)} log P of the translation ${moved}.${end}`;
}

function movedWords(losses) {
  const total = sum(losses);
  if (Math.abs(total) < LEAST_SHOWN) return "stays as it is";
  return `${total > 0 ? "falls" : "rises"} by ${fixed(Math.abs(total), 2)} nats`;
}

const does = (loss) => (loss > 0 ? "lose" : "gain");

// Which token moved most the way that the whole did, and how far all others did.
function shareWords(losses, trace) {
  const total = sum(losses);
  const stays = Math.abs(total) < LEAST_SHOWN;
  const toward = Array.from(losses, (loss) => (stays ? Math.abs(loss) : loss * Math.sign(total)));
  const at = toward.indexOf(Math.max(...toward));
  if (toward[at] < LEAST_SHOWN) return "";
  const most = losses[at], rest = total - most, token = quotedAt(trace.targetTokens, at, "output token");
  const text = `: ${token} ${does(most)}s most, ${fixed(Math.abs(most), 2)} nats`;
  if (signed(most, 2) === signed(total, 2)) return text;
  return `${text}, and all others together ${does(rest)} ${distinct([Math.abs(rest), 0])[0]}`;
}

// The head to begin with: of those that turn the translation, and else of all, that of the greatest loss.
export function defaultHead(losses) {
  const ranked = rank(losses);
  return ranked.find(({ turned }) => turned) ?? ranked[0];
}

// All heads with what is lost without each, most first; of equal ones in the order of the kinds.
export const rank = (losses) => {
  const inOrder = KINDS.flatMap((kind) => losses.filter((each) => each.kind === kind));
  return inOrder.map((each) => ({ ...each, total: sum(each.losses) })).sort((one, other) => other.total - one.total);
};

export function describeRanking(losses, trace, names) {
  const ranked = rank(losses), [worst] = ranked, changing = losses.filter(({ turned }) => turned).length;
  const little = ranked.filter(({ total }) => Math.abs(total) < LITTLE).length;
  const headline = isGreedy(trace)
    ? `This translation changes without ${changing} of ${ranked.length} heads, one at a time.`
    : `Without the head that matters most, log P ${movedWords(worst.losses)}.`;
  const lowest = `it ${movedWords(worst.losses)}${shareWords(worst.losses, trace)}`;
  return {
    headline,
    more: `log P is lowest without ${kindHeadName(names, worst)}, where ${lowest}. ` +
      `Without ${little} of the ${ranked.length} it moves by less than ${LITTLE} nats.`,
  };
}

// off: {kind, layer, head}; forced: the unchanged translation teacher-forced without these heads; after: what greedy
// decoding finds without them.
export function describeChange(before, forced, after, off, names) {
  const more = off.length > NAMED ? ` and ${off.length - NAMED} more` : "";
  const named = off.slice(0, NAMED).map((each) => kindHeadName(names, each)).join("; ");
  return describeOutcome(`Without ${named}${more}`, before, forced, after);
}

function describeOutcome(change, before, forced, after) {
  const [old, now, other] = [before, forced, after].map(logProbabilities);
  const losses = old.map((each, at) => each - now[at]), moved = Math.abs(sum(losses)) >= LEAST_SHOWN;
  const same = isSame(before.targetIds, after.targetIds);
  const outcome = same ? "The translation stays the same," : "Another translation; the old one is now";
  const [from, to] = distinct([sum(old), sum(now)]);
  const way = moved ? `goes from ${from} to ${to}` : `stays at ${signed(sum(old), 2)}`;
  const end = same ? "" : ` The new one has log P ${signed(sum(other), 2)} under the same change.`;
  const lead = `${change}, log P of the old translation ${movedWords(losses)}`;
  return {
    headline: `${outcome} ${likelihoodWords(sum(losses))}.`,
    more: `${lead}: it ${way}${shareWords(losses, before)}.${end}`,
  };
}

function likelihoodWords(lost) {
  const times = Math.exp(Math.abs(lost));
  if (times < 1.05) return "about as likely as before";
  const whole = Number(times.toPrecision(2)).toLocaleString("en", { maximumFractionDigits: 0 });
  const digits = times < 10 ? fixed(times, 1) : times < 10_000 ? whole : "over 10,000";
  return `${digits} times ${lost > 0 ? "less" : "more"} likely`;
}

const TINY = 2 ** -126; // the least float32 of full precision

export function logProbabilities({ targetProbabilities }) {
  return Array.from(targetProbabilities, (each) => Math.log(Math.max(each, TINY)));
}
