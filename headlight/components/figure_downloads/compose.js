// A figure of Plotly's as shapes: its layers upon one another, as the page shows it, but always in the light theme.

import { isDark } from "../lib/canvas.js";
import { painted, shape } from "../export/svg.js";
import { GRID, INK, OF_WEIGHTS, PAPER } from "../lib/colours.js";
import { boxes } from "./cells.js";

const NOT_DRAWN = /^(aria-|data-|on|role$|style$|tabindex$|xmlns)/; // attributes
const GROUPS = new Set(["g", "defs", "clipPath", "linearGradient", "stop", "title"]);
const SMOOTH = ["shape-rendering", "image-rendering"];
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

// The attributes of a font that differ from the rest of a picture.
function fontOf({ fontWeight, fontStyle, fontFamily }, family) {
  return {
    ...(fontWeight !== "400" && { "font-weight": fontWeight }),
    ...(fontStyle !== "normal" && { "font-style": fontStyle }),
    ...(fontFamily !== family && { "font-family": fontFamily }),
  };
}

// A part of a drawing as shapes with the look that the style sheet gives it; none where it is hidden. In place of some
// parts there may be others, replaced(node), and in place of their colours, colourOf(colour).
function shapesOf(node, { family, colourOf, replaced }) {
  if (node.nodeType === Node.TEXT_NODE) return [node.data];
  const style = getComputedStyle(node), other = replaced(node), isText = ["text", "tspan"].includes(node.localName);
  if (other) return [other];
  if (style.display === "none" || style.visibility === "hidden") return [];
  const look = Object.fromEntries([...node.attributes].filter(({ name }) => !NOT_DRAWN.test(name)).map((attribute) => {
    return [attribute.name, colourOf(attribute.value)];
  }));
  for (const name of SMOOTH) if (style.getPropertyValue(name) !== "auto") look[name] = style.getPropertyValue(name);
  if (style.opacity < 1) look.opacity = style.opacity;
  if (!GROUPS.has(node.localName)) {
    const stroke = painted("stroke", colourOf(style.stroke), style.strokeOpacity);
    Object.assign(look, painted("fill", colourOf(style.fill), style.fillOpacity));
    if (stroke.stroke !== "none") Object.assign(look, stroke, { "stroke-width": parseFloat(style.strokeWidth) });
    if (style.strokeDasharray !== "none") look["stroke-dasharray"] = style.strokeDasharray.replaceAll("px", "");
  }
  if (isText) Object.assign(look, { "font-size": parseFloat(style.fontSize) }, fontOf(style, family));
  if (node.localName === "text") look["text-anchor"] = style.textAnchor;
  const children = [...node.childNodes].flatMap((each) => shapesOf(each, { family, colourOf, replaced }));
  return [shape(node.localName, look, ...children)];
}
