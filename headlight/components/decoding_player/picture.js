// One step of the decoding as pictures to save, with their numbers: what it reads and its candidates, and every head.

import { INK, group, inLine, painted, placed, rounded, shape, write } from "../export/svg.js";
import { inkOn, shade, shortened } from "../lib/canvas.js";
import { LETTER } from "../lib/heatmap.js";

const WIDTH = 620, HEADING = 20, LETTERS = 14, SMALL = 12, APART = 16; // pixels
const CHIP = 40, CHIP_GAP = 6, LEAST_CHIP = 44, PADDING = 14;
const LINE = 24, RANK = 24, BAR = 300, BAR_HIGH = 14, TOKEN_GAP = 16;
const CELL = 26, HEAD = 11, LAYER_GAP = 6, LAYER = 56, SLANT = -60, SLANTED = 0.87;
const ORANGE = "rgb(232, 113, 10)", BLUE = "rgb(31, 119, 224)";
const FRAME = { fill: "none", stroke: "rgb(128, 128, 128)", "stroke-opacity": 0.6, rx: 5 };
const TAKEN = { stroke: ORANGE, "stroke-width": 2, "stroke-opacity": 1 };
const CROSS = "cross-attention: reads the source", DECODER = "masked self-attention: reads its own words";

// The sentences of a step and its candidates. `maps` are the weights of the chosen heads, a row a step, as floats;
// `step` counts from 1; `measure(text, size, weight)` is how wide a text is.
export function stepFigure(data, maps, step, measure) {
  const now = data.steps[step - 1], { source, fed } = data;
  const row = (map, columns, count) => Array.from(map.subarray((step - 1) * columns, (step - 1) * columns + count));
  const cross = row(maps.cross, source.length, source.length), decoder = row(maps.decoder, fed.length, step);
  return {
    name: `decoding_step_${step}`,
    label: `Step ${step} of ${data.steps.length} of the decoding`,
    caption: `Step ${step} of ${data.steps.length}. ${now.sentence} Above, the weights of ${data.name}; below, the ` +
      `most probable candidates out of all tokens, the taken one framed in orange, and ${now.rest_words}.`,
    drawing: () => stepDrawing({ data, now, step, cross, decoder, measure }),
    table: () => stepTable({ now, source, fed, cross, decoder }),
  };
}

function stepTable({ now, source, fed, cross, decoder }) {
  const read = (what, tokens, weights) => weights.map((weight, at) => [what, at + 1, tokens[at], weight, ""]);
  const candidates = now.candidates.map(({ rank, token, probability, taken }) => {
    return ["candidate", rank, token, probability, taken ? "yes" : "no"];
  });
  return {
    header: ["what", "place or rank", "token", "weight or probability", "taken"],
    rows: [
      ...read("cross-attention weight", source, cross), ...read("masked self-attention weight", fed, decoder),
      ...candidates,
    ],
  };
}

function stepDrawing({ data, now, step, cross, decoder, measure }) {
  const weighted = (tokens, weights) => weights.map((weight, at) => ({
    token: tokens[at], note: weight.toFixed(2), weight,
  }));
  const next = { token: data.next[step - 1], note: now.chance, next: true };
  const blocks = [
    headed(`The source: this step's cross-attention (${data.name})`, chips(weighted(data.source, cross), measure)),
    headed(
      `The translation so far: masked self-attention (${data.name})`,
      chips([...weighted(data.fed, decoder), next], measure),
    ),
    headed("Next-token candidates", candidateRows(now, measure)),
  ];
  return placed(inLine("y", blocks, APART));
}

function headed(title, { parts, width, height }) {
  const heading = write(title, 0, LETTERS, { "font-size": LETTERS, "font-weight": 600 });
  return { parts: [heading, group(0, HEADING, ...parts)], width, height: HEADING + height };
}

// Tokens side by side in as many lines as they need, each in the colour of its weight.
function chips(found, measure) {
  const parts = [];
  let x = 0, y = 0;
  for (const { token, note, weight, next } of found) {
    const wide = Math.max(LEAST_CHIP, PADDING + Math.max(measure(token, LETTERS), measure(note, SMALL)));
    if (x && x + wide > WIDTH) [x, y] = [0, y + CHIP + CHIP_GAP];
    const box = { x: rounded(x), y, width: rounded(wide), height: CHIP };
    const ink = { "text-anchor": "middle", fill: next ? INK : inkOn(weight, false, INK) };
    parts.push(shape(
      "g",
      { class: next ? "next" : "read" },
      shape("rect", { ...box, ...FRAME, ...(next ? TAKEN : painted(shade(weight))) }),
      write(token, x + wide / 2, y + 17, { ...ink, "font-size": LETTERS }),
      write(note, x + wide / 2, y + 33, ink),
    ));
    x += wide + CHIP_GAP;
  }
  return { parts, width: WIDTH, height: y + CHIP };
}

