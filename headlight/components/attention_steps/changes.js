// Cells that an edit has changed.

const SAME = 1e-6; // of the largest value of a matrix: less is rounding

// The cells that differ, as {name of the array: set of their places in it}; null where none does.
export function changesBetween(before, now) {
  const changed = Object.entries(now).map(([name, grid]) => [name, changedIn(before[name], grid)]);
  const filled = changed.filter(([, places]) => places.size);
  return filled.length ? Object.fromEntries(filled) : null;
}

function changedIn(before, { rows, columns, values, limit }) {
  const isSameShape = before?.rows === rows && before.columns === columns;
  if (!isSameShape) return new Set();
  const least = SAME * Math.max(limit, before.limit);
  return new Set([...values.keys()].filter((at) => Math.abs(values[at] - before.values[at]) > least));
}
