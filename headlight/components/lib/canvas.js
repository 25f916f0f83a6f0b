// Elements with text, colours of numbers, canvases, and keys on a canvas.

import { BLACK, PAGES, RAMPS, SIGNED, WEIGHT, WHITE, asText } from "./colours.js";

export const JOINT = " → "; // between the input token and the output token of a decoder row

export const ARROWS = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };

// The opacity of a signed share of full colour; above 0, so that a cell of 0 is not blank.
export const opacity = (share) => 0.03 + 0.69 * Math.min(1, share);

const FAINT = 0.3;
const MIDDLE = 0.179; // the luminance from which black and white stand out alike

const themeOf = (dark) => (dark ? "dark" : "light");

export function shade(weight, dark = false) {
  const [none, half, full] = RAMPS[themeOf(dark)], share = 2 * Math.min(1, Math.max(0, weight));
  const [from, to, way] = share < 1 ? [none, half, share] : [half, full, share - 1];
  return from.map((part, at) => part + way * (to[at] - part));
}

// The ramp in steps that no eye tells apart: maps of many heads have 100,000 cells and more.
const RAMP_STEPS = 1024, ramps = {};
function steppedShade(weight, dark) {
  const shades = () => Array.from({ length: RAMP_STEPS + 1 }, (_, at) => shade(at / RAMP_STEPS, dark));
  const ramp = (ramps[themeOf(dark)] ??= shades());
  return ramp[Math.round(RAMP_STEPS * Math.min(1, Math.max(0, weight)))];
}

export const blue = (weight, dark = false) => asText(shade(weight, dark));

// A share of the blue of weights behind a text.
export const tintOf = (share) => asText([...WEIGHT, share]);

// The colour of a digit on a cell of this weight: the page's own on a faint cell, else black or white, whichever stands
// out more.
export function labelColor(weight, dark, own) {
  if (weight < FAINT) return own;
  const cell = shade(weight, dark), opaque = cell[3];
  const visible = PAGES[themeOf(dark)].map((part, at) => part + opaque * (cell[at] - part));
  return luminance(visible) > MIDDLE ? BLACK : WHITE;
}

// The luminance of WCAG 2 of red, green and blue from 0 to 255.
function luminance(colour) {
  const linear = (part) => (part <= 10 ? part / 3294.6 : ((part / 255 + 0.055) / 1.055) ** 2.4);
  const [red, green, blue_] = colour.map(linear);
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue_;
}

// Return whether the page is dark, by the colour of its text.
export function isDark(place) {
  const parts = getComputedStyle(place).color.match(/[\d.]+/g);
  return parts ? luminance(parts.slice(0, 3).map(Number)) > MIDDLE : false;
}

// Colour an element by a weight, its text readable on it; null takes the colour away.
export function tint(place, weight, dark) {
  place.style.backgroundColor = weight === null ? "" : blue(weight, dark);
  place.style.color = weight === null ? "" : labelColor(weight, dark, "");
}

// Children are elements, or texts that are set as text.
export function element(tag, className = "", ...children) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  made.append(...children);
  return made;
}

export function button(text, onclick, className = "") {
  return Object.assign(element("button", className, text), { type: "button", onclick });
}

// Words of a lesson as [style, text]: a style is the name of an element, token texts are set as text.
export function setWords(place, parts) {
  place.replaceChildren(...parts.map(([style, text]) => (style ? element(style, "", text) : text)));
}

// An element of SVG, which has attributes in place of a class.
export function svgElement(tag, attributes, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  setAttributes(made, attributes);
  made.append(...children);
  return made;
}

export function setAttributes(made, attributes) {
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
}

// A formula of ours: its <sub> and <sup> become elements, all else is text.
export function setFormula(place, text) {
  const parts = text.split(/(<su[bp]>.*?<\/su[bp]>)/).map((part) => {
    const match = /^<(su[bp])>(.*)<\/su[bp]>$/.exec(part);
    return match ? element(match[1], "", match[2]) : document.createTextNode(part);
  });
  place.replaceChildren(...parts);
}

// A label of two tokens, "liebe → meinen", has each of them shortened.
export function shortened(label) {
  return label.split(JOINT).map((part) => (part.length > 12 ? `${part.slice(0, 11)}…` : part)).join(JOINT);
}

// Return whether a click adds to the selection.
export const withMore = (event) => event.shiftKey || event.ctrlKey || event.metaKey;

// Return whether a key is a shortcut of the browser: with Alt the left arrow is Back.
export const isShortcut = (event) => event.altKey || event.ctrlKey || event.metaKey;