// A line for each candidate: its rank, the token, a bar as long as it is probable, and the probability.
function candidateRows({ candidates, rest_words: rest }, measure) {
  const wide = Math.max(80, ...candidates.map(({ token }) => measure(token, LETTERS) + PADDING));
  const box = { x: RANK + 8, width: rounded(wide), height: LINE - 4 }, start = RANK + 8 + wide + TOKEN_GAP;
  const parts = candidates.map(({ rank, token, probability, words, taken }, at) => {
    const y = at * LINE, base = y + 15, bar = Math.max(1, BAR * probability);
    return shape(
      "g",
      { class: "candidate" },
      write(rank, RANK, base, { "text-anchor": "end" }),
      shape("rect", { ...box, y: y + 1, ...FRAME, ...(taken ? TAKEN : {}) }),
      write(token, RANK + 8 + PADDING / 2, base, { "font-size": LETTERS }),
      shape("rect", {
        class: "bar", x: rounded(start), y: y + 4, width: rounded(bar), height: BAR_HIGH, rx: 2,
        fill: BLUE, "fill-opacity": 0.55,
      }),
      write(words, start + bar + 8, base),
    );
  });
  const below = write(rest, 0, candidates.length * LINE + SMALL + 2);
  return { parts: [...parts, below], width: Math.max(WIDTH, start + BAR + 80), height: (candidates.length + 1) * LINE };
}

// Every head in a step, a line of cells each. `strips` are the two that the page shows, {keys, weight}: what they read
// and weight(layer, head, key).
export function headsFigure(data, strips, step) {
  const shown = strips.map((strip, at) => ({ ...strip, title: [CROSS, DECODER][at] }));
  const { layers, heads } = data;
  const names = Array.from({ length: layers * heads }, (_, at) => {
    return `layer ${Math.floor(at / heads) + 1}, head ${(at % heads) + 1}`;
  });
  const matrices = () => shown.map(({ keys, weight }, at) => ({
    name: ["cross_attention", "masked_self_attention"][at], rows: names, columns: keys,
    values: names.map((_, row) => keys.map((_, key) => weight(Math.floor(row / heads), row % heads, key))),
  }));
  return {
    name: `heads_of_step_${step}`,
    label: `Every head in step ${step} of ${data.steps.length}`,
    caption: `Every head in step ${step} of ${data.steps.length}, which predicts “${data.next[step - 1]}”: a line of ` +
      "cells is a head, layer under layer; the stronger its colour, the larger the weight. Left, cross-attention " +
      "over the source; right, masked self-attention over the tokens fed so far.",
    drawing: () => headsDrawing(data, shown),
    table: () => headsTable(matrices()),
    matrices,
  };
}

function headsTable(matrices) {
  const rows = matrices.flatMap(({ name, rows: heads, columns, values }) => {
    const kind = name.replaceAll("_", " ");
    return values.flatMap((line, row) => line.map((weight, key) => [kind, heads[row], key, columns[key], weight]));
  });
  return { header: ["attention", "head", "column", "key", "weight"], rows };
}

function headsDrawing(data, strips) {
  const longest = (keys) => Math.max(...keys.map((key) => shortened(key).length));
  const above = SLANTED * LETTER * Math.max(...strips.map(({ keys }) => longest(keys)));
  const drawings = strips.map((strip) => headed(strip.title, stripDrawing(data, strip, above + 14)));
  return placed(inLine("x", drawings, 2 * APART));
}

function stripDrawing({ layers, heads }, { keys, weight, title }, top) {
  const parts = keys.map((key, at) => {
    const x = rounded(LAYER + (at + 0.5) * CELL + 4), y = rounded(top - 5);
    return write(shortened(key), x, y, { class: "column", transform: `rotate(${SLANT} ${x} ${y})` });
  });
  const cells = [];
  for (let layer = 0; layer < layers; layer++) {
    const y = top + layer * (heads * HEAD + LAYER_GAP);
    parts.push(write(`layer ${layer + 1}`, 0, y + (heads * HEAD) / 2 + 4));
    for (let head = 0; head < heads; head++) {
      keys.forEach((key, at) => {
        const value = weight(layer, head, at), words = `Layer ${layer + 1}, head ${head + 1} reads “${key}”`;
        const box = { x: LAYER + at * CELL, y: rounded(y + head * HEAD), width: CELL - 1, height: HEAD - 1 };
        const about = shape("title", {}, `${words} with weight ${value.toFixed(4)}`);
        cells.push(shape("rect", { ...box, ...painted(shade(value)) }, about));
      });
    }
  }
  const width = Math.max(LAYER + keys.length * CELL + LAYER, LETTER * title.length);
  const height = top + layers * (heads * HEAD + LAYER_GAP);
  return { parts: [...parts, shape("g", { class: "cells" }, ...cells)], width, height };
}
