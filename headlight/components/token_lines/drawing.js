// The tokens and the lines between them as a vector graphic, in a size of its own.

import { widthOf } from "../export/pictures.js";
import { drawingOf, painted, shape } from "../export/svg.js";
import { tintOf } from "../lib/canvas.js";
import { CHANGED, FRAME, INK, PAPER, WEIGHT, asText } from "../lib/colours.js";
import { chipText, isSpecial } from "../lib/tokens.js";
import { curve, linesOf, opacityOf, shareOf, widthOf as thicknessOf } from "./geometry.js";
import { doubtText, shareText } from "./words.js";

const LETTERS = 16, NOTES = 12; // sizes of letters in tokens, and below them
const HIGH = 30, APART = 190, PAD = 8, GAP = 8, LINE = 16; // pixels

// data: of story.js; measure(text, size): the width of a text.
export function drawing(data, measure = widthOf) {
  const { hidden, changed, probabilities, weights } = data;
  const notes = data.outputs.map((_, at) => notesOf(data, at));
  const top = rowOf(data.source, data.sourceWords, [], measure);
  const bottom = rowOf(data.outputs, data.outputWords, notes, measure);
  const right = Math.max(top.width, bottom.width);
  const placed = ({ boxes, width }, y) => boxes.map(({ x, wide }) => ({ x: x + (right - width) / 2, y, wide }));
  const source = placed(top, 0), output = placed(bottom, HIGH + APART);
  const tint = (at) => (notes[at].length ? shareOf(probabilities[at]) : 0);
  return drawingOf([
    ...linesOf(weights).map((line) => path(line, source, output)),
    ...data.source.flatMap((token, at) => {
      return chip(token, source[at], { isStruck: hidden.includes(at), isChanged: hidden.includes(at) });
    }),
    ...data.outputs.flatMap((token, at) => {
      return chip(token, output[at], { tint: tint(at), isChanged: changed.includes(at), notes: notes[at] });
    }),
  ], { right, bottom: 2 * HIGH + APART + 2 * LINE + 4 });
}

// Below an output token: its probability, and the other candidate where the model was in doubt.
function notesOf(data, at) {
  if (data.below !== "output") return [];
  return [shareText(data.probabilities[at]), ...(data.doubts[at] ? [doubtText(data.doubts[at])] : [])];
}

// Tokens beside one another, those of a word without a gap: {boxes: [{x, wide}], width}.
function rowOf(tokens, words, notes, measure) {
  const isInside = (at) => words.some(([start, stop]) => start < at && at < stop);
  let width = 0;
  const boxes = tokens.map((token, at) => {
    const wides = (notes[at] ?? []).map((note) => measure(note, NOTES) + PAD);
    const wide = Math.max(HIGH, measure(chipText(token), LETTERS) + 2 * PAD, ...wides);
    const x = width + (at && !isInside(at) ? GAP : 0);
    width = x + wide;
    return { x, wide };
  });
  return { boxes, width };
}

function path({ row, column, weight }, source, output) {
  const [from, to] = [[source[column], HIGH], [output[row], 0]].map(([{ x, y, wide }, down]) => {
    return { x: x + wide / 2, y: y + down };
  });
  const stroke = { "stroke-width": thicknessOf(weight), ...painted("stroke", asText(WEIGHT), opacityOf(weight)) };
  return shape("path", { d: curve(from, to), fill: "none", ...stroke });
}

function chip(token, { x, y, wide }, { tint = 0, isStruck = false, isChanged = false, notes = [] }) {
  const size = { x, y, width: wide, height: HIGH, rx: 5 }, special = isSpecial(token);
  const frame = painted("stroke", isChanged ? asText(CHANGED) : FRAME);
  const boxes = [{ fill: PAPER }, { ...painted("fill", tintOf(tint)), ...frame }];
  const write = (text, down, letters, look = {}) => {
    const place = { x: x + wide / 2, y: y + down, "text-anchor": "middle", "font-size": letters };
    return shape("text", { ...place, fill: INK, ...look }, text);
  };
  const struck = isStruck ? { "text-decoration": "line-through" } : {};
  return [
    ...(special ? [] : boxes.map((look) => shape("rect", { ...size, ...look }))),
    write(chipText(token), HIGH / 2 + LETTERS / 3, special ? NOTES : LETTERS, struck),
    ...notes.map((note, at) => write(note, HIGH + (at + 1) * LINE, NOTES)),
  ];
}
