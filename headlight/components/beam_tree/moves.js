// From branch to branch by the arrows: along what a branch grew from and its best continuation, and up and down within
// a step. And where the branches stand, with the lines between them.

const WIDEST = 89, NARROWEST = 56, GAP = 12; // pixels of a column with the gap after it; of that gap

// The columns of so many steps in a room, in pixels: from one to the next, of the gap between two, of a button. Where
// even the narrowest do not fit, they scroll.
export function columnsIn(room, steps) {
  const gap = Math.min(GAP, Math.floor(Math.max(NARROWEST, room / steps) / 6));
  const pitch = Math.max(NARROWEST, Math.min(WIDEST, Math.floor((room + gap) / steps)));
  return { pitch, gap, wide: pitch - gap };
}

export function moved(branches, number, [down, right]) {
  const { parent, step, row } = branches[number];
  if (right < 0) return parent < 0 ? number : parent;
  if (right > 0) {
    const next = branches.findIndex((each) => each.parent === number);
    return next < 0 ? number : next;
  }
  const beside = branches.map((each, at) => ({ ...each, at })).filter((each) => each.step === step);
  const further = beside.filter((each) => (each.row - row) * down > 0);
  further.sort((one, other) => (one.row - other.row) * down);
  return further.length ? further[0].at : number;
}

// The line from the right side of a branch to the left side of what grew from it, bent in the gap before that.
export function way(from, to, gap) {
  const half = to.x - gap / 2;
  return `M${from.x} ${from.y} C${half} ${from.y} ${half} ${to.y} ${to.x} ${to.y}`;
}
