// How one sequence becomes another, as Python's difflib.SequenceMatcher(None, one, other, autojunk=False) finds it.

// The longest run that both have within these bounds, of equally long ones the first: [start, start, length].
function longest(one, places, [from, to, otherFrom, otherTo]) {
  let best = [from, otherFrom, 0], lengths = new Map(); // of runs that end at a place of the other one
  for (let at = from; at < to; at++) {
    const longer = new Map();
    for (const place of places.get(one[at]) ?? []) {
      if (place < otherFrom || place >= otherTo) continue;
      const length = (lengths.get(place - 1) ?? 0) + 1;
      longer.set(place, length);
      if (length > best[2]) best = [at - length + 1, place - length + 1, length];
    }
    lengths = longer;
  }
  return best;
}

// What both have: [start in one, start in the other, length], in their order, the last of length 0 at both ends.
export function matchingBlocks(one, other) {
  const places = new Map(), found = [], open = [[0, one.length, 0, other.length]];
  other.forEach((value, place) => places.set(value, [...(places.get(value) ?? []), place]));
  while (open.length) {
    const bounds = open.pop(), [from, to, otherFrom, otherTo] = bounds;
    const [start, otherStart, length] = longest(one, places, bounds);
    if (!length) continue;
    found.push([start, otherStart, length]);
    open.push([from, start, otherFrom, otherStart], [start + length, to, otherStart + length, otherTo]);
  }
  found.sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  const blocks = [];
  for (const [start, otherStart, length] of found) {
    const last = blocks.at(-1);
    if (last && last[0] + last[2] === start && last[1] + last[2] === otherStart) last[2] += length;
    else blocks.push([start, otherStart, length]);
  }
  return [...blocks, [one.length, other.length, 0]];
}

// [tag, from, to, from in the other, to in the other], tag one of equal, replace, delete and insert.
export function opcodes(one, other) {
  const codes = [];
  let at = 0, otherAt = 0;
  for (const [start, otherStart, length] of matchingBlocks(one, other)) {
    const tag = at < start ? (otherAt < otherStart ? "replace" : "delete") : otherAt < otherStart ? "insert" : "";
    if (tag) codes.push([tag, at, start, otherAt, otherStart]);
    [at, otherAt] = [start + length, otherStart + length];
    if (length) codes.push(["equal", start, at, otherStart, otherAt]);
  }
  return codes;
}
