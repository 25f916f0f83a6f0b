// A button beside every figure of the page, and one menu for all of them: the figure as SVG and PNG, its numbers as CSV
// and NPZ, its caption to copy. Nothing is made before somebody asks for it.

import { element, svgElement } from "../lib/canvas.js";
import { copyText } from "../lib/clipboard.js";
import { mounted } from "../lib/mount.js";
import { fontFaces, pngOf, saveFile } from "../lib/pictures.js";
import { latexCaption } from "./caption.js";
import { composed } from "./compose.js";
import { archive, matrixFile, textFile } from "./npz.js";
import { csvOf, matricesOf, tableOf } from "./numbers.js";

const FIGURE = "js-plotly-plot", PLACE = "[data-testid=stElementContainer]", BUTTON = "figure_download";
const ARROW = "M8 2v8M4.5 7 8 10.5 11.5 7M3 13.5h10";
const GAP = 4; // pixels between a button and the menu, and between the menu and the window's edge

class FigureDownloads {
  constructor(root) {
    this.menu = root.querySelector(".menu");
    this.find = (selector) => this.menu.querySelector(selector);
    for (const button of this.menu.querySelectorAll("button")) button.onclick = () => this.take(button.dataset.take);
    this.menu.onkeydown = (event) => event.key === "Escape" && this.close(event);
    this.kept = new WeakSet(); // figures whose size is watched
    this.figures = document.getElementsByClassName(FIGURE); // always those that are there
    this.watch = new MutationObserver(() => (this.frame ??= requestAnimationFrame(() => this.offer())));
    this.watch.observe(document.body, { childList: true, subtree: true });
    this.offer();
  }

  receive() {}

  leave() {
    this.watch.disconnect();
    cancelAnimationFrame(this.frame);
    for (const button of document.querySelectorAll(`.${BUTTON}`)) button.remove();
  }

  // A button for each figure that has none.
  offer() {
    this.frame = undefined;
    for (const figure of this.figures) {
      this.keepSize(figure);
      const place = figure.closest(PLACE);
      if (place && !place.querySelector(`:scope > .${BUTTON}`)) place.append(this.button(place));
    }
  }

  keepSize(figure) {
    if (!figure.on || this.kept.has(figure)) return;
    this.kept.add(figure);
    figure.on("plotly_afterplot", () => keepDomains(figure));
    keepDomains(figure);
  }

  button(place) {
    const icon = svgElement("svg", { viewBox: "0 0 16 16", "aria-hidden": "true" }, svgElement("path", { d: ARROW }));
    const button = element("button", BUTTON, icon);
    Object.assign(button, { type: "button", title: "Download the figure, its numbers or its caption" });
    button.setAttribute("aria-haspopup", "dialog");
    button.setAttribute("aria-label", `Download: ${labelOf(place)}`);
    button.onclick = () => this.open(button, place);
    return button;
  }

  open(button, place) {
    Object.assign(this, { place, opener: button });
    this.find(".said").textContent = "";
    this.find(".caption").textContent = this.caption;
    this.find("[data-take=npz]").hidden = !matricesOf(numbersOf(this.figure)).length;
    this.menu.showPopover();
    const zoom = this.menu.currentCSSZoom ?? 1, { right, top, bottom } = button.getBoundingClientRect();
    const { width, height } = this.menu.getBoundingClientRect();
    const below = bottom + GAP + height <= window.innerHeight;
    const down = below ? bottom + GAP : Math.max(GAP, top - GAP - height);
    this.menu.style.left = `${Math.max(GAP, right - width) / zoom}px`;
    this.menu.style.top = `${down / zoom}px`;
    this.find("button").focus();
  }

  // By its key: the page has another use for it, to end a presentation.
  close(event) {
    event.stopPropagation();
    this.menu.hidePopover();
    this.opener.focus();
  }

  get figure() {
    return this.place.querySelector(`.${FIGURE}`);
  }

  // What the page says of it; without more, what it tells screen readers.
  get caption() {
    return this.figure.layout.meta?.caption ?? labelOf(this.place);
  }

  get name() {
    return /st-key-([\w-]+)/.exec(this.place.className)?.[1] ?? "figure";
  }

  async take(what) {
    try {
      await this.make(what);
    } catch { // the page has drawn another figure meanwhile, or the picture is too large for the browser
      this.say("This could not be made. Please close the menu and try again.");
    }
  }

  async make(what) {
    const { name, caption } = this;
    if (what === "copy") return this.sayCopied(what, await copyText(caption));
    if (what === "latex") return this.sayCopied(what, await copyText(latexCaption(caption)));
    if (what === "csv") saveFile(`${name}.csv`, "text/csv", csvOf(tableOf(numbersOf(this.figure))));
    else if (what === "npz") saveFile(`${name}.npz`, "application/octet-stream", archive(filesOf(this.figure)));
    else await this.savePicture(what);
    this.say(`${name}.${what} is saved.`);
  }

  async savePicture(what) {
    const { figure, name } = this, about = { title: labelOf(this.place), caption: this.caption };
    const faces = await fontFaces(composed(figure, about).families);
    const { text, width, height } = composed(figure, about, faces);
    if (what === "svg") saveFile(`${name}.svg`, "image/svg+xml", text);
    else saveFile(`${name}.png`, "image/png", await pngOf(text, width, height));
  }

  // Copying by selection takes the keys away from the menu.
  sayCopied(what, done) {
    this.find(`[data-take=${what}]`).focus();
    this.say(done ? "Copied." : "The browser does not let this page copy: select the text above.");
  }

  say(words) {
    this.find(".said").textContent = words;
  }
}

// Plotly writes the part of the room that square cells take into the layout, by which Streamlit draws the figure anew
// in full screen and after it: without this, each time takes a part of a part.
function keepDomains({ layout, _fullLayout: full }) {
  for (const [name, axis] of Object.entries(full)) {
    if (axis?._inputDomain && layout[name]) layout[name].domain = [...axis._inputDomain];
  }
}

const labelOf = (place) => place.querySelector("[role=figure]")?.getAttribute("aria-label") ?? "the figure";
const numbersOf = (figure) => ({ traces: figure._fullData, layout: figure._fullLayout });

function filesOf(figure) {
  const found = matricesOf(numbersOf(figure)), files = {};
  found.forEach(({ values, rows, columns }, at) => {
    const number = found.length > 1 ? `_${at + 1}` : "";
    files[`values${number}`] = matrixFile(values);
    files[`rows${number}`] = textFile(rows);
    files[`columns${number}`] = textFile(columns);
  });
  return files;
}

export default mounted(FigureDownloads);
