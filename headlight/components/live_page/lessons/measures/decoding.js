// The measures of headlight/lessons/measures/decoding.py, by the engine of this page.

import { lengthPenalty } from "../../../engine/decoding.js";
import { candidatesAt, isNeverChosen } from "../../../decoding_player/story.js";
import { chanceWords, fixed, general, pluralize, quoted, quotedAt, rint, signed } from "../../payloads/text.js";
import { Undecided } from "../run.js";
import { indexOfMost, once, words } from "./wording.js";

// So many of some steps: the first, the last, and what lies between at equal distances.
function spread(steps, count) {
  const taken = Math.min(count, steps.length), last = steps.length - 1;
  return Array.from({ length: taken }, (_, at) => steps[taken > 1 ? rint((at * last) / (taken - 1)) : 0]);
}

export function hardest_token(run) {
  const { trace } = run, say = run.say("decoding.hardest_token");
  const { NEAR_NATS, MOST_OPTIONS } = run.limits("decoding"), { entropies, targetTokens } = trace;
  const ranked = [...run.scoredSteps].sort((one, other) => entropies[other] - entropies[one]), [hardest] = ranked;
  const others = ranked.filter((step) => entropies[hardest] - entropies[step] >= NEAR_NATS);
  if (!others.length) throw new Undecided(say("undecided"));
  const offered = [hardest, ...spread(others, MOST_OPTIONS - 1)], { probabilities } = candidatesAt(trace, hardest);
  const name = (step) => quotedAt(targetTokens, step, "step"), nats = (step) => fixed(entropies[step] + 0, 2);
  const sum = probabilities.reduce((total, each) => Math.fround(total + each), 0);
  const [best, all] = [probabilities[0], sum].map(chanceWords);
  return {
    kind: "one",
    truth: say("truth", hardest + 1, name(hardest), nats(hardest), best, probabilities.length, all),
    calculation: say("calculation", offered.map((step) => `${name(step)} ${nats(step)}`).join(", ")),
    options: offered.map((step) => [String(step + 1), name(step), say("told", nats(step))]),
    right: [String(hardest + 1)],
    names: { step: String(hardest + 1), word: targetTokens[hardest] },
  };
}

export function perplexity(run) {
  const { entropies, targetTokens } = run.trace, say = run.say("decoding.perplexity");
  const { NEAR, NEAR_NATS } = run.limits("decoding");
  const step = run.scoredSteps[indexOfMost(run.scoredSteps.map((at) => entropies[at]))];
  const entropy = entropies[step], value = Math.exp(entropy), digits = fixed(value, 1), nats = fixed(entropy, 2);
  if (entropy < NEAR_NATS) throw new Undecided(say("undecided"));
  return {
    kind: "number",
    truth: say("truth", step + 1, digits, digits),
    calculation: say("calculation", nats, digits),
    value, relative: NEAR,
    names: { step: String(step + 1), word: targetTokens[step], entropy: say("said", nats) },
  };
}

// The places of a step's candidates that might have been taken instead, most probable first.
function othersAt(trace, step) {
  const { ids, tokens } = candidatesAt(trace, step);
  return [...tokens.keys()].filter((row) => ids[row] !== trace.targetIds[step] && !isNeverChosen(trace, tokens[row]));
}

// The step whose second candidate is most probable, and plainly before the third.
function openChoice(run) {
  const { trace } = run, { NEAR_CHANCES } = run.limits("decoding"), steps = run.scoredSteps;
  const hardest = steps[indexOfMost(steps.map((step) => trace.entropies[step]))], found = [];
  for (const step of steps) {
    const rows = othersAt(trace, step), { probabilities } = candidatesAt(trace, step);
    if (rows.length < 2) continue;
    const [second, third] = rows.map((row) => probabilities[row]);
    if (second - third >= NEAR_CHANCES) found.push({ second, step, row: rows[0] });
  }
  if (!found.length) throw new Undecided(run.say("decoding._open_choice")("undecided"));
  found.sort((one, other) => {
    return (other.step !== hardest) - (one.step !== hardest) || other.second - one.second || other.step - one.step;
  });
  const [{ step, row }] = found, { ids, tokens } = candidatesAt(trace, step);
  return {
    step, row,
    names: {
      step: String(step + 1), word: trace.targetTokens[step], chance: chanceWords(trace.targetProbabilities[step]),
      second: tokens[row], prefix: [...trace.targetIds.slice(0, step), ids[row]].join("."),
    },
  };
}

