// The tree as a picture to save, with the legend below it, and its branches as a table.

import { INK, placed, rounded, shape, write } from "../export/svg.js";
import { opacity, shortened } from "../lib/canvas.js";
import { way } from "./moves.js";

const LETTERS = 13, SMALL = 12, PADDING = 14, BOX = 27, DOWN = 33, APART = 14, LEAST = 40, NOTE = 5; // pixels
const LEGEND = 16, SAMPLE = 20, LEGEND_GAP = 14; // of the legend
const BLUE = "rgb(31, 119, 224)", ORANGE = "rgb(232, 113, 10)", GREY = "rgb(128, 128, 128)";
const THIN = { stroke: GREY, "stroke-opacity": 0.8 };
// What a look of beam_tree_payload.py is called, and how its box is framed: of several, the first counts.
const LOOKS = {
  best: ["on the way to the best", { stroke: ORANGE, "stroke-width": 2 }],
  ended: ["ended, with its rank", { stroke: INK, "stroke-width": 2 }],
  dropped: ["fell out of the beam", { ...THIN, "stroke-dasharray": "4 3" }],
};

// What the menu makes files of. `measure(text, size, weight)` is how wide a text is.
export function figureOf(data, measure) {
  return {
    name: "beam_tree",
    label: "A beam search as a tree",
    caption: "A beam search as a tree: each column is a step, each box a translation under way, its colour the " +
      "stronger the more probable its token after what came before. Orange: on the way to the best translation. A " +
      "thick frame: it ended, with its rank. A dashed frame: it fell out of the beam.",
    drawing: () => drawingOf(data.branches, measure),
    table: () => tableOf(data.branches),
  };
}

const looksOf = ({ look }) => look.split(" ").filter(Boolean);
const frameOf = (branch) => LOOKS[looksOf(branch)[0]]?.[1] ?? THIN;

function tableOf(branches) {
  const header = [
    "branch", "grew from", "step", "token", "probability", "log P of all so far", "rank", "on the way to the best",
    "outcome",
  ];
  const outcome = { ended: "ended", dropped: "fell out" };
  const rows = branches.map((branch, number) => {
    const { parent, step, token, chance, log_probability: sum, note } = branch, looks = looksOf(branch);
    const ending = outcome[looks.find((look) => outcome[look])] ?? "";
    const best = looks.includes("best") ? "yes" : "no";
    return [number + 1, parent < 0 ? "" : parent + 1, step + 1, token, chance, sum, note, best, ending];
  });
  return { header, rows };
}

function drawingOf(branches, measure) {
  const wide = Math.ceil(Math.max(LEAST, ...branches.map((branch) => PADDING + lettersOf(branch, measure))));
  const at = ({ step, row }) => ({ x: step * (wide + APART), y: row * DOWN + 1 });
  const most = (side) => 1 + Math.max(...branches.map((branch) => branch[side]));
  const edges = branches.filter(({ parent }) => parent >= 0).map((branch) => {
    const from = at(branches[branch.parent]), to = at(branch), best = looksOf(branch).includes("best");
    const d = way({ x: from.x + wide, y: from.y + BOX / 2 }, { x: to.x, y: to.y + BOX / 2 }, APART);
    return shape("path", { d, stroke: best ? ORANGE : GREY, "stroke-width": best ? 3 : 1.5 });
  });
  const tree = { x: 0, y: 0, width: most("step") * (wide + APART) - APART + 2, height: most("row") * DOWN };
  const parts = [
    shape("g", { class: "edges", fill: "none", "stroke-opacity": 0.8 }, ...edges),
    shape("g", { class: "branches" }, ...branches.map((branch) => box(branch, at(branch), wide, measure))),
  ];
  return placed([{ ...tree, parts }, { ...legend(measure), x: 0, y: tree.height + 6 }]);
}

const weightOf = (branch) => (looksOf(branch).includes("ended") ? 600 : 400);

function lettersOf(branch, measure) {
  const note = branch.note ? NOTE + measure(branch.note, SMALL) : 0;
  return measure(shortened(branch.token), LETTERS, weightOf(branch)) + note;
}

function box(branch, { x, y }, wide, measure) {
  const { token, note, chance, words } = branch, letters = shortened(token), base = y + BOX / 2 + 4.5;
  const size = { x: rounded(x), y, width: wide, height: BOX, rx: 6 };
  const fill = { fill: BLUE, "fill-opacity": rounded(opacity(0.8 * chance)) };
  const weight = weightOf(branch), after = x + PADDING / 2 + measure(letters, LETTERS, weight) + NOTE;
  return shape(
    "g",
    {},
    shape("title", {}, words),
    shape("rect", { ...size, ...fill, ...frameOf(branch) }),
    write(letters, x + PADDING / 2, base, { "font-size": LETTERS, "font-weight": weight }),
    ...(note ? [write(note, after, base, { "font-size": SMALL })] : []),
  );
}

function legend(measure) {
  const parts = [];
  let x = 1;
  for (const [words, frame] of Object.values(LOOKS)) {
    const sample = { x: rounded(x), y: 1, width: SAMPLE, height: LEGEND - 2, rx: 4, fill: "none" };
    parts.push(shape("rect", { ...sample, ...frame }));
    parts.push(write(words, x + SAMPLE + 5, LEGEND - 4));
    x += SAMPLE + 5 + measure(words, SMALL) + LEGEND_GAP;
  }
  return { parts, width: x, height: LEGEND };
}
