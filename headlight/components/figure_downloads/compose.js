// A figure of Plotly's as one SVG: its layers upon one another, as the page shows it, but always in the light theme.

import { isDark, setAttributes, svgElement } from "../lib/canvas.js";
import { FALLBACKS, INK, PAPER, inXml } from "../export/svg.js";
import { boxes } from "./cells.js";

const GRID = "rgb(230, 234, 241)"; // of the light theme
// Of figures of weights, by .streamlit/config.toml: the strongest colour, and that of digits on strong cells.
const OF_WEIGHTS = [["rgb(158, 202, 255)", "rgb(8, 48, 107)"], ["rgb(1, 0, 0)", PAPER]];
const FOR_THE_POINTER = ".draglayer, .hoverlayer, .zoomlayer, .selectionlayer";
const OF_TEXTS = ["fill", "font-size", "font-weight", "font-style", "opacity", "white-space"];
const COLOUR = /rgba?\([^)]*\)/g;

// The file's text, its size in pixels, and the fonts' families. `faces` is a style sheet that brings fonts along.
export function composed(figure, { title, caption }, faces = "") {
  const { width, height } = figure._fullLayout, colours = inLight(figure), families = new Set();
  const stage = copyOf(figure, colours);
  try {
    for (const part of stage.querySelectorAll("*")) clean(part, colours);
    settle([...stage.querySelectorAll("text")], families);
    const look = { xmlns: "http://www.w3.org/2000/svg", width, height, viewBox: `0 0 ${width} ${height}` };
    const picture = svgElement("svg", look, svgElement("title", {}, title), svgElement("desc", {}, caption));
    if (faces) picture.append(svgElement("style", {}, faces));
    picture.append(svgElement("rect", { class: "paper", width, height, fill: PAPER }));
    for (const layer of stage.children) picture.append(svgElement("g", {}, ...layer.childNodes));
    return { text: inXml(new XMLSerializer().serializeToString(picture)), width, height, families };
  } finally {
    stage.remove();
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

// A copy of the figure's layers, in the page for a moment so that its style sheet says how texts look in the light.
function copyOf(figure, colours) {
  const light = (colour) => colours.get(asWritten(colour)) ?? colour;
  const layers = [...figure.querySelectorAll(".main-svg")], stage = document.createElement("div");
  stage.className = "js-plotly-plot";
  stage.style.cssText = `position: absolute; visibility: hidden; color-scheme: light; color: ${INK}`;
  stage.append(...layers.map((layer) => layer.cloneNode(true)));
  const drawn = layers.flatMap((layer) => [...layer.querySelectorAll("g.hm")]);
  [...stage.querySelectorAll("g.hm")].forEach((group, at) => {
    const cells = boxes(drawn[at], figure._fullLayout, light);
    if (cells) group.replaceChildren(cells);
  });
  for (const part of stage.querySelectorAll(FOR_THE_POINTER)) part.remove();
  figure.parentElement.append(stage);
  return stage;
}

// Without what only the page needs, in the light theme's colours.
function clean(part, colours) {
  for (const { name } of [...part.attributes]) if (name.startsWith("data-")) part.removeAttribute(name);
  if (part.classList.contains("crisp")) part.setAttribute("shape-rendering", "crispEdges");
  const stop = part.getAttribute("stop-color"); // of a colour bar
  if (colours.has(stop)) part.setAttribute("stop-color", colours.get(stop));
  const style = part.getAttribute("style");
  if (!style) return;
  const light = style.replace(COLOUR, (colour) => colours.get(colour) ?? colour);
  part.setAttribute("style", light.replace(/pointer-events: \w+;?/g, ""));
}

// The look that the page gives a text becomes its own. What the page hides goes. All are asked before any is changed:
// after each change the browser would look through the page's style sheet anew.
function settle(texts, families) {
  const looks = texts.map((text) => {
    const style = getComputedStyle(text), family = style.fontFamily.split(",")[0].replace(/["']/g, "").trim();
    const look = OF_TEXTS.map((name) => `${name}: ${style.getPropertyValue(name)}`).join("; ");
    return { hidden: style.display === "none", family, style: `${look}; font-family: "${family}", ${FALLBACKS}` };
  });
  looks.forEach(({ hidden, family, style }, at) => {
    if (hidden) texts[at].remove();
    else setAttributes(texts[at], { style });
    if (!hidden) families.add(family);
  });
}
