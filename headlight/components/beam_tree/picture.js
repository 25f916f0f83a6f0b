// The caption of a picture of the tree, and its branches as a table.

const HEADER = [
  "branch", "grew from", "step", "token", "probability", "log P of all so far", "rank", "on the way to the best",
  "outcome",
];
const OUTCOMES = { ended: "ended", dropped: "fell out" }; // by a branch's look

// The figure for the download menu, without its picture.
export function figureOf({ branches }) {
  return {
    name: "beam_tree",
    label: "A beam search as a tree",
    caption: "A beam search as a tree: each column is a step, each box a translation under way, its colour the " +
      "stronger the more probable its token after what came before. A thick frame: on the way to the best " +
      "translation. Square and bold: it ended, with its rank. A dashed frame: it fell out of the beam.",
    table: () => ({ header: HEADER, rows: branches.map(rowOf) }),
  };
}

function rowOf({ parent, step, token, chance, logProbability: sum, note, look }, number) {
  const looks = look.split(" "), outcome = OUTCOMES[looks.find((each) => OUTCOMES[each])] ?? "";
  const best = looks.includes("best") ? "yes" : "no";
  return [number + 1, parent < 0 ? "" : parent + 1, step + 1, token, chance, sum, note, best, outcome];
}
