// Sentences on a translation and on what becomes of it under a change.

import { likelihoodText, movedText, shareText } from "../lib/losses.js";
import { kindHeadName, kindName, rowText } from "../lib/names.js";
import { sum } from "../lib/trace.js";
import { LEAST_SHOWN, distinct, quotedAt } from "../lib/words.js";
import { say } from "./texts.toml";

// Before the new translation.
export function leadText(change) {
  if (!change?.off) return say("lead_weights");
  const [first, ...others] = change.off;
  return others.length || !first ? say("lead_heads", { count: change.off.length })
    : say("lead_head", { head: kindHeadName(first) });
}

export function changeText(change, before) {
  if (change.off) return say("without", { heads: change.off.map(kindHeadName) });
  return say("with", { change: rewritingText(change, before) });
}

function rewritingText({ action, heads: { kind, layer, head }, key, rows: { first, last } }, before) {
  const whole = layer === null ? say("all_heads", { kind: kindName(kind) })
    : say("all_heads_of_layer", { kind: say("layer_of", { kind: kindName(kind), layer: layer + 1 }) });
  const keys = kind === "decoder" ? before.decoderInputTokens : before.sourceTokens;
  const row = rowText(kind, first, (kind === "encoder" ? before.sourceTokens : before.targetTokens)[first]);
  const part = last === null ? say("from_row", { row }) : say("in_row", { row });
  return say(`done_${action}`, {
    heads: layer === null || head === null ? whole : kindHeadName({ kind, layer, head }),
    token: key === null ? "" : quotedAt(keys, key, "position"),
    where: first === 0 && last === null ? say(`every_${action}`) : part,
  });
}

// log P of each token in nats: old, moved (of the old ones under the change), fresh (of the new translation);
// tokens: the old ones; same: whether the translation stays the same.
export function outcomeFinding(change, { old, moved: changed, fresh, tokens, same }) {
  const losses = old.map((each, at) => each - changed[at]), [from, to] = distinct([sum(old), sum(changed)]);
  const moved = movedText(losses), share = shareText(losses, tokens);
  const more = Math.abs(sum(losses)) < LEAST_SHOWN ? say("stays", { change, moved, sum: sum(old), share })
    : say("goes", { change, moved, from, to, share });
  return {
    headline: say(same ? "same" : "other", { moved: likelihoodText(losses) }),
    more: more + (same ? "" : say("fresh", { sum: sum(fresh) })),
  };
}

// heads, changing, little: numbers of heads: all, those that alone change the translation, those that move log P by
// less than `most` nats; greedy: whether greedy decoding finds the translation; worst: the head of the greatest loss.
export function rankingFinding({ heads, changing, little, most, greedy, worst, tokens }) {
  const { losses } = worst, share = shareText(losses, tokens);
  return {
    headline: greedy ? say(changing ? "needed" : "none_needed", { changing, heads })
      : say("worst", { moved: likelihoodText(losses) }),
    more: say("ranking", { head: kindHeadName(worst), moved: movedText(losses), share, little, heads, most }),
  };
}
