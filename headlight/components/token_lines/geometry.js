// Sizes of tokens and paths of lines.

const SMALLEST_LETTERS = 12; // pixels
const FAINTEST = 0.01; // weights below this have no line

// The size of letters with which a row that is `wide` at the largest size fits into the room, if one does.
export function lettersFor(wide, room, largest) {
  const size = Math.floor((largest * room) / wide);
  return Math.min(largest, Math.max(SMALLEST_LETTERS, size));
}

// The weights that have a line, the largest last, so that it lies on top: {row, column, weight}.
export function linesOf(weights) {
  const links = weights.flatMap((values, row) => values.map((weight, column) => ({ row, column, weight })));
  return links.filter(({ weight }) => weight >= FAINTEST).sort((one, other) => one.weight - other.weight);
}

// Lines before and now: which of now, by their place, had another weight, 0 where there was none, and which are gone.
export function changesOf(before, now) {
  const nameOf = ({ row, column }) => `${row} ${column}`, left = new Map(before.map((line) => [nameOf(line), line]));
  const stays = now.map((line, at) => {
    const weight = left.get(nameOf(line))?.weight ?? 0;
    left.delete(nameOf(line));
    return { at, weight };
  });
  return { stays: stays.filter(({ at, weight }) => weight !== now[at].weight), goes: [...left.values()] };
}

// The line of a weight; without any weight there is none to be seen.
export const lookOf = (weight) => ({
  strokeWidth: widthOf(weight).toFixed(2), strokeOpacity: (weight ? opacityOf(weight) : 0).toFixed(3),
});
export const widthOf = (weight) => 0.75 + 4.25 * weight;
export const opacityOf = (weight) => Math.min(1, 0.06 + 0.94 * weight);
// The opacity of an output token of this probability.
export const shareOf = (probability) => 0.04 + 0.6 * probability;

// From a source token to an output token, each {x, y} in pixels, at right angles to both rows.
export function curve(from, to, isUpright = false) {
  const [x, y, endX, endY] = [from.x, from.y, to.x, to.y].map((value) => Number(value.toFixed(1)));
  const bend = Number(((y + endY) / 2).toFixed(1));
  const [start, ...others] = [[x, y], [x, bend], [endX, bend], [endX, endY]].map((point) => {
    return (isUpright ? point.reverse() : point).join(" ");
  });
  return `M${start}C${others.join(" ")}`;
}

// The token after an arrow key: another one of its row, or the nearest one of the other row.
export function moved({ side, index }, key, centres) {
  const last = centres[side].length - 1;
  const steps = { ArrowLeft: index - 1, ArrowRight: index + 1, Home: 0, End: last };
  if (key in steps) return { side, index: Math.min(Math.max(0, steps[key]), last) };
  const other = { ArrowUp: "source", ArrowDown: "output" }[key];
  if (!other) return null;
  if (other === side) return { side, index };
  const distance = (at) => Math.abs(centres[other][at].x - centres[side][index].x);
  const nearest = centres[other].reduce((best, _, at) => (distance(at) < distance(best) ? at : best), 0);
  return { side: other, index: nearest };
}
