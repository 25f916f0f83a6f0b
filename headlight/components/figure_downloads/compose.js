// A figure of Plotly's as shapes: its layers upon one another, as the page shows it, but always in the light theme.

import { isDark } from "../lib/canvas.js";
import { shapesOf } from "../export/snapshot.js";
import { shape } from "../export/svg.js";
import { GRID, INK, OF_WEIGHTS, PAPER } from "../lib/colours.js";
import { boxes } from "./cells.js";

const FOR_THE_POINTER = ".draglayer, .hoverlayer, .zoomlayer, .selectionlayer";

export function composed(figure) {
  const { width, height } = figure._fullLayout, colours = inLight(figure), look = figure.style.cssText;
  const colourOf = (colour) => colours.get(colour) ?? colour;
  const replaced = (node) => {
    if (node.matches(FOR_THE_POINTER)) return shape("g");
    return node.matches("g.hm") && boxes(node, figure._fullLayout, (colour) => colourOf(asWritten(colour)));
  };
  figure.style.cssText = `${look}; color-scheme: light; color: ${INK}`; // unseen, for it is taken back at once
  try {
    const family = getComputedStyle(figure).fontFamily, layers = [...figure.querySelectorAll(".main-svg")];
    const parts = layers.flatMap(({ children }) => {
      return [...children].flatMap((each) => shapesOf(each, { family, colourOf, replaced }));
    });
    return { parts, width, height };
  } finally {
    figure.style.cssText = look;
  }
}

// The colours that the dark theme gave the figure, each with the light theme's.
function inLight(figure) {
  const { font, legend, paper_bgcolor: paper, ...others } = figure._fullLayout;
  if (!isDark(figure)) return new Map();
  const colours = new Map(OF_WEIGHTS);
  const add = (colour, light) => colour && colours.set(asWritten(colour), light);
  for (const [name, axis] of Object.entries(others)) {
    if (/^[xy]axis\d*$/.test(name) && !axis._input?.gridcolor) add(axis.gridcolor, GRID);
  }
  for (const colour of [paper, legend?.bgcolor]) add(colour, PAPER);
  for (const colour of [font.color, legend?.font.color, getComputedStyle(figure).color]) add(colour, INK);
  return colours;
}

function asWritten(colour) {
  const { style } = document.createElement("i");
  style.color = colour;
  return style.color;
}