export function second_candidate(run) {
  const { trace } = run, say = run.say("decoding.second_candidate"), { MOST_OPTIONS } = run.limits("decoding");
  const { step, names } = openChoice(run), rows = othersAt(trace, step).slice(0, MOST_OPTIONS);
  const { ids, tokens, probabilities } = candidatesAt(trace, step);
  const found = rows.map((row) => [String(ids[row]), quoted(tokens[row]), chanceWords(probabilities[row])]);
  const [[right, token, chance]] = found;
  return {
    kind: "one",
    truth: say("truth", token, chance, quoted(trace.targetTokens[step]), names.chance),
    calculation: say("calculation", found.map(([, each, its]) => `${each} ${its}`).join(", ")),
    options: found.map(([id, each, its]) => [id, each, say("option", its)]),
    right: [right],
    names,
  };
}

const hasRoomAfter = ({ finished, targetIds }, step) => finished || step + 1 < targetIds.length;

// What one list has that the other has not, each as often as it has it more often.
function without(tokens, others) {
  const left = [...others];
  return tokens.filter((token) => {
    const at = left.indexOf(token);
    if (at >= 0) left.splice(at, 1);
    return at < 0;
  });
}

export async function after_forcing(run) {
  const { trace } = run, say = run.say("decoding.after_forcing"), { step, names } = openChoice(run);
  if (!hasRoomAfter(trace, step)) throw new Undecided(say("undecided"));
  const forced = await run.traceOf({ prefix: names.prefix.split(".").map(Number) });
  const [before, now] = [trace, forced].map(({ targetTokens }) => targetTokens.slice(step + 1));
  if (!before.length) throw new Undecided(say("undecided 2"));
  const gone = without(before, now).length, fresh = without(now, before).length;
  const isSame = before.length === now.length && before.every((token, at) => token === now[at]);
  const come = before.length - gone, were = fresh === 1 ? "was" : "were";
  const told = `${say("told", pluralize(before.length, "token"), come, fresh || "none", were)}${say("told 2")}`;
  return {
    kind: "one",
    truth: say("truth", quoted(names.second), forced.targetText, trace.targetText),
    calculation: told,
    options: ["stay", "moved", "new"].map((name, at) => [name, say(at ? `labels ${at + 1}` : "labels"), told]),
    right: [isSame ? "stay" : fresh ? "new" : "moved"],
    names,
  };
}

export async function tempered(run) {
  const say = run.say("decoding.tempered"), { step, names } = openChoice(run), { trace } = run;
  const { SHARP, FLAT, NEAR_CHANCES } = run.limits("decoding"), temperatures = [SHARP, 1, FLAT];
  const found = await run.tempered(step, temperatures), [sharp, plain, flat] = found.map(([best]) => best);
  if (sharp - plain < NEAR_CHANCES || plain - flat < NEAR_CHANCES) throw new Undecided(say("undecided"));
  const { tokens } = candidatesAt(trace, step), word = quoted(tokens.find((token) => !isNeverChosen(trace, token)));
  const [low, one, high] = [sharp, plain, flat].map(chanceWords), ratio = found[1][0] / found[1][1];
  return {
    kind: "one",
    truth: say("truth", SHARP, word, low, one, FLAT, high),
    calculation: say("calculation", SHARP, word, general(ratio, 3), general(ratio ** 2, 3)),
    options: [
      [String(SHARP), low, say("told", SHARP)], ["1", one, say("told 2")], [String(FLAT), high, say("told 3", FLAT)],
    ],
    right: [String(SHARP)],
    names: { ...names, temperature: String(SHARP) },
  };
}

// The translations that a search ended with, best first, each text once.
async function endedOf(run, size, alpha) {
  const found = new Map();
  for (const one of await run.ended(size, alpha)) if (!found.has(one.text)) found.set(one.text, one);
  return found;
}

