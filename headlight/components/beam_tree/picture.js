// The caption of a picture of the tree, and its branches as a table.

import { say } from "./texts.toml";

const COLUMNS = ["branch", "parent", "step", "token", "probability", "sum", "rank", "best", "outcome"];
const OUTCOMES = ["ended", "dropped"]; // by a branch's look

// The figure for the download menu, without its picture.
export function figureOf({ branches }) {
  return {
    name: "beam_tree",
    label: say("label"), caption: say("caption"),
    table: () => ({ header: COLUMNS.map((column) => say(`column_${column}`)), rows: branches.map(rowOf) }),
  };
}

function rowOf({ parent, step, token, chance, logProbability: sum, note, look }, number) {
  const looks = look.split(" "), found = looks.find((each) => OUTCOMES.includes(each));
  const outcome = found ? say(found === "ended" ? "ended" : "dropped") : "";
  const best = say(looks.includes("best") ? "yes" : "no");
  return [number + 1, parent < 0 ? "" : parent + 1, step + 1, token, chance, sum, note, best, outcome];
}
