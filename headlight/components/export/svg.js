// SVG files from shapes {tag, attributes, children}; texts are children and stay texts.

import { INK, PAPER } from "../lib/colours.js";

const NOT_IN_XML = /[^\t\n\r\u0020-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/gu;
const SIGNS = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
const RGB = /^rgba?\(([\d.]+), ([\d.]+), ([\d.]+)(?:, ([\d.]+))?\)$/;

export const PAGES_FONT = "Source Sans"; // the app's; a page that was taken away has none of its own
// Used where the page's font is missing.
const FALLBACKS = '"Source Sans 3", "Source Sans Pro", Helvetica, Arial, sans-serif';
export const FAMILY = `"${PAGES_FONT}", ${FALLBACKS}`;
const MARGIN = 8; // pixels

export const rounded = (number) => Number(number.toFixed(3));

export const shape = (tag, attributes = {}, ...children) => ({ tag, attributes, children });

// Replace characters that XML cannot hold.
export const inXml = (text) => text.replace(NOT_IN_XML, "\uFFFD");

const escaped = (value) => inXml(String(value)).replace(/[&<>"]/g, (sign) => SIGNS[sign]);

// A part with all that is in it, as text.
export function svgText(part) {
  if (typeof part === "string") return escaped(part);
  const { tag, attributes, children } = part;
  const look = Object.entries(attributes).map(([name, value]) => ` ${name}="${escaped(value)}"`).join("");
  return children.length ? `<${tag}${look}>${children.map(svgText).join("")}</${tag}>` : `<${tag}${look}/>`;
}

// A colour of CSS as the attributes of a "fill" or a "stroke" that programs other than browsers understand as well.
export function painted(what, colour, share = 1) {
  const [, red, green, blue, alpha = 1] = RGB.exec(colour) ?? [], opaque = rounded(alpha * share);
  if (!opaque) return { [what]: "none" };
  return { [what]: red ? `rgb(${red}, ${green}, ${blue})` : colour, [`${what}-opacity`]: opaque };
}

// The file's text and its size. `faces` is a style sheet that brings fonts along.
export function svgFile({ title, caption, width, height, parts }, faces = "") {
  const size = { width, height, viewBox: `0 0 ${width} ${height}` };
  const look = { "font-family": FAMILY, "font-size": 12, fill: INK, "xml:space": "preserve" };
  const picture = shape(
    "svg",
    { xmlns: "http://www.w3.org/2000/svg", ...size, ...look },
    shape("title", {}, title),
    shape("desc", {}, caption),
    ...(faces ? [shape("style", {}, faces)] : []),
    shape("rect", { class: "paper", width, height, fill: PAPER }),
    ...parts,
  );
  return { text: svgText(picture), width, height };
}

// Parts that lie from `left` and `top` on as a drawing {parts, width, height} with a margin around them.
export function drawingOf(parts, { left = 0, top = 0, right, bottom }) {
  const transform = `translate(${rounded(MARGIN - left)} ${rounded(MARGIN - top)})`;
  const [width, height] = [right - left, bottom - top].map((size) => Math.ceil(size + 2 * MARGIN));
  return { parts: [shape("g", { transform }, ...parts)], width, height };
}
