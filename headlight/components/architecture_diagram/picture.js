// The diagram as a picture to save, in ink on white, and the parameters of its blocks.

import { INK, group, placed, shape, write } from "../export/svg.js";
import { largest, layOut } from "./layout.js";

const LINES = { stroke: INK, "stroke-width": 1.2, fill: "none" };
const LABELS = { "font-size": 14, "text-anchor": "middle" }, SMALL = { "font-size": 12, "text-anchor": "middle" };

// What the menu makes files of; `open` has the layer of each stack that is unfolded.
export function figureOf(data, open) {
  const shown = { ...open };
  return {
    name: "architecture",
    label: "The model's blocks, from the bottom to the top",
    caption: captionOf(data, shown),
    drawing: () => drawingOf(data, shown),
    table: () => tableOf(data),
  };
}

function captionOf({ encoder, decoder }, open) {
  const layer = (stack, name) => `layer ${open[name] + 1} of ${stack.layers.length}`;
  return (
    "The model's blocks, from the bottom to the top, as in figure 1 of “Attention Is All You Need”. Left, the " +
    `encoder with ${layer(encoder, "encoder")} unfolded; right, the decoder with ${layer(decoder, "decoder")}. Under ` +
    "the name of a block stand its parameters and their share of all."
  );
}

function drawingOf(data, open) {
  const { parts, stacks, top, width, height } = layOut(data, open, largest());
  const numbers = stacks.map(({ count, open: layer, x, y }) => {
    return write(`layer ${layer + 1} of ${count}`, x - 30, y - 8, { "font-size": 12 });
  });
  const whole = group(0, -top, ...parts.map(inInk), ...numbers);
  return placed([{ parts: [whole], x: 0, y: 0, width, height }]);
}

// A shape with the look that the page's style sheet gives it there.
function inInk({ tag, attributes: { class: name, "data-name": block, ...attributes }, children }) {
  const look = { line: LINES, path: LINES, text: name === "small" ? SMALL : LABELS }[tag] ?? {};
  const known = { ...(block && { class: "box" }), ...(tag === "rect" && name !== "frame" && { stroke: INK }) };
  return shape(tag, { ...known, ...attributes, ...look }, ...children.map((part) => (part.tag ? inInk(part) : part)));
}

function tableOf({ encoder, decoder, output }) {
  const of = ({ before, layers, after }) => [...before, ...layers.flat(), ...after];
  const rows = [...of(encoder), ...of(decoder), ...output].map(({ stack, layer, label, parameters, note }) => {
    return [stack, layer === null ? "" : layer + 1, label, parameters, parameters ? "" : note];
  });
  return { header: ["stack", "layer", "block", "parameters", "note"], rows };
}
