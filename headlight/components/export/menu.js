// Downloads of a figure, in a menu that a button beside it opens: picture as PNG or SVG, numbers as CSV and NPZ, and a
// caption to copy. Nothing is made before the visitor asks for it, and the server has no part in it.
//
// A figure is {name, label, caption, drawing, png, table, matrices}: the name of its files; a few words on the figure;
// its caption; drawing() gives {parts, width, height} of a vector graphic; png() gives the picture of a figure without
// one; table() gives {header, rows}; matrices() gives the arguments of npz.js, or files() its files. Without one of
// these functions a figure has no such file.

import { element, svgElement } from "../lib/canvas.js";
import { copyText } from "../lib/clipboard.js";
import { inWords } from "../lib/tokens.js";
import { latexCaption } from "./caption.js";
import { csvOf } from "./csv.js";
import { archive, filesOf } from "./npz.js";
import { fontFaces, pngOf, saveFile } from "./pictures.js";
import { PAGES_FONT, svgFile } from "./svg.js";
import { say } from "./texts.toml";

const ARROW = "M8 2v8M4.5 7 8 10.5 11.5 7M3 13.5h10";
const GAP = 4; // pixels between a button and the menu, and between the menu and the window's edge
const ROWS = [
  [say("picture"), [["png", "PNG"], ["svg", "SVG"]]],
  [say("numbers"), [["csv", "CSV"], ["npz", "NPZ"]]],
  [say("caption"), [["copy", say("copy")], ["latex", say("latex")]]],
];

// A button that opens a menu.
export function downloadButton(className) {
  const icon = svgElement("svg", { viewBox: "0 0 16 16", "aria-hidden": "true" }, svgElement("path", { d: ARROW }));
  const button = element("button", className, icon);
  Object.assign(button, { type: "button", title: say("download") });
  button.setAttribute("aria-haspopup", "dialog");
  return button;
}

// A component's own button, to be put beside its figure; figureOf() says at each click what is to be had.
export function offerDownload(label, figureOf) {
  const button = downloadButton("download");
  button.setAttribute("aria-label", say("download_of", { figure: label }));
  button.onclick = () => {
    (button.menu ??= new DownloadMenu(button.parentElement)).open(button, figureOf());
  };
  return button;
}

export class DownloadMenu {
  constructor(place) {
    const button = ([what, name]) => {
      const node = element("button", "", name);
      node.type = "button";
      node.dataset.take = what;
      node.onclick = () => this.take(what);
      return node;
    };
    const row = ([name, kinds]) => element("div", "", element("span", "", name), ...kinds.map(button));
    this.rows = ROWS.map(row);
    this.caption = element("p", "caption");
    this.status = element("p", "status");
    this.menu = element("div", "menu", ...this.rows, this.caption, this.status);
    const look = { popover: "auto", role: "dialog", "aria-label": say("menu") };
    for (const [name, value] of Object.entries(look)) this.menu.setAttribute(name, value);
    this.status.setAttribute("role", "status");
    this.menu.onkeydown = (event) => event.key === "Escape" && this.close(event);
    place.append(this.menu);
  }

  find(what) {
    return this.menu.querySelector(`[data-take=${what}]`);
  }

  open(opener, figure) {
    Object.assign(this, { opener, figure: { ...figure, caption: inWords(figure.caption) } });
    this.status.textContent = "";
    this.caption.textContent = this.figure.caption;
    this.find("svg").hidden = !figure.drawing;
    this.find("csv").hidden = !figure.table;
    this.find("npz").hidden = !figure.matrices && !figure.files;
    this.find("csv").parentElement.hidden = this.find("csv").hidden && this.find("npz").hidden;
    this.menu.showPopover();
    const zoom = this.menu.currentCSSZoom ?? 1, { right, top, bottom } = opener.getBoundingClientRect();
    const { width, height } = this.menu.getBoundingClientRect();
    const below = bottom + GAP + height <= window.innerHeight;
    const down = below ? bottom + GAP : Math.max(GAP, top - GAP - height);
    this.menu.style.left = `${Math.max(GAP, right - width) / zoom}px`;
    this.menu.style.top = `${down / zoom}px`;
    this.find("png").focus();
  }

  // By its key: the page has another use for it, to end a presentation.
  close(event) {
    event.stopPropagation();
    this.menu.hidePopover();
    this.opener.focus();
  }

  async take(what) {
    try {
      await this.make(what);
    } catch { // the page has drawn another figure meanwhile, or the picture is too large for the browser
      this.report(say("failed"));
    }
  }

  async make(what) {
    const { name, caption, table, matrices, files = () => filesOf(matrices()) } = this.figure;
    if (what === "copy") return this.reportCopied(what, await copyText(caption));
    if (what === "latex") return this.reportCopied(what, await copyText(latexCaption(caption)));
    if (what === "csv") saveFile(`${name}.csv`, "text/csv", csvOf(table()));
    else if (what === "npz") saveFile(`${name}.npz`, "application/octet-stream", archive(files()));
    else if (what === "svg") saveFile(`${name}.svg`, "image/svg+xml", (await this.vector()).text);
    else saveFile(`${name}.png`, "image/png", await this.pixels());
    this.report(say("saved", { file: `${name}.${what}` }));
  }

  async vector() {
    const { label: title, caption, drawing } = this.figure;
    return svgFile({ ...drawing(), title, caption }, await fontFaces(PAGES_FONT));
  }

  async pixels() {
    if (this.figure.png) return this.figure.png();
    const { text, ...size } = await this.vector();
    return pngOf(text, size);
  }

  // Copying by selection takes the keys away from the menu.
  reportCopied(what, done) {
    this.find(what).focus();
    this.report(say(done ? "copied" : "not_copied"));
  }

  report(words) {
    this.status.textContent = words;
  }
}
