// Sentences on a translation and on what becomes of it under a change.

import { likelihoodText, movedText, shareText } from "../lib/losses.js";
import { kindHeadName, kindName, rowText } from "../lib/names.js";
import { sum } from "../lib/trace.js";
import { LEAST_SHOWN, distinct, pluralize, quotedAt, signed } from "../lib/words.js";

export const CHANGE_LABEL = "Both translations token under token, with the log-probability of each token";
export const OWN_LABEL = "Your translation and the model's token under token, with log P and rank of each token";
export const NO_CHANGE = { headline: "Nothing has changed yet: drag a bar." };
export const ALL_ON = {
  lead: "All heads are on. Switch one off: does the translation survive?", text: "",
};

// Before the new translation.
export function leadText(change) {
  if (!change?.off) return "With these weights: ";
  return `Without ${change.off.length === 1 ? kindHeadName(change.off[0]) : pluralize(change.off.length, "head")}: `;
}

export function changeText(change, before) {
  return change.off ? `Without ${change.off.map(kindHeadName).join("; ")}` : `With ${rewritingText(change, before)}`;
}

function rewritingText({ action, heads: { kind, layer, head }, key, rows: { first, last } }, before) {
  const where = `${kindName(kind)}${layer === null ? "" : ` layer ${layer + 1}`}`;
  const whole = `all heads of ${layer === null ? "the " : ""}${where}`;
  const whose = layer === null || head === null ? whole : kindHeadName({ kind, layer, head });
  const keys = kind === "decoder" ? before.decoderInputTokens : before.sourceTokens;
  const token = key === null ? "" : quotedAt(keys, key, "position");
  const [done, every] = {
    forbid: [`${token} hidden from ${whose}`, "in every row that may attend to it"],
    focus: [`all weight of ${whose} on ${token}`, "in every row that may attend to it"],
    shift: [`the weights of ${whose} shifted by one token`, "in every row that has another token"],
    uniform: [`uniform weights in ${whose}`, "in every row"],
    given: [`these weights in ${whose}`, "in every row that may attend to their tokens"],
  }[action];
  const row = rowText(kind, first, (kind === "encoder" ? before.sourceTokens : before.targetTokens)[first]);
  if (first === 0 && last === null) return `${done} ${every}`;
  return `${done} ${last === null ? `from ${row} on` : `in ${row} alone`}`;
}

// log P of each token in nats: old, moved (of the old ones under the change), fresh (of the new translation);
// tokens: the old ones; same: whether the translation stays the same.
export function outcomeFinding(change, { old, moved, fresh, tokens, same }) {
  const losses = old.map((each, at) => each - moved[at]), [from, to] = distinct([sum(old), sum(moved)]);
  const outcome = same ? "The translation stays the same," : "Another translation! The old one is now";
  const goes = Math.abs(sum(losses)) < LEAST_SHOWN ? `stays at ${signed(sum(old), 2)}` : `goes from ${from} to ${to}`;
  const end = same ? "" : ` The new one has log P ${signed(sum(fresh), 2)} under the same change.`;
  const lead = `${change}, log P of the old translation ${movedText(losses)}`;
  return {
    headline: `${outcome} ${likelihoodText(losses)}.`,
    more: `${lead}: it ${goes}${shareText(losses, tokens)}.${end}`,
  };
}

const rankingText = (changing, heads) => {
  if (!changing) return `None of the ${heads} heads is needed alone: switch any one off, and the translation stays.`;
  return `Off alone, ${changing} of ${heads} heads can change this translation.`;
};

// heads, changing, little: numbers of heads: all, those that alone change the translation, those that move log P by
// less than `most` nats; greedy: whether greedy decoding finds the translation; worst: the head of the greatest loss.
export function rankingFinding({ heads, changing, little, most, greedy, worst, tokens }) {
  const moved = movedText(worst.losses);
  return {
    headline: greedy ? rankingText(changing, heads)
      : `Without the head that matters most, the translation is ${likelihoodText(worst.losses)}.`,
    more: `That head is ${kindHeadName(worst)}: log P ${moved}${shareText(worst.losses, tokens)}. ` +
      `Without ${little} of the ${heads} it moves by less than ${most} nats.`,
  };
}
