// The two rows of tokens and the lines between them as a picture to save, and their numbers.

import { placed, rounded, shape, write } from "../export/svg.js";
import { curve, linesOf, opacityOf, tintOf, widthOf } from "./geometry.js";
import { named } from "./words.js";

const LETTERS = 15, SMALL = 12, CHIP = 28, LEAST = 33, PADDING = 10, GAP = 16, LEAST_WIDTH = 480; // pixels
const BLUE = "rgb(31, 119, 224)", LINES = "rgb(21, 88, 176)"; // the second is the light theme's primary colour
const FRAME = { stroke: "rgb(128, 128, 128)", "stroke-opacity": 0.6, rx: 6 };
const START = "▁"; // of a word, written smaller than its letters

// What the menu makes files of. `measure(text, size)` is how wide a text is.
export function figureOf(data, measure) {
  return {
    name: "token_lines",
    label: `Source and output tokens joined by the cross-attention of ${data.name}`,
    caption: captionOf(data),
    drawing: () => drawingOf(data, measure),
    table: () => tableOf(data),
    matrices: () => [{ values: data.weights, rows: data.outputs, columns: data.source }],
  };
}

function captionOf({ name }) {
  return (
    `Source tokens, above, and output tokens, below, joined by the cross-attention weights of ${name}: the larger ` +
    "the weight, the stronger the line; weights below 0.01 have none. Under each output token stands its " +
    "probability: the stronger its colour, the more probable."
  );
}

function tableOf({ source, outputs, probabilities, weights }) {
  const rows = weights.flatMap((line, row) => line.map((weight, column) => {
    return [row, outputs[row], probabilities[row], column, source[column], weight];
  }));
  return { header: ["row", "output token", "probability", "column", "source token", "weight"], rows };
}

function drawingOf(data, measure) {
  const { source, outputs, apart, probabilities, short_chances: chances } = data;
  const sides = [source, outputs].map((tokens) => tokens.map((token) => chipOf(token, measure)));
  const natural = (chips) => sum(chips) + GAP * (chips.length + 1);
  const width = Math.ceil(Math.max(LEAST_WIDTH, ...sides.map(natural)));
  const [above, below] = sides.map((chips) => spread(chips, width)), down = CHIP + apart;
  const lines = linesOf(data.weights).map((line) => {
    const d = curve(above[line.column].middle, below[line.row].middle, apart);
    const look = { stroke: LINES, "stroke-width": rounded(widthOf(line.weight)) };
    const words = `${named(outputs[line.row], "output", line.row)} attends to ` +
      `${named(source[line.column], "source", line.column)}: weight ${line.weight.toFixed(4)}`;
    return shape("path", { d, ...look, "stroke-opacity": rounded(opacityOf(line.weight)) }, shape("title", {}, words));
  });
  const look = (token) => (data.special.includes(token) ? { "stroke-dasharray": "4 3" } : {});
  const parts = [
    shape("g", { class: "lines", fill: "none", transform: `translate(0 ${CHIP})` }, ...lines),
    shape("g", { class: "source" }, ...above.map((chip, at) => drawn(chip, 0, { fill: "none", ...look(source[at]) }))),
    shape("g", { class: "output" }, ...below.map((chip, at) => {
      const fill = { fill: BLUE, "fill-opacity": rounded(tintOf(probabilities[at])) };
      return drawn(chip, down, { ...fill, ...look(outputs[at]) });
    })),
    shape("g", { class: "chances", "text-anchor": "middle" }, ...below.map(({ middle }, at) => {
      return write(chances[at], middle, down + CHIP + SMALL + 3);
    })),
  ];
  return placed([{ parts, x: 0, y: 0, width, height: down + CHIP + SMALL + 8 }]);
}

const sum = (chips) => chips.reduce((all, { wide }) => all + wide, 0);

function chipOf(token, measure) {
  const starts = token.length > 1 && token.startsWith(START), text = starts ? token.slice(1) : token;
  const mark = starts ? measure(START, SMALL) : 0, letters = mark + measure(text, LETTERS);
  return { text, starts, letters, wide: Math.max(LEAST, letters + PADDING) };
}

// Chips with the same room between them and at both ends.
function spread(chips, width) {
  const apart = (width - sum(chips)) / (chips.length + 1);
  let x = 0;
  return chips.map((chip) => {
    const left = x + apart;
    x = left + chip.wide;
    return { ...chip, left, middle: left + chip.wide / 2 };
  });
}

function drawn({ text, starts, left, middle, wide }, y, look) {
  const box = shape("rect", { x: rounded(left), y, width: rounded(wide), height: CHIP, ...FRAME, ...look });
  const start = shape("tspan", { "font-size": SMALL, "fill-opacity": 0.75 }, START);
  const at = { x: rounded(middle), y: y + CHIP / 2 + 5, "font-size": LETTERS, "text-anchor": "middle" };
  return shape("g", {}, box, shape("text", at, ...(starts ? [start] : []), text));
}
