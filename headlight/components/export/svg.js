// SVG files written from numbers and texts alone, not from the page: a picture to save is always in the light theme and
// of the same size, whatever the window. Parts are {tag, attributes, children}; texts are children and stay texts.

const NOT_IN_XML = /[^\t\n\r\u0020-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/gu;
const SIGNS = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };

export const INK = "rgb(47, 45, 43)"; // of the light theme
export const PAPER = "rgb(255, 255, 255)";
export const GREY = { fill: "none", stroke: "rgb(128, 128, 128)", "stroke-opacity": 0.55 }; // as FRAME in lib/canvas.js
export const PAGES_FONT = "Source Sans"; // the app's; a page that was taken away has none of its own
// Where the page's own font is not there.
export const FALLBACKS = '"Source Sans 3", "Source Sans Pro", Helvetica, Arial, sans-serif';
export const FAMILY = `"${PAGES_FONT}", ${FALLBACKS}`;
const SMALLER = 0.75, LOWER = 0.25, HIGHER = -0.4; // of an index or an exponent, as parts of its formula's letters
const MARGIN = 8; // pixels

export const rounded = (number) => Number(number.toFixed(3));

export const shape = (tag, attributes = {}, ...children) => ({ tag, attributes, children });

export const group = (x, y, ...parts) => shape("g", { transform: `translate(${rounded(x)} ${rounded(y)})` }, ...parts);

export const write = (text, x, y, look = {}) => shape("text", { x: rounded(x), y: rounded(y), ...look }, String(text));

// What XML cannot hold is replaced.
export const inXml = (text) => text.replace(NOT_IN_XML, "\uFFFD");

const escaped = (value) => inXml(String(value)).replace(/[&<>"]/g, (sign) => SIGNS[sign]);

// A part with all that is in it, as text.
export function svgText(part) {
  if (typeof part === "string") return escaped(part);
  const { tag, attributes, children } = part;
  const look = Object.entries(attributes).map(([name, value]) => ` ${name}="${escaped(value)}"`).join("");
  return children.length ? `<${tag}${look}>${children.map(svgText).join("")}</${tag}>` : `<${tag}${look}/>`;
}

// A colour as [red, green, blue, opacity] in the words that every program understands.
export function painted([red, green, blue, opaque]) {
  return { fill: `rgb(${[red, green, blue].map(Math.round).join(", ")})`, "fill-opacity": Number(opaque.toFixed(4)) };
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

// Drawings {parts, width, height, x, y} on one picture with a margin around them: its parts and its size.
export function placed(drawings) {
  const reach = (side, size) => Math.max(...drawings.map((each) => each[side] + each[size]));
  return {
    parts: drawings.map(({ parts, x, y }) => group(x + MARGIN, y + MARGIN, ...parts)),
    width: Math.ceil(reach("x", "width") + 2 * MARGIN),
    height: Math.ceil(reach("y", "height") + 2 * MARGIN),
  };
}

// Drawings {parts, width, height} one after another along a side, "x" or "y", so many pixels apart, from there on.
export function inLine(side, drawings, apart, from = 0) {
  const size = { x: "width", y: "height" }[side];
  let at = from;
  return drawings.map((drawing) => {
    const moved = { x: 0, y: 0, ...drawing, [side]: at };
    at += drawing[size] + apart;
    return moved;
  });
}

// A formula of ours: its <sub> and <sup> stand lower and higher, in smaller letters.
export function writeFormula(text, x, y, size, look = {}) {
  let shifted = 0;
  const pieces = text.split(/(<su[bp]>.*?<\/su[bp]>)/).filter(Boolean).map((part) => {
    const found = /^<(su[bp])>(.*)<\/su[bp]>$/.exec(part), to = found ? (found[1] === "sub" ? LOWER : HIGHER) : 0;
    const dy = rounded((to - shifted) * size);
    shifted = to;
    return shape("tspan", { dy, "font-size": rounded(found ? SMALLER * size : size) }, found ? found[2] : part);
  });
  return shape("text", { x: rounded(x), y: rounded(y), ...look }, ...pieces);
}
