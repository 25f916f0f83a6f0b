// A picture of what a component shows, for a file: its boxes, texts and drawings as shapes, in the light theme, with
// what is scrolled away. While it is made, within one task and so unseen, the component has the class "pictured"
// (lib/controls.css), and its canvases have pens that keep shapes.

import { offerDownload } from "./menu.js";
import { SvgPen } from "./pen.js";
import { drawingOf, painted, rounded, shape } from "./svg.js";

const LEFT_OUT = ".download, .menu, .branch, .asks, .letters, [hidden]";
const NOT_DRAWN = /^(aria-|data-|on|role$|style$|tabindex$|xmlns)/; // attributes
const GROUPS = new Set(["g", "defs", "clipPath", "linearGradient", "stop", "title"]);
const SMOOTH = ["shape-rendering", "image-rendering"];
const ANCHORS = { center: "middle", right: "end", end: "end" };

// The drawing {parts, width, height} of these elements of a component's frame, where they stand. redraw() draws what
// depends on the theme anew.
export function snapshot(frame, elements, redraw = () => {}) {
  const all = [...frame.querySelectorAll("*")], canvases = all.filter((each) => each.matches("canvas"));
  const scrolled = all.filter((each) => each.scrollTop || each.scrollLeft).map((each) => {
    return [each, each.scrollLeft, each.scrollTop];
  });
  for (const canvas of canvases) canvas.svgPen = new SvgPen();
  frame.classList.add("pictured");
  try {
    redraw();
    const taking = new Snapshot(frame), parts = elements.flatMap((each) => taking.partsOf(each));
    return drawingOf(parts, taking.reach);
  } finally {
    frame.classList.replace("pictured", "still"); // else colours would fade from the light theme back to the page's
    for (const canvas of canvases) delete canvas.svgPen;
    redraw();
    getComputedStyle(frame).getPropertyValue("color");
    frame.classList.remove("still");
    for (const [each, left, top] of scrolled) each.scrollTo(left, top);
  }
}

// A button to be put beside a picture of what a component shows: elements() of its frame, drawn as `snapshot` has it.
// figureOf() is all else that the menu makes files of.
export function offerPicture(label, figureOf, frame, elements, redraw) {
  return offerDownload(label, () => ({ ...figureOf(), drawing: () => snapshot(frame, elements(), redraw) }));
}

class Snapshot {
  constructor(frame) {
    this.zoom = frame.currentCSSZoom ?? 1;
    this.family = getComputedStyle(frame).fontFamily;
    this.reach = { left: Infinity, top: Infinity, right: -Infinity, bottom: -Infinity };
    this.ruler = document.createElement("canvas").getContext("2d");
  }

  // Where something stands, in the pixels of the component.
  placeOf({ x, y, width, height }) {
    return { x: x / this.zoom, y: y / this.zoom, wide: width / this.zoom, high: height / this.zoom };
  }

  // The same of what the picture shows: it reaches so far.
  reachTo(rect) {
    const place = this.placeOf(rect), { x, y, wide, high } = place;
    const { left, top, right, bottom } = this.reach;
    Object.assign(this.reach, { left: Math.min(left, x), top: Math.min(top, y) });
    Object.assign(this.reach, { right: Math.max(right, x + wide), bottom: Math.max(bottom, y + high) });
    return place;
  }

  partsOf(element) {
    const style = getComputedStyle(element);
    if (element.matches(LEFT_OUT) || style.display === "none" || style.visibility === "hidden") return [];
    if (style.transform !== "none") return this.turned(element, style.transform, style.transformOrigin);
    const parts = this.partsWithin(element, style), name = element.getAttribute("class");
    const look = { ...(name && { class: name }), ...(style.opacity < 1 && { opacity: style.opacity }) };
    return parts.length && Object.keys(look).length ? [shape("g", look, ...parts)] : parts;
  }

  partsWithin(element, style) {
    if (element.matches("svg")) return this.drawn(element);
    if (element.matches("canvas")) return this.painted(element);
    const children = [...element.childNodes].flatMap((node) => {
      if (node.nodeType === Node.TEXT_NODE) return this.linesOf(node, style);
      return node.nodeType === Node.ELEMENT_NODE ? this.partsOf(node) : [];
    });
    return [...this.boxOf(element, style), ...children];
  }

