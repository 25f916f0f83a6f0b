// Two sequences side by side, and the differences between them.

export const isSame = (one, other) => one.length === other.length && one.every((each, at) => each === other[at]);

// The parts that differ, in order: [from, to, from in the other, to in the other]. Between them both are equal, in as
// many places as can be.
export function changesBetween(one, other) {
  const pairs = aligned(one.length, other.length, (left, right) => (one[left] === other[right] ? 1 : -1));
  const equal = pairs.filter((pair) => !pair.includes(null)), changes = [];
  let at = 0, place = 0;
  for (const [left, right] of [...equal, [one.length, other.length]]) {
    if (left > at || right > place) changes.push([at, left, place, right]);
    [at, place] = [left + 1, right + 1];
  }
  return changes;
}

// Positions [left, right] in their order, null beside one without a partner, paired so that the gains of all pairs sum
// to most (Needleman and Wunsch 1970). gain(left, right): of a pair; below 0, none is made.
export function aligned(lefts, rights, gain) {
  const best = Array.from({ length: lefts + 1 }, () => new Float64Array(rights + 1)); // from these positions on
  const paired = (left, right) => best[left + 1][right + 1] + gain(left, right);
  for (let left = lefts - 1; left >= 0; left--) {
    for (let right = rights - 1; right >= 0; right--) {
      best[left][right] = Math.max(best[left + 1][right], best[left][right + 1], paired(left, right));
    }
  }
  const pairs = [];
  for (let left = 0, right = 0; left < lefts || right < rights;) {
    const here = best[left][right], isLeft = left < lefts, isRight = right < rights;
    if (isLeft && isRight && here === paired(left, right)) pairs.push([left++, right++]);
    else if (isLeft && here === best[left + 1][right]) pairs.push([left++, null]);
    else pairs.push([null, right++]);
  }
  return pairs;
}
