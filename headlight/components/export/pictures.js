// Files that the visitor's own browser makes and saves: PNG of the text of an SVG file, and the fonts in it.

import { PAPER } from "../lib/colours.js";
import { FAMILY } from "./svg.js";

const SCALE = 2; // pixels of a PNG for one of the page's
const ADDRESS = /url\(["']?([^"')]+)["']?\)/; // in a style sheet
const HELD = 10_000; // ms that a file is held after the click: Safari reads it later

let ruler;

// The width of a text in the font of pictures, in pixels.
export function widthOf(text, size, weight = 400) {
  ruler ??= document.createElement("canvas").getContext("2d");
  ruler.font = `${weight} ${size}px ${FAMILY}`;
  return ruler.measureText(text).width;
}

// Let the browser save a file.
export function saveFile(name, type, ...parts) {
  const address = URL.createObjectURL(new Blob(parts, { type }));
  Object.assign(document.createElement("a"), { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), HELD);
}

// The PNG of a box of an SVG file, in the page's pixels, on white. An image does not see the page's fonts: they must be
// in the text (see fontFaces). Fails where the picture is larger than the browser draws.
export async function pngOf(text, { x = 0, y = 0, width, height }) {
  const image = new Image(), canvas = document.createElement("canvas");
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
  await image.decode();
  Object.assign(canvas, { width: Math.round(SCALE * width), height: Math.round(SCALE * height) });
  const pen = canvas.getContext("2d");
  pen.fillStyle = PAPER;
  pen.fillRect(0, 0, canvas.width, canvas.height);
  pen.drawImage(image, x, y, width, height, 0, 0, canvas.width, canvas.height);
  return new Promise((done, failed) => {
    canvas.toBlob((blob) => (blob ? done(blob) : failed(new Error("too large for a PNG"))), "image/png");
  });
}

// The page's own font of this family as rules that bring it along; "" where it is one of the visitor's system.
export async function fontFaces(family) {
  const rules = [...document.styleSheets].flatMap(rulesOf).filter((rule) => {
    return rule instanceof CSSFontFaceRule && valueOf(rule, "font-family") === family && !isItalic(rule);
  });
  return (await Promise.all(rules.map(embedded))).join("");
}

function rulesOf(sheet) {
  try {
    return [...sheet.cssRules];
  } catch {
    return []; // of another site
  }
}

const valueOf = (rule, name) => rule.style.getPropertyValue(name).replace(/["']/g, "");
const isItalic = (rule) => valueOf(rule, "font-style") === "italic";

async function embedded(rule) {
  const address = ADDRESS.exec(rule.style.getPropertyValue("src"));
  if (!address) return "";
  try {
    const answer = await fetch(new URL(address[1], rule.parentStyleSheet.href ?? document.baseURI));
    if (!answer.ok) return "";
    const family = valueOf(rule, "font-family"), weight = valueOf(rule, "font-weight") || "normal";
    const data = await asDataAddress(await answer.blob());
    return `@font-face { font-family: "${family}"; font-weight: ${weight}; src: url(${data}); }\n`;
  } catch {
    return ""; // no network: the picture is written in a font of the visitor's system
  }
}

function asDataAddress(blob) {
  return new Promise((done, failed) => {
    const reader = new FileReader();
    Object.assign(reader, { onload: () => done(reader.result), onerror: () => failed(reader.error) });
    reader.readAsDataURL(blob);
  });
}