  // What is turned, as it would stand otherwise, and then turned.
  turned(element, transform, origin) {
    element.style.transform = "none";
    const { x, y } = this.placeOf(element.getBoundingClientRect());
    const [across, down] = origin.split(" ").map(parseFloat), parts = this.partsOf(element);
    element.style.transform = "";
    const moved = (...to) => `translate(${to.map(rounded).join(" ")})`;
    const turn = `${moved(x + across, y + down)} ${transform} ${moved(-x - across, -y - down)}`;
    return [shape("g", { transform: turn }, ...parts)];
  }

  // The box of an element that has a colour or a border all around.
  boxOf(element, style) {
    const fill = painted("fill", style.backgroundColor), border = parseFloat(style.borderTopWidth);
    const isFramed = border > 0 && parseFloat(style.borderLeftWidth) > 0 && style.borderTopStyle !== "none";
    const rect = element.getBoundingClientRect();
    if ((fill.fill === "none" && !isFramed) || !rect.width || !rect.height) return [];
    const { x, y, wide, high } = this.reachTo(rect);
    const inset = isFramed ? border / 2 : 0, radius = parseFloat(style.borderTopLeftRadius);
    const rx = style.borderTopLeftRadius.endsWith("%") ? (wide * radius) / 100 : radius;
    const size = { width: rounded(wide - 2 * inset), height: rounded(high - 2 * inset), rx: rounded(rx) };
    const dashed = style.borderTopStyle === "dashed" && { "stroke-dasharray": "4 3" };
    const line = isFramed && { ...painted("stroke", style.borderTopColor), "stroke-width": border, ...dashed };
    return [shape("rect", { x: rounded(x + inset), y: rounded(y + inset), ...size, ...fill, ...line })];
  }

  // The words of a text, those that stand on one line together.
  linesOf(node, style) {
    const range = document.createRange(), lines = [];
    for (const { 0: word, index } of node.data.matchAll(/\S+/g)) {
      range.setStart(node, index);
      range.setEnd(node, index + word.length);
      const [rect] = range.getClientRects();
      if (!rect?.width || !parseFloat(style.fontSize)) continue;
      const { x, y, wide, high } = this.reachTo(rect), last = lines.at(-1);
      const right = x + wide, goesOn = last && Math.abs(last.y - y) < high / 2;
      if (goesOn) Object.assign(last, { text: `${last.text} ${word}`, right });
      else lines.push({ text: word, x, y, high, right });
    }
    return lines.map((line) => this.written(line, style));
  }

  written({ text, x, y, high, right }, style) {
    this.ruler.font = `${style.fontStyle} ${style.fontWeight} ${style.fontSize} ${style.fontFamily}`;
    const { fontBoundingBoxAscent: above, fontBoundingBoxDescent: below } = this.ruler.measureText(text);
    const anchor = ANCHORS[style.textAlign], at = { middle: (x + right) / 2, end: right }[anchor] ?? x;
    return shape("text", {
      x: rounded(at), y: rounded(y + (high * above) / (above + below)), "font-size": parseFloat(style.fontSize),
      ...painted("fill", style.color), ...(anchor && { "text-anchor": anchor }), ...fontOf(style, this.family),
    }, text);
  }

  painted(canvas) {
    const { x, y, wide } = this.reachTo(canvas.getBoundingClientRect()), scale = wide / parseFloat(canvas.style.width);
    const transform = `translate(${rounded(x)} ${rounded(y)}) scale(${rounded(scale)})`;
    return [shape("g", { transform }, ...canvas.svgPen.parts)];
  }

  drawn(svg) {
    const { x, y, wide, high } = this.reachTo(svg.getBoundingClientRect());
    const place = { x: rounded(x), y: rounded(y), width: rounded(wide), height: rounded(high), overflow: "visible" };
    const viewBox = svg.getAttribute("viewBox") ?? `0 0 ${place.width} ${place.height}`;
    return [shape("svg", { ...place, viewBox }, ...[...svg.children].flatMap((each) => shapesOf(each, this)))];
  }
}

// What of a font is not as in the rest of a picture.
function fontOf({ fontWeight, fontStyle, fontFamily }, family) {
  return {
    ...(fontWeight !== "400" && { "font-weight": fontWeight }),
    ...(fontStyle !== "normal" && { "font-style": fontStyle }),
    ...(fontFamily !== family && { "font-family": fontFamily }),
  };
}

// A part of a drawing as shapes with the look that the style sheet gives it; none where it is hidden. In place of some
// parts there may be others, replaced(node), and in place of their colours, colourOf(colour).
export function shapesOf(node, { family, colourOf = (colour) => colour, replaced = () => null }) {
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
