// Places of the parts of the picture: from left to right, on a narrow canvas from top to bottom.
//
// `flow` runs from the words to the translation, `across` from token to token; ranges are [from, until] in pixels.

import { chipText, isSpecial } from "../lib/tokens.js";

const TALL_BELOW = 640; // pixels of width
const EDGE = 8, FOOT = 10, STRIP = 34, TALL_STRIP = 26, GAP = 7;
const HEADINGS = { wide: 62, tall: 62 }; // pixels across for names of columns and heads
const LEAST_LINES = { wide: 40, tall: 46 }; // pixels of flow between two columns, else layers are folded
const MOST_LINES = 240;
const LABEL = { wide: [44, 108], tall: [34, 66] }; // least and most pixels of flow
const BARS = { wide: 196, tall: 124 };
const MEMORY = 0.75; // of the room for lines, between the two stacks
const PITCH = { wide: 64, tall: 44 }, LETTERS = [5, 16]; // most pixels from token to token; sizes of text
const LETTER = 0.56; // of a text's size: the usual width of a letter
const SQUARES = { wide: 9, tall: 12 }, BETWEEN_SQUARES = 2;
const MOST_UNFOLDED = 4; // layers of a stack

const estimate = (text, size) => LETTER * size * [...text].length;

// Lay a story out on a canvas { width, height }; measure(text, size): the width of a text.
export function layOut(story, { width, height, measure = estimate }) {
  const tall = width < TALL_BELOW, look = tall ? "tall" : "wide", strip = tall ? TALL_STRIP : STRIP;
  const [along, over] = tall ? [height, width] : [width, height];
  const head = HEADINGS[look], room = over - head - FOOT, most = Math.max(story.source.length, story.fed.length);
  const pitch = Math.min(PITCH[look], room / most), letters = Math.max(LETTERS[0], Math.min(LETTERS[1], 0.6 * pitch));
  const longest = Math.max(...[...story.source, ...story.fed].map((text) => measure(text, letters)));
  const [least, greatest] = LABEL[look], label = Math.min(greatest, Math.max(least, longest + GAP));
  const counts = [story.drawn.encoder.length, story.drawn.decoder.length];
  const linesWith = ([encoder, decoder]) => {
    const fixed = 2 * EDGE + 2 * (label + strip + GAP) + (encoder + decoder) * strip + BARS[look];
    return (along - fixed) / (encoder + decoder + MEMORY);
  };
  const unfolded = linesWith(counts), isAll = story.layers.encoder === counts[0] && story.layers.decoder === counts[1];
  const folded = !isAll || Math.max(...counts) > MOST_UNFOLDED || unfolded < LEAST_LINES[look];
  const lines = Math.min(MOST_LINES, folded ? linesWith([1, 1]) : unfolded), strips = { strip, label, lines };
  const zones = zonesOf(folded ? [1, 1] : counts, strips, along - EDGE - BARS[look]);
  const thick = Math.max(2, Math.min(20, 0.45 * pitch));
  const start = (count) => head + (room - (count - 1) * pitch) / 2;
  const slot = { source: start(story.source.length), target: start(story.fed.length) };
  return {
    ...zones, width, height, measure, tall, folded, pitch, letters, thick, head,
    bars: barsOf(zones, { tall, along, over, look }),
    across: [head - 4, over - 2], slot: (side, token) => slot[side] + token * pitch,
    at: (flow, across) => (tall ? [across, flow] : [flow, across]),
  };
}

// From the left: the words, their numbers, the encoder's layers, and the same for the decoder.
function zonesOf([encoder, decoder], { strip, label, lines }, end) {
  const width = 2 * (label + strip + GAP) + (encoder + decoder) * (strip + lines) + MEMORY * lines + EDGE;
  let flow = EDGE + Math.max(0, (end - width) / 2);
  const next = (size) => {
    const range = [flow, flow + size];
    flow += size;
    return range;
  };
  const stack = (count) => {
    const words = next(label), columns = [{ lines: null, strip: next(strip) }];
    next(GAP);
    for (let layer = 0; layer < count; layer++) columns.push({ lines: next(lines), strip: next(strip) });
    return { words: [words[0], words[1] - GAP], columns };
  };
  const source = stack(encoder), memory = next(MEMORY * lines), target = stack(decoder);
  return { source, memory, target, end: flow };
}

function barsOf({ end }, { tall, along, over, look }) {
  if (tall) return { x: EDGE, y: along - BARS[look] + 18, wide: over - 2 * EDGE, high: BARS[look] - 24 };
  return { x: Math.max(end, along - EDGE - BARS[look]) + 14, wide: BARS[look] - 14, high: 138 };
}

// The column that a drawn layer, from 0, fills, and the one that it reads.
export function columnsOf(layout, side, layer) {
  const { columns } = layout[side], to = layout.folded ? 1 : layer + 1;
  return { from: columns[to - 1].strip, lines: columns[to].lines, to: columns[to].strip };
}

// The squares of the heads of a layer, beside the name of its column.
export function headSquares(layout, lines, count) {
  const { tall, head } = layout, side = SQUARES[tall ? "tall" : "wide"], step = side + BETWEEN_SQUARES;
  const perRow = tall ? 4 : Math.max(4, Math.min(count, Math.floor((lines[1] - lines[0] + STRIP + GAP) / step)));
  return Array.from({ length: count }, (_, at) => {
    const row = Math.floor(at / perRow), place = (at % perRow) * step;
    const [x, y] = tall ? [4 + place, lines[0] + 34 + row * step] : [lines[0] + place, head - 22 + row * step];
    return { x, y, wide: side, high: side };
  });
}

// The places of tokens as a sentence in the middle of the canvas, its first line at a share of the height:
// { x, y, size, most } of each. A line breaks between words alone.
export function sentenceLines(tokens, { width, height, measure }, share, bold = false) {
  const words = [], placed = [];
  tokens.forEach((token, at) => {
    if (!at || token.startsWith("▁") || isSpecial(token)) words.push([at]);
    else words.at(-1).push(at);
  });
  const linesAt = (size) => {
    const lines = [[]];
    let used = 0;
    for (const word of words) {
      const wide = word.map((at) => measure(chipText(tokens[at]), size, bold ? 600 : 400));
      if (used && used + wide.reduce((sum, each) => sum + each) > width - 32) {
        lines.push([]);
        used = 0;
      }
      word.forEach((at, part) => {
        lines.at(-1).push({ at, x: used, wide: wide[part] });
        used += wide[part];
      });
      used += 0.27 * size;
    }
    return lines;
  };
  let size = 26;
  while (size > 8 && linesAt(size).length * size * 1.35 > 0.2 * height) size -= 1;
  linesAt(size).forEach((line, row) => {
    const { x: end, wide } = line.at(-1), left = Math.max(16, (width - end - wide) / 2);
    for (const word of line) {
      const x = left + word.x, most = Math.min(1.3 * word.wide, width - 4 - x);
      placed[word.at] = { x, y: share * height + row * size * 1.35, size, most };
    }
  });
  return placed;
}
