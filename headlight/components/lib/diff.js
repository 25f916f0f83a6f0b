// Differences between two sequences, by their longest common subsequence.

export const isSame = (one, other) => one.length === other.length && one.every((each, at) => each === other[at]);

// The parts that differ, in order: [from, to, from in the other, to in the other]. Between them both are equal.
export function changesBetween(one, other) {
  const common = commonLengths(one, other), changes = [];
  const isRest = () => at < one.length || place < other.length;
  const isEqual = () => at < one.length && place < other.length && one[at] === other[place];
  let at = 0, place = 0;
  while (isRest()) {
    const from = at, start = place;
    while (isRest() && !isEqual()) {
      if (place === other.length || (at < one.length && common[at + 1][place] >= common[at][place + 1])) at += 1;
      else place += 1;
    }
    if (at > from || place > start) changes.push([from, at, start, place]);
    for (; isEqual(); at += 1) place += 1;
  }
  return changes;
}

// For each place in both, the length of the longest common subsequence of the rests.
function commonLengths(one, other) {
  const lengths = Array.from({ length: one.length + 1 }, () => new Uint16Array(other.length + 1));
  for (let at = one.length - 1; at >= 0; at--) {
    for (let place = other.length - 1; place >= 0; place--) {
      const next = lengths[at + 1][place + 1] + 1;
      lengths[at][place] = one[at] === other[place] ? next : Math.max(lengths[at + 1][place], lengths[at][place + 1]);
    }
  }
  return lengths;
}
