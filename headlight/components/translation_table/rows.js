// Rows of the table: [name, cells, isFolded], a cell null or { text, css, shade }. Numbers are folded.

import { aligned } from "../lib/diff.js";
import { averageMap } from "../lib/maps.js";
import { shownToken, shownTokens } from "../lib/tokens.js";
import { isGreedyAt, logProbabilities, runnerUp } from "../lib/trace.js";
import { chanceText, grouped, signed } from "../lib/words.js";
import { say } from "./texts.toml";

const ALIKE = 0.5; // of a row's weight on the same source tokens: with less, tokens do not stand under one another
const LEAST_LIMIT = { change: 1, score: 2 }; // nats: the full colour is never for less

// Both translations with log P of their tokens; forced: the unchanged one under the change. A row that reads as one
// above it is left out.
export function changeRows(before, forced, after) {
  const old = logProbabilities(before), columns = columnsOf(before, after);
  const moved = logProbabilities({ ...before, targetProbabilities: forced.targetProbabilities });
  const losses = old.map((each, at) => each - moved[at]), limit = Math.max(LEAST_LIMIT.change, ...losses.map(Math.abs));
  const shaded = (at) => ({ css: losses[at] > 0 ? "lost" : "gained", shade: Math.abs(losses[at]) / limit });
  const isNew = ([left, right]) => left === null || before.targetIds[left] !== after.targetIds[right];
  const rows = [
    [say("unchanged"), tokenCells(before, columns, 0, () => false, shaded)],
    [say("log"), scoredCells(before, columns, 0, (at) => numberCell(old[at])), true],
    [say("log_changed"), scoredCells(before, columns, 0, (at) => ({ ...numberCell(moved[at]), ...shaded(at) })), true],
    [say("changed"), tokenCells(after, columns, 1, isNew)],
    [say("log_new"), scoredCells(after, columns, 1, (at) => numberCell(logProbabilities(after)[at])), true],
  ];
  const read = rows.map(([, cells]) => JSON.stringify(cells.map((cell) => cell?.text ?? "")));
  return rows.filter((_, at) => read.indexOf(read[at]) === at);
}

// The visitor's translation over the model's own, with log P, the rank, and what greedy decoding would write instead.
export function ownRows(yours, model) {
  const logs = logProbabilities(yours), columns = columnsOf(yours, model);
  const limit = Math.max(LEAST_LIMIT.score, ...logs.map((each) => -each));
  const shaded = (at) => ({ css: "lost", shade: -logs[at] / limit });
  const preferred = (at) => {
    if (isGreedyAt(yours, at)) return { text: "" };
    const { token, probability } = runnerUp(yours, at);
    return { text: `${shownToken(token)}\n${chanceText(probability)}` };
  };
  return [
    [say("yours"), tokenCells(yours, columns, 0, ([at]) => !isGreedyAt(yours, at), shaded)],
    [say("log"), scoredCells(yours, columns, 0, (at) => ({ ...numberCell(logs[at]), ...shaded(at) })), true],
    [say("rank"), scoredCells(yours, columns, 0, (at) => ({ text: grouped(yours.targetRanks[at]) })), true],
    [say("preferred"), scoredCells(yours, columns, 0, preferred)],
    [say("model"), tokenCells(model, columns, 1)],
    [say("log"), scoredCells(model, columns, 1, (at) => numberCell(logProbabilities(model)[at])), true],
  ];
}

const numberCell = (value) => ({ text: signed(value, 2) });

// The tokens of one side of all columns, those with a frame for which isFramed(column), coloured by shadeOf(position).
function tokenCells({ targetTokens, numForced = 0 }, columns, side, isFramed = () => false, shadeOf = () => ({})) {
  const texts = shownTokens(targetTokens);
  return columns.map((column) => {
    const at = column[side];
    if (at === null) return null;
    const { css = "", shade } = at < numForced ? {} : shadeOf(at);
    return { text: texts[at], css: `token${isFramed(column) ? " turned" : ""} ${css}`.trim(), shade };
  });
}

// The cells of one side; a forced token has no log P.
function scoredCells({ numForced = 0 }, columns, side, cell) {
  return columns.map(({ [side]: at }) => (at === null || at < numForced ? null : cell(at)));
}

// Positions of two translations side by side: equal tokens in one column, of the others those that read the source
// alike, all cross-attention heads together.
function columnsOf(one, other) {
  const [lefts, rights] = [one, other].map(readsOf);
  const gain = (left, right) => {
    const common = lefts[left].reduce((sum, weight, key) => sum + Math.min(weight, rights[right][key]), 0);
    return common + (one.targetIds[left] === other.targetIds[right] ? 1 : -ALIKE);
  };
  return aligned(lefts.length, rights.length, gain);
}

// The weights of each step over the source; Python sends their average over all heads as `reads`.
function readsOf({ cross, reads, sourceTokens: { length } }) {
  const weights = reads?.weights ?? averageMap(cross, { layer: null, head: null }), steps = weights.length / length;
  return Array.from({ length: steps }, (_, step) => weights.subarray(step * length, (step + 1) * length));
}
