// A button beside every figure of the page that Plotly draws, and one menu for all of them; links between heatmaps.

import { DownloadMenu, downloadButton } from "../export/menu.js";
import { Component, mounted } from "../lib/mount.js";
import { composed } from "./compose.js";
import { linkFigure } from "./link.js";
import { matricesOf, tableOf } from "./numbers.js";

const FIGURE = "js-plotly-plot", PLACE = "[data-testid=stElementContainer]", BUTTON = "figure_download";
const FRAME = "[data-testid=stFullScreenFrame]", LEAVE = "[data-title='Close fullscreen']";
// For headlight/app/page.css: what has a button, and what fills the screen. A style sheet that asked by :has() would be
// asked anew at everything that Plotly draws.
const DOWNLOADABLE = "data-downloadable", WHOLE = "data-whole";

class FigureDownloads extends Component {
  constructor(root) {
    super(root);
    this.menu = new DownloadMenu(this.find(".figure_downloads"));
    this.watched = new WeakSet(); // figures whose size is watched
    this.figures = document.getElementsByClassName(FIGURE); // always those that are there
    this.watch = new MutationObserver(() => (this.frame ??= requestAnimationFrame(() => this.offer())));
    this.watch.observe(document.body, { childList: true, subtree: true });
    this.offer();
  }

  leave() {
    this.watch.disconnect();
    cancelAnimationFrame(this.frame);
    for (const button of document.querySelectorAll(`.${BUTTON}`)) button.remove();
    for (const place of document.querySelectorAll(`[${DOWNLOADABLE}]`)) place.removeAttribute(DOWNLOADABLE);
  }

  // A button for each figure that has none.
  offer() {
    this.frame = undefined;
    for (const figure of this.figures) {
      this.keepSize(figure);
      figure.closest(FRAME)?.toggleAttribute(WHOLE, figure.querySelector(LEAVE) !== null);
      const place = figure.closest(PLACE);
      place?.setAttribute(DOWNLOADABLE, "");
      if (place && !place.querySelector(`:scope > .${BUTTON}`)) place.append(this.button(place));
    }
  }

  keepSize(figure) {
    if (!figure.on || this.watched.has(figure)) return;
    this.watched.add(figure);
    figure.on("plotly_afterplot", () => keepDomains(figure));
    keepDomains(figure);
    linkFigure(figure, this.figures);
  }

  button(place) {
    const button = downloadButton(BUTTON);
    button.setAttribute("aria-label", `Download: ${labelOf(place)}`);
    button.onclick = () => this.menu.open(button, figureIn(place));
    return button;
  }
}

// The figure of a place for the menu, read at each use: Plotly may draw another one there meanwhile.
function figureIn(place) {
  const now = () => place.querySelector(`.${FIGURE}`), label = labelOf(place);
  // The caption of the page, else the label for screen readers.
  const caption = now().layout.meta?.caption ?? label;
  const matrices = () => matricesOf(numbersOf(now()));
  return {
    name: /st-key-([\w-]+)/.exec(place.className)?.[1] ?? "figure",
    label, caption,
    drawing: () => composed(now()),
    table: () => tableOf(numbersOf(now())),
    matrices: matrices().length ? matrices : undefined,
  };
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

export default mounted(FigureDownloads);
