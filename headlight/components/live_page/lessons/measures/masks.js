// The measures of headlight/lessons/measures/masks.py that run the model without its causal mask, by the engine of this
// page.

import { leakiestHead, leaks, rowsThatMayLeak } from "../../payloads/masks.js";
import { chanceWords, fixed, pluralize, quotedAt } from "../../payloads/text.js";
import { Undecided } from "../run.js";
import { headNames, largestFirst, meanOf, readable } from "./wording.js";

export const exactly = (run, value) => (value ? fixed(value, 2) : run.say("masks._exact")("said"));
export const batchNames = (run, head = run.firstHead("decoder")) => ({ ...headNames(head), second: run.text });

const passesOf = async (run) => [await run.masked("nothing"), await run.masked("causal")];

// The next tokens' probabilities with the causal mask and without it, and their steps, forced ones aside.
async function probabilitiesOf(run) {
  const steps = run.scoredSteps, passes = await passesOf(run);
  if (steps.length < 3) throw new Undecided(run.say("masks._probabilities")("undecided"));
  const [before, after] = passes.map(({ targetProbabilities }) => steps.map((step) => targetProbabilities[step]));
  return { before, after, steps, losses: before.map((chance, at) => chance - after[at]) };
}

export async function leak_effect(run) {
  const say = run.say("masks.leak_effect"), { NEAR_CHANCES } = run.limits("masks");
  const { before, after } = await probabilitiesOf(run);
  const [mean, without] = [before, after].map(meanOf), right = without < mean ? "fall" : "rise";
  if (Math.abs(mean - without) < NEAR_CHANCES) throw new Undecided(say("undecided"));
  const digits = [mean, without].map((value) => exactly(run, value));
  const options = [["rise", say("option"), say("told")], ["fall", say("option 2"), say("told 2")]];
  const unchanged = ["same", say("option 3"), say("told 3")];
  return {
    kind: "one",
    truth: say("truth", ...digits),
    calculation: say("calculation", pluralize(before.length, "step"), ...digits),
    options: [...options.map(([name, label, told]) => [name, label, name === right ? "" : told]), unchanged],
    right: [right],
    names: batchNames(run),
  };
}

export async function leak_spared(run) {
  const say = run.say("masks.leak_spared"), { MOST_OPTIONS, NEAR, NEAR_CHANCES } = run.limits("masks");
  const { before, after, steps, losses } = await probabilitiesOf(run), last = steps.length - 1;
  const losing = largestFirst(losses.slice(0, last)).slice(0, MOST_OPTIONS - 1).filter((at) => losses[at] > NEAR);
  if (losing.length < 2 || Math.abs(losses[last]) > NEAR_CHANCES) throw new Undecided(say("undecided"));
  const tokens = readable(run.trace.targetTokens), label = (at) => quotedAt(tokens, steps[at], "step");
  const change = (at) => run.say("masks._changes")("said", chanceWords(before[at]), chanceWords(after[at]));
  const all = [...losing, last].sort((one, other) => one - other).map((at) => `${label(at)} ${change(at)}`).join("; ");
  return {
    kind: "one",
    truth: say("truth", label(last), change(last)),
    calculation: run.say("masks._all_changes")("said", all),
    options: [...losing, last].map((at) => {
      return [String(steps[at] + 1), label(at), at === last ? "" : say("option", change(at))];
    }),
    right: [String(steps[last] + 1)],
    names: { ...batchNames(run), token: tokens[steps[last]] },
  };
}

export async function leaked_weight(run) {
  const say = run.say("masks.leaked_weight"), { NEAR } = run.limits("masks"), [masked, disabled] = await passesOf(run);
  const place = leakiestHead(masked, disabled, run.batch, "decoder", 0);
  if (!place || run.trace.targetTokens.length < 3) throw new Undecided(say("undecided"));
  const rows = rowsThatMayLeak(masked, disabled, run.batch, "decoder", 0);
  const leaked = leaks(masked, disabled, "decoder", rows)[place.layer * run.config.num_heads + place.head];
  const mean = meanOf(leaked), digits = exactly(run, mean);
  if (mean < NEAR) throw new Undecided(say("undecided 2"));
  return {
    kind: "number",
    truth: say("truth", digits),
    calculation: say("calculation", leaked.map((value) => exactly(run, value)).join(", "), digits),
    value: mean, tolerance: NEAR, bounds: [0, 1],
    names: batchNames(run, place),
  };
}