export async function best_of_beam(run, { size }) {
  const { trace } = run, say = run.say("decoding.best_of_beam"), { NEAR, MOST_OPTIONS } = run.limits("decoding");
  const found = await endedOf(run, size, 0), own = trace.targetText;
  if (!found.has(own)) found.set(own, { ids: trace.targetIds, logProbability: trace.logProbability });
  const logs = new Map([...found].map(([text, { logProbability }]) => [text, logProbability]));
  const [first, ...others] = [...found.keys()].sort((one, other) => logs.get(other) - logs.get(one));
  if (!others.length || logs.get(first) - logs.get(others[0]) < NEAR) throw new Undecided(say("undecided"));
  const offered = once([first, own, ...others]).slice(0, MOST_OPTIONS), ids = (text) => found.get(text).ids.join(".");
  const logP = (text) => say("log_p", signed(logs.get(text), 2)), quoting = (text) => `${quoted(text)} ${logP(text)}`;
  return {
    kind: "one",
    truth: say("truth", first, logP(first), own === first ? say("behind") : say("behind 2", own, logP(own))),
    calculation: say("calculation", offered.map(quoting).join("; ")),
    options: offered.map((text) => [ids(text), quoted(text), say("option", logP(text))]),
    right: [ids(first)],
    names: { size: String(size), greedy: own },
  };
}

export async function winner_with_penalty(run, { size, alpha }) {
  const say = run.say("decoding.winner_with_penalty"), { NEAR_SCORES, MOST_OPTIONS } = run.limits("decoding");
  const free = await endedOf(run, size, 0), penalised = await endedOf(run, size, alpha);
  if (penalised.size < 2) throw new Undecided(say("undecided"));
  const [[winner, best], [, second]] = penalised, [before] = free.keys(), found = new Map([...free, ...penalised]);
  if (best.score - second.score < NEAR_SCORES) throw new Undecided(say("undecided 2"));
  const offered = once([winner, before, ...free.keys()]).slice(0, MOST_OPTIONS - 1);
  const scored = (text) => {
    const { ids, logProbability: log } = found.get(text);
    const penalty = lengthPenalty({ alpha, penalty: "gnmt" }, ids.length);
    return run.say("decoding._score_words")("said", signed(log, 3), fixed(penalty, 3), signed(log / penalty, 3));
  };
  return {
    kind: "one",
    truth: say("truth", winner, winner === before ? say("stays") : say("stays 2", before)),
    calculation: say("calculation", String(alpha), offered.map((text) => `${quoted(text)} ${scored(text)}`).join("; ")),
    options: offered.map((text) => [found.get(text).ids.join("."), quoted(text), say("option", scored(text))]),
    right: [best.ids.join(".")],
    names: { size: String(size), alpha: fixed(alpha, 1), best: before },
  };
}

const countOf = ({ targetText }) => words(targetText).length;

// Ids that make a translation of more words when they are forced, the likeliest last one; null without any.
async function longerThan(run, own) {
  const { MOST_OPTIONS, MOST_FORCED } = run.limits("decoding");
  const others = run.scoredSteps.filter((step) => hasRoomAfter(own, step)).flatMap((step) => {
    const { ids, probabilities } = candidatesAt(own, step);
    return othersAt(own, step).slice(0, MOST_OPTIONS).map((row) => [probabilities[row], step, ids[row]]);
  });
  others.sort((one, other) => other[0] - one[0] || other[1] - one[1] || other[2] - one[2]);
  for (const [, step, id] of others.slice(0, MOST_FORCED)) {
    const prefix = [...own.targetIds.slice(0, step), id];
    if (countOf(await run.traceOf({ prefix })) > countOf(own)) return prefix;
  }
  return null;
}

// The beginning that an address forces, and what follows; without one, or with one that cannot be, the model's own.
async function forcedOf(run) {
  const { prefix: text = "" } = run.address, prefix = /^\d+(\.\d+)*$/.test(text) ? text.split(".").map(Number) : [];
  try {
    return prefix.length ? [prefix, await run.traceOf({ prefix })] : [null, run.trace];
  } catch (error) {
    if (error instanceof RangeError || error.name === "RangeError") return [null, run.trace];
    throw error;
  }
}

export async function longer_translation(run) {
  const { trace } = run, say = run.say("decoding.longer_translation"), [forced, now] = await forcedOf(run);
  const [before, after] = [trace, now].map(countOf), done = after > before;
  const longer = (await longerThan(run, trace)) ?? (done ? forced : null);
  if (!longer) throw new Undecided(say("undecided"));
  const counted = say("counted", pluralize(after, "word"), before);
  const token = (await run.traceOf({ prefix: longer })).targetTokens[longer.length - 1];
  return {
    kind: "do",
    truth: forced ? `${quoted(now.targetText)} ${counted}` : say("told", trace.targetText),
    calculation: say("calculation", pluralize(before, "word"), longer.length, quoted(token)),
    done,
    names: { prefix: longer.join("."), step: String(longer.length) },
  };
}

