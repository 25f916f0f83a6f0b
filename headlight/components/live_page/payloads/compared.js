// Both translations token under token, as `compared_html` of headlight/views/what_if/change_content.py has them.

import { shownTokens } from "../../lib/tokens.js";
import { opcodes } from "./opcodes.js";
import { logProbabilities } from "./switches.js";
import { fixed, signed } from "./text.js";

const ALIKE = 0.5; // of a row's weight on the same source tokens: with less, tokens do not stand under one another

// Rows of a table, [name, cells]; a cell is null or {text, title, css, shade}. forced: the unchanged translation
// teacher-forced under the change.
export function comparedRows(before, forced, after) {
  const [old, moved, now] = [before, forced, after].map(logProbabilities), columns = aligned(before, after);
  const limit = old.reduce((most, each, at) => Math.max(most, Math.abs(each - moved[at])), 1);
  const token = ({ targetTokens }, at, css) => {
    return at === null ? null : { text: shownTokens(targetTokens)[at], title: targetTokens[at], css };
  };
  const number = (values, at) => (at === null ? null : { text: signed(values[at], 2) });
  const changed = (at) => {
    if (at === null) return null;
    const loss = old[at] - moved[at], shade = fixed(Math.min(1, Math.abs(loss) / limit), 3);
    return { ...number(moved, at), css: loss > 0 ? "lost" : "gained", shade };
  };
  const isNew = (left, right) => left === null || right === null || before.targetIds[left] !== after.targetIds[right];
  const rows = [
    ["unchanged", columns.map(([left]) => token(before, left, "token"))],
    ["log P", columns.map(([left]) => number(old, left))],
    ["log P, changed", columns.map(([left]) => changed(left))],
    ["changed", columns.map(([left, right]) => token(after, right, isNew(left, right) ? "token turned" : "token"))],
    ["log P, new", columns.map(([, right]) => number(now, right))],
  ];
  // A row that reads as one above it is left out.
  const read = rows.map(([, cells]) => JSON.stringify(cells.map((cell) => cell?.text ?? "")));
  return rows.filter((_, at) => read.indexOf(read[at]) === at);
}

// Positions of two translations side by side, null where one has no token: equal tokens in one column, of the others
// those that read the source alike, all cross-attention heads together.
function aligned(before, after) {
  const [one, other] = [before, after].map(({ cross }) => meanRows(cross));
  const common = (i, j) => one[i].reduce((sum, weight, key) => sum + Math.min(weight, other[j][key]), 0);
  return opcodes(before.targetIds, after.targetIds).flatMap(([tag, from, to, otherFrom, otherTo]) => {
    if (tag === "equal") return Array.from({ length: to - from }, (_, at) => [from + at, otherFrom + at]);
    const gain = (row, column) => common(from + row, otherFrom + column) - ALIKE;
    const moved = (at, by) => (at === null ? null : by + at);
    const pairs = bestMatch(to - from, otherTo - otherFrom, gain);
    return pairs.map(([left, right]) => [moved(left, from), moved(right, otherFrom)]);
  });
}

function meanRows({ shape: [layers, heads, queries, keys], weights }) {
  const cells = queries * keys, sums = new Float64Array(cells);
  weights.forEach((weight, at) => (sums[at % cells] += weight));
  return Array.from({ length: queries }, (_, row) => {
    return [...sums.subarray(row * keys, (row + 1) * keys)].map((sum) => sum / (layers * heads));
  });
}

// Rows and columns in their order, paired so that the gains of the pairs sum to most (Needleman-Wunsch).
function bestMatch(rows, columns, gain) {
  const best = Array.from({ length: rows + 1 }, () => new Float64Array(columns + 1)); // from each cell on
  for (let row = rows - 1; row >= 0; row--) {
    for (let column = columns - 1; column >= 0; column--) {
      const paired = best[row + 1][column + 1] + gain(row, column);
      best[row][column] = Math.max(best[row + 1][column], best[row][column + 1], paired);
    }
  }
  const pairs = [];
  let row = 0, column = 0;
  while (row < rows || column < columns) {
    const left = row < rows, right = column < columns, here = best[row][column];
    if (left && right && here > Math.max(best[row + 1][column], best[row][column + 1])) pairs.push([row++, column++]);
    else if (left && here === best[row + 1][column]) pairs.push([row++, null]);
    else pairs.push([null, column++]);
  }
  return pairs;
}
