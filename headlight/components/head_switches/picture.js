// What the translation loses without each head as a picture to save, and as numbers.

import { tableOfMatrices } from "../export/csv.js";
import { heatmap } from "../export/matrix.js";
import { INK, inLine, placed, shape, write } from "../export/svg.js";
import { Geometry } from "../lib/heatmap.js";

const WIDE = 36, HIGH = 26, LAYER = 52, ABOVE = 38, TITLE = 14, APART = 20, DOT = 3, INSET = 6; // pixels
const WIDEST = 1200; // of three grids side by side

// What the menu makes files of.
export function figureOf({ kinds, limit, ablated_by: ablation }) {
  const matrices = () => kinds.map(({ kind, losses }) => ({
    name: kind, rows: namesOf("layer", losses.length), columns: namesOf("head", losses[0].length), values: losses,
  }));
  const most = limit.toFixed(2);
  return {
    name: "head_importance",
    label: "What the translation loses without each head alone",
    caption: `What the translation loses of its log P, in nats, without each head alone, ablated by ${ablation}: ` +
      `orange, a loss; blue, a gain; the full colours stand for ${most}. A dot: without the head another translation ` +
      "comes.",
    drawing: () => drawingOf(kinds, limit),
    table: () => tableOfMatrices(matrices(), { row: "layer", column: "head", value: "loss of log P in nats" }),
    matrices,
  };
}

const namesOf = (what, count) => Array.from({ length: count }, (_, at) => `${what} ${at + 1}`);

function drawingOf(kinds, limit) {
  const drawings = kinds.map((kind) => gridOf(kind, limit)), all = drawings.reduce((sum, { width }) => sum + width, 0);
  return placed(inLine(all > WIDEST ? "y" : "x", drawings, APART));
}

function gridOf({ name, losses, digits, turned, words }, limit) {
  const size = { rows: losses.length, columns: losses[0].length };
  const geometry = new Geometry({ ...size, left: LAYER, top: ABOVE, wide: WIDE, high: HIGH, after: 2, below: 2 });
  const cells = heatmap({
    geometry, gap: 2, signed: true, upright: true,
    rows: namesOf("layer", size.rows), columns: losses[0].map((_, head) => String(head + 1)),
    share: (row, column) => (limit ? losses[row][column] / limit : 0),
    valueText: (row, column) => digits[row][column], titleOf: (row, column) => words[row][column],
  });
  const dots = turned.flatMap((row, layer) => row.flatMap((isTurned, head) => {
    const place = { cx: LAYER + (head + 1) * WIDE - INSET, cy: ABOVE + layer * HIGH + INSET };
    return isTurned ? [shape("circle", { ...place, r: DOT, fill: INK })] : [];
  }));
  const heading = write(name, LAYER, TITLE, { "font-weight": 600, "font-size": TITLE });
  return { parts: [heading, ...cells, ...dots], width: geometry.width, height: geometry.height };
}
