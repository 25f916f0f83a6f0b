// Drawing of two translations of a sentence: { line, label, rows, finding }, each part null where there is none.
//
// facts is one of
//   { before, forced, after, change }   a translation, its tokens replayed under a change (of these only
//                                       targetProbabilities), and the translation under the change; null, all three the
//                                       same: nothing is changed yet. change: { off: [{ kind, layer, head }] }, or
//                                       { action, heads: { kind, layer, head }, key, rows: { first, last } }, where a
//                                       null stands for all
//   { before, importance }              all heads are on; importance as in head_switches/story.js
//   { yours, model }                    a given translation, and the model's own

import { ranked } from "../head_switches/story.js";
import { isSame } from "../lib/diff.js";
import { NOTHING } from "../lib/names.js";
import { isGreedy, logProbabilities } from "../lib/trace.js";
import { changeRows, ownRows } from "./rows.js";
import { say } from "./texts.toml";
import { changeText, leadText, outcomeFinding, rankingFinding } from "./words.js";

const LITTLE = 0.1; // nats

export function storyOf(facts) {
  if (facts.importance) return rankingOf(facts);
  const { yours, model } = facts;
  return yours ? { line: null, label: say("own_label"), rows: ownRows(yours, model), finding: null } : changeOf(facts);
}

function changeOf({ before, forced, after, change }) {
  const moved = logProbabilities({ ...before, targetProbabilities: forced.targetProbabilities });
  const facts = { old: logProbabilities(before), moved, fresh: logProbabilities(after), tokens: before.targetTokens };
  const same = isSame(before.targetIds, after.targetIds);
  return {
    line: { lead: leadText(change), text: after.targetText.trim() || NOTHING },
    label: say("change_label"), rows: changeRows(before, forced, after),
    finding: change ? outcomeFinding(changeText(change, before), { ...facts, same }) : { headline: say("no_change") },
  };
}

function rankingOf({ before, importance }) {
  const heads = ranked(importance), [worst] = heads;
  const finding = rankingFinding({
    heads: heads.length, changing: heads.filter(({ turned }) => turned).length, greedy: isGreedy(before), worst,
    little: heads.filter(({ total }) => Math.abs(total) < LITTLE).length, most: LITTLE, tokens: before.targetTokens,
  });
  return { line: { lead: say("all_on"), text: "" }, label: "", rows: null, finding };
}