// Let a canvas be used by keys: move([down, right]) for an arrow, choose(event) for Enter and the space bar.
export function listenToKeys(canvas, { move, choose }) {
  canvas.tabIndex = 0;
  canvas.setAttribute("role", "application");
  canvas.onkeydown = (event) => {
    if (isShortcut(event)) return;
    if (event.key in ARROWS) move(ARROWS[event.key]);
    else if (event.key === "Enter" || event.key === " ") choose(event);
    else return;
    event.preventDefault();
  };
}

// The CSS zoom of a canvas: in presentation mode, 1.5.
const zoomOf = (canvas) => canvas.currentCSSZoom ?? 1;

// The position of an event on its canvas, in the canvas's pixels.
export function placeOf({ offsetX, offsetY, target }) {
  const zoom = zoomOf(target);
  return { x: offsetX / zoom, y: offsetY / zoom };
}

// A canvas of this size in the page's pixels, ready to draw text and maps in the page's own colour.
export function prepare(canvas, width, height) {
  const ratio = (window.devicePixelRatio || 1) * zoomOf(canvas), style = getComputedStyle(canvas);
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  const pen = canvas.getContext("2d");
  pen.scale(ratio, ratio);
  pen.imageSmoothingEnabled = false;
  pen.font = `12px ${style.fontFamily}`;
  pen.fillStyle = style.color;
  pen.onDark = isDark(canvas); // which ramp of colours stands out from the page
  pen.textAlign = "center";
  return pen;
}

// A drawing on a canvas with a copy, so that marks on it can change without drawing it again.
export class Drawing {
  constructor(canvas) {
    this.canvas = canvas;
    this.copy = document.createElement("canvas");
  }

  start(width, height) {
    return (this.pen = prepare(this.canvas, width, height));
  }

  keep() {
    const { canvas, copy } = this;
    copy.width = canvas.width;
    copy.height = canvas.height;
    if (canvas.width && canvas.height) copy.getContext("2d").drawImage(canvas, 0, 0); // nothing of a hidden one
  }

  // The pen, with the copy restored.
  again() {
    const { pen, canvas, copy } = this;
    pen.save();
    pen.setTransform(1, 0, 0, 1, 0, 0);
    pen.clearRect(0, 0, canvas.width, canvas.height);
    if (copy.width && copy.height) pen.drawImage(copy, 0, 0);
    pen.restore();
    return pen;
  }
}

const BLANK = [...WEIGHT, 0];

// A share from -1, brown, to 1, teal, as red, green, blue and opacity; small ones stand out less from a dark page.
function around(share, dark) {
  const size = Math.abs(share) ** (dark ? 0.7 : 1);
  return [...SIGNED[themeOf(dark)][Number(share >= 0)], opacity(size)];
}

// The same as a colour of CSS.
export const signedColour = (share) => asText(around(share, false));

// Cells side by side in a box {x, y, wide, high}. share(row, column) is the part of full colour from 0 to 1, of
// `signed` values from -1 to 1, NaN where a cell stays blank. `raster` is one of this size that is there already.
export function paintCells(pen, { rows, columns, share, signed = false }, box, raster = null) {
  const colourOf = (part) => (signed ? around : steppedShade)(part, pen.onDark);
  if (pen.isForFile) {
    const textOf = (part) => (Number.isNaN(part) ? "" : asText(colourOf(part)));
    return pen.cells(rows, columns, (row, column) => textOf(share(row, column)), box);
  }
  const image = (raster ?? new Raster(columns, rows)).of((row, column) => {
    const part = share(row, column);
    return Number.isNaN(part) ? BLANK : colourOf(part);
  });
  pen.drawImage(image, box.x, box.y, box.wide, box.high);
}

// Colours as an image with a pixel per cell, stretched without blur.
export class Raster {
  constructor(columns, rows) {
    this.canvas = Object.assign(document.createElement("canvas"), { width: columns, height: rows });
    this.pen = this.canvas.getContext("2d");
    this.image = this.pen.createImageData(columns, rows);
    Object.assign(this, { columns, rows });
  }

  of(colourOf) {
    const { data } = this.image;
    for (let row = 0, at = 0; row < this.rows; row++) {
      for (let column = 0; column < this.columns; column++, at += 4) {
        const colour = colourOf(row, column);
        data[at] = colour[0];
        data[at + 1] = colour[1];
        data[at + 2] = colour[2];
        data[at + 3] = 255 * colour[3];
      }
    }
    this.pen.putImageData(this.image, 0, 0);
    return this.canvas;
  }
}
