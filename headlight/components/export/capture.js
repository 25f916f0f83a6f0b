// A PNG of what a component shows, in the light theme and with everything that is scrolled out of sight: a copy of its
// elements and style sheets in an SVG image, drawn on a canvas.

import { element, svgElement } from "../lib/canvas.js";
import { offerDownload } from "./menu.js";
import { fontFaces, pngOf } from "./pictures.js";
import { PAGES_FONT, inXml } from "./svg.js";

const MARGIN = 8; // pixels
const LEFT_OUT = ".download, .branch, .asks, .letters";

// A button to be put beside what a component shows: the elements() of its frame. figureOf() has all else that the menu
// makes files of; redraw() draws anew what depends on the theme.
export function offerPicture(label, figureOf, frame, elements, redraw = () => {}) {
  return offerDownload(label, () => ({ ...figureOf(), png: () => capture(frame, elements(), redraw) }));
}

async function capture(frame, elements, redraw) {
  const faces = await fontFaces(PAGES_FONT);
  return pngOf(...inLight(frame, redraw, () => pictureOf(frame, elements, faces)));
}

// The result of take() while the frame has the class "pictured" (lib/controls.css): within one task, and so unseen.
function inLight(frame, redraw, take) {
  const scrolled = [...frame.querySelectorAll("*")].filter((each) => each.scrollTop || each.scrollLeft);
  const places = scrolled.map((each) => [each.scrollLeft, each.scrollTop]);
  frame.classList.add("pictured");
  try {
    redraw();
    return take();
  } finally {
    frame.classList.replace("pictured", "still"); // else colours would fade from the light theme back to the page's
    redraw();
    getComputedStyle(frame).getPropertyValue("color");
    frame.classList.remove("still");
    scrolled.forEach((each, at) => each.scrollTo(...places[at]));
  }
}

// The part of a frame that its elements reach, with a margin.
function boxOf(frame, elements) {
  const zoom = frame.currentCSSZoom ?? 1, from = frame.getBoundingClientRect();
  const all = elements.flatMap((each) => [each, ...each.querySelectorAll("*")]);
  const rects = all.map((each) => each.getBoundingClientRect()).filter(({ width, height }) => width && height);
  const [left, top] = ["left", "top"].map((side) => Math.min(...rects.map((each) => each[side])));
  const [right, bottom] = ["right", "bottom"].map((side) => Math.max(...rects.map((each) => each[side])));
  const [x, y] = [left - from.left, top - from.top].map((each) => each / zoom);
  const [width, height] = [right - left, bottom - top].map((each) => Math.ceil(each / zoom) + 2 * MARGIN);
  return { x, y, width, height };
}

// The text of an SVG file with a copy of the frame, and the elements' box in it. The file is as wide as the window at
// least, so that the style sheets' media queries have the same answers.
function pictureOf(frame, elements, faces) {
  const root = frame.getRootNode(), sheets = [...root.styleSheets, ...root.adoptedStyleSheets];
  const css = sheets.flatMap(({ cssRules }) => Array.from(cssRules, (rule) => rule.cssText)).join("\n");
  const page = element("div", "", element("style", "", faces, css), copyOf(frame, elements));
  const style = getComputedStyle(frame), box = boxOf(frame, elements);
  for (const [, name] of css.matchAll(/var\((--st-[\w-]+)/g)) {
    page.style.setProperty(name, style.getPropertyValue(name));
  }
  const lineHeight = parseFloat(style.lineHeight) / parseFloat(style.fontSize); // smaller texts have lower lines
  Object.assign(page.style, { width: `${frame.offsetWidth}px`, margin: `${MARGIN}px`, font: style.font, lineHeight });
  const width = Math.max(innerWidth, box.x + box.width), height = Math.max(innerHeight, box.y + box.height);
  const image = svgElement("svg", { width, height }, svgElement("foreignObject", { width, height }, page));
  return [inXml(new XMLSerializer().serializeToString(image)), box];
}

// A copy of the frame of which these elements alone are visible, with images in place of canvases.
function copyOf(frame, elements) {
  const copy = frame.cloneNode(true), all = [...frame.querySelectorAll("*")], copies = [...copy.querySelectorAll("*")];
  copy.style.visibility = "hidden";
  for (const each of elements) copies[all.indexOf(each)].style.visibility = "visible";
  for (const each of copy.querySelectorAll(LEFT_OUT)) each.style.visibility = "hidden"; // it keeps its place
  all.forEach((canvas, at) => {
    if (canvas.localName !== "canvas") return;
    const image = element("img", canvas.className);
    Object.assign(image, { src: canvas.toDataURL() }).style.cssText = copies[at].style.cssText;
    copies[at].replaceWith(image);
  });
  return copy;
}
