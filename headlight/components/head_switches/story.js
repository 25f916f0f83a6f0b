// Drawing of what a translation loses without each head.
//
// importance: of each head { kind, layer, head, losses, turned }: the loss of each token in nats, and whether some
// token is no longer the most probable one; before: the trace of the translation.

import { likelihoodText, shareText } from "../lib/losses.js";
import { kindHeadName } from "../lib/names.js";
import { isGreedy, sum } from "../lib/trace.js";
import { say } from "./texts.toml";

const KINDS = ["encoder", "decoder", "cross"];

// { kinds: [{ kind, losses, turned, words }], limit }: grids [layer][head], and the largest loss or gain. Only a
// translation that greedy decoding finds can turn into another one.
export function switchesOf(importance, before) {
  const greedy = isGreedy(before);
  const kinds = KINDS.map((kind) => {
    const grids = { kind, losses: [], turned: [], words: [] };
    for (const each of importance.filter((one) => one.kind === kind)) {
      const { layer, head, losses } = each, turned = each.turned && greedy;
      const set = (name, value) => ((grids[name][layer] ??= [])[head] = value);
      set("losses", sum(losses));
      set("turned", turned);
      const moved = likelihoodText(losses) + shareText(losses, before.targetTokens);
      set("words", say(turned ? "head_turned" : "head", { head: kindHeadName(each), moved }));
    }
    return grids;
  });
  return { kinds, limit: Math.max(...kinds.flatMap(({ losses }) => losses.flat()).map(Math.abs)) };
}

// All heads with their loss, the largest first; of equal ones in the order of the kinds.
export function ranked(importance) {
  const inOrder = KINDS.flatMap((kind) => importance.filter((each) => each.kind === kind));
  return inOrder.map((each) => ({ ...each, total: sum(each.losses) })).sort((one, other) => other.total - one.total);
}

// The head that is off at first, one of cross-attention: of those that turn the translation, and else of all, that of
// the greatest loss.
export function defaultHead(importance) {
  const heads = ranked(importance.filter(({ kind }) => kind === "cross"));
  return heads.find(({ turned }) => turned) ?? heads[0];
}
