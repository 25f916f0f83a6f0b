// A pen for drawings on a canvas that keeps shapes of SVG instead of pixels, always in the light theme, to be saved. It
// has what our drawings use of a canvas's own pen, and the `title` of what is drawn next, which a browser shows on
// pointing.

import { INK, PAPER } from "../lib/colours.js";
import { painted, rounded, shape } from "./svg.js";
import { widthOf } from "./pictures.js";

const ANCHORS = { center: "middle", right: "end", left: "start" };

export class SvgPen {
  constructor() {
    Object.assign(this, { parts: [], saved: [], isForFile: true, onDark: false, moved: "", dash: "", title: "" });
    Object.assign(this, { fillStyle: INK, strokeStyle: INK, lineWidth: 1, textAlign: "center", globalAlpha: 1 });
  }

  save() {
    this.saved.push({ ...this });
  }

  restore() {
    Object.assign(this, this.saved.pop());
  }

  translate(x, y) {
    this.moved += ` translate(${rounded(x)} ${rounded(y)})`;
  }

  rotate(angle) {
    this.moved += ` rotate(${rounded((angle * 180) / Math.PI)})`;
  }

  setLineDash(lengths) {
    this.dash = lengths.join(" ");
  }

  measureText(text) {
    return { width: widthOf(text, 12) };
  }

  fillRect(x, y, wide, high) {
    this.add("rect", { ...box(x, y, wide, high), ...this.paint("fill", this.fillStyle) });
  }

  strokeRect(x, y, wide, high) {
    this.add("rect", { ...box(x, y, wide, high), ...this.line() });
  }

  clearRect(x, y, wide, high) {
    this.add("rect", { ...box(x, y, wide, high), fill: PAPER });
  }

  // A font that is set is "600 13px NAME" or "13px NAME"; a text wider than `most` is squeezed.
  fillText(text, x, y, most = Infinity) {
    const [, bold, size = 12] = /^(600 )?([\d.]+)px/.exec(this.font) ?? [];
    const font = this.font && { "font-size": rounded(Number(size)), ...(bold && { "font-weight": 600 }) };
    const squeezed = most < Infinity && widthOf(text, size, bold ? 600 : 400) > most + 1;
    const length = squeezed && { textLength: rounded(most), lengthAdjust: "spacingAndGlyphs" };
    const look = { "text-anchor": ANCHORS[this.textAlign], ...font, ...length, ...this.paint("fill", this.fillStyle) };
    this.add("text", { x: rounded(x), y: rounded(y), ...look }, String(text));
  }

  beginPath() {
    this.path = "";
  }

  moveTo(x, y) {
    this.path += `M${rounded(x)} ${rounded(y)}`;
  }

  lineTo(x, y) {
    this.path += `L${rounded(x)} ${rounded(y)}`;
  }

  bezierCurveTo(...places) {
    this.path += `C${places.map(rounded).join(" ")}`;
  }

  stroke() {
    if (this.path) this.add("path", { d: this.path, ...this.line() });
  }

  // Cells side by side in this box: those of one colour are one path, neighbours in a row one box of it. colourOf(row,
  // column) is "" where a cell is blank.
  cells(rows, columns, colourOf, { x, y, wide, high }) {
    const paths = new Map();
    for (let row = 0; row < rows; row++) {
      for (let column = 0; column < columns;) {
        const colour = colourOf(row, column), from = column;
        do column++;
        while (column < columns && colourOf(row, column) === colour);
        paths.set(colour, `${paths.get(colour) ?? ""}M${from} ${row}h${column - from}v1h${from - column}z`);
      }
    }
    paths.delete("");
    const transform = `translate(${rounded(x)} ${rounded(y)}) scale(${wide / columns} ${high / rows})`;
    const parts = [...paths].map(([colour, d]) => shape("path", { d, ...this.paint("fill", colour) }));
    this.add("g", { class: "cells", transform, "shape-rendering": "crispEdges" }, ...parts);
  }

  paint(what, colour) {
    return painted(what, colour, this.globalAlpha);
  }

  line() {
    const dash = this.dash && { "stroke-dasharray": this.dash };
    const stroke = { ...this.paint("stroke", this.strokeStyle), "stroke-width": rounded(this.lineWidth) };
    return { fill: "none", ...stroke, ...dash };
  }

  add(tag, attributes, ...children) {
    const transform = [this.moved.trim(), attributes.transform].filter(Boolean).join(" ");
    const title = this.title ? [shape("title", {}, this.title)] : [];
    this.parts.push(shape(tag, { ...attributes, ...(transform && { transform }) }, ...title, ...children));
  }
}

const box = (x, y, wide, high) => ({ x: rounded(x), y: rounded(y), width: rounded(wide), height: rounded(high) });
