// The measures of headlight/lessons/measures/order.py that are about the sentence, by the engine of this page.

import { apart, exchanged, norm, plainest } from "../../payloads/positions.js";
import { fixed, quoted } from "../../payloads/text.js";
import { Undecided } from "../run.js";
import { meanOf, most } from "./wording.js";

const sorted = (ids) => [...ids].sort((one, other) => one - other).join();

export async function translated_without_positions(run) {
  const say = run.say("order.translated_without_positions"), { text, config } = run, other = exchanged(text);
  if (config.positions === "none") throw new Undecided(say("undecided"));
  const traces = [run.trace, await run.traceOf({}, other)];
  const [own, moved] = traces.map(({ sourceIds }) => sorted(sourceIds));
  if (text === other || own !== moved) throw new Undecided(say("undecided 2"));
  const kept = traces.map(({ targetText }) => targetText), without = [];
  for (const each of [text, other]) without.push((await run.entering(each)).withoutPositions);
  const isKept = without.every((each, at) => each === kept[at]);
  const both = run.say("order._both");
  const told = ([one, two]) => (one === two ? both("said", one) : both("said 2", one, two));
  return {
    kind: "one",
    truth: say("told", told(without), told(kept)),
    calculation: say("calculation", traces[0].sourceIds.length),
    options: [["kept", say("options"), ""], ["same", say("options 2"), ""], ["others", say("options 3"), ""]],
    right: [without[0] === without[1] ? "same" : isKept ? "kept" : "others"],
    names: { first: text, second: other, as_first: kept[0], as_second: kept[1] },
  };
}

// What the app's sliders are set to, to show the model's own table.
function settingsOf(run) {
  const { d_model: d, max_length: length, position_base: base } = run.config, { SETTINGS } = run.limits("order");
  return { d_model: String(d), length: String(Math.min(length, SETTINGS)), base: fixed(base, 0) };
}

// The vectors of a sentence's tokens, as rows: embeddings, positions and their sum.
async function vectorsOf(run) {
  const found = await run.entering(run.text), { tokens } = found, d = run.config.d_model;
  const rows = (values) => tokens.map((_, at) => values.subarray(at * d, (at + 1) * d));
  return { tokens, embeddings: rows(found.embeddings), positions: rows(found.positions), total: rows(found.total) };
}

export async function position_length(run) {
  const say = run.say("order.position_length"), formula = run.say("order._formula"), { d_model: d } = run.config;
  const { SETTINGS, BASES } = run.limits("order"), { embeddings, positions } = await vectorsOf(run);
  if (run.config.positions !== "sinusoidal") throw new Undecided(formula("undecided"));
  if (d > SETTINGS || !BASES.includes(settingsOf(run).base)) throw new Undecided(formula("undecided 2"));
  const lengths = embeddings.map(norm), added = positions.map(norm), length = meanOf(added), pairs = d / 2;
  const longer = lengths.filter((each, at) => each > added[at]).length, digits = fixed(length, 1);
  const [least, greatest] = [-most(lengths.map((each) => -each)), most(lengths)].map((each) => fixed(each, 1));
  return {
    kind: "number",
    truth: say("truth", pairs, digits, least, greatest, longer, added.length),
    calculation: say("calculation", pairs, pairs, digits),
    value: length, tolerance: 0.5,
    names: { pairs: String(pairs), ...settingsOf(run) },
  };
}

export async function copies_apart(run) {
  const say = run.say("order.copies_apart"), { APART } = run.limits("order"), vectors = await vectorsOf(run);
  const { tokens, embeddings, positions, total } = vectors;
  const twice = tokens.flatMap((token, first) => {
    const second = tokens.indexOf(token, first + 1);
    return tokens.indexOf(token) === first && second > 0 ? [{ token, first, second }] : [];
  });
  const [copy] = plainest(twice);
  if (!copy) throw new Undecided(say("undecided"));
  const { token, first, second } = copy, embedding = norm(embeddings[first]), name = quoted(token);
  const [before, between, after] = [embeddings, positions, total].map((rows) => apart(rows[first], rows[second]));
  const lengths = { not: 0, embedding, ...(run.config.positions === "none" ? {} : { positions: between }) };
  const off = (each) => Math.abs(lengths[each] - after);
  const found = Object.keys(lengths).reduce((best, each) => (off(each) < off(best) ? each : best));
  const isNear = (each) => each !== found && off(each) < APART * embedding;
  if (Object.keys(lengths).some(isNear)) throw new Undecided(say("undecided 2", name));
  const digits = (value) => fixed(value, 2);
  const options = {
    not: [say("options"), say("options 2", digits(after))],
    positions: [say("options 3"), say("options 4", first, second, digits(between))],
    embedding: [say("options 5"), say("options 6", digits(embedding))],
  };
  const near = { not: say("near"), positions: say("near 2"), embedding: say("near 3") };
  return {
    kind: "one",
    truth: say("truth", name, digits(before), digits(after), near[found]),
    calculation: say("calculation", digits(between)),
    options: Object.keys(lengths).map((each) => [each, ...options[each]]),
    right: [found],
    names: { word: token, first: String(first), second: String(second), ...settingsOf(run) },
  };
}
