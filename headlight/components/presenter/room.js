// Figures of Plotly's in a low window and while presenting: what is said above one stands below it, one that would end
// below the window gets the height that is left there, and of labels and digits that would then touch each other some
// are left out. On a phone figures keep their height, the rest holds. It is marked here, not found by the style sheet:
// a :has() for it made every change of a page, and each label that Plotly measures, thirty milliseconds slower.

const FIGURES = "[data-testid=stMain] [data-testid=stFullScreenFrame]:has(> [data-testid=stPlotlyChart])";
const CHART = "[data-testid=stPlotlyChart]", BLOCK = "[data-testid=stVerticalBlock]";
const SAID = "[data-testid=stElementContainer]:is(:has(> .stMarkdown), :has(.finding))";
const HEADING = "h2, h3, p > strong:only-child";
const DRAWN = "[data-testid=stPlotlyChart], .plot-container";
const LOW = "(min-height: 481px) and (max-height: 660px) and (min-width: 641px)"; // as in page.css; a lower one scrolls
const PHONE = "(max-width: 640px)";
const BELOW = 10, LEAST = 170; // pixels below a figure; a figure lower than that is of no use
const LINE = 1.1, BETWEEN = 4; // the height of a line as a multiple of its letters' size; pixels between two labels
const LABELS = ["x", "x2", "x3", "x4", "y", "y2", "y3"].map((axis) => `.${axis}tick > text`);
const ALONG = { x: 0, y: 1 };

export class Room {
  constructor() {
    this.fit = () => this.fitFigures();
    this.resized = new ResizeObserver(this.fit);
    this.came = new MutationObserver((changes) => changes.some(bringsFigure) && this.fitFigures());
    this.plots = new WeakMap();
    window.addEventListener("resize", this.fit);
  }

  // From here on figures fit the window: below `place`, the page's own block, all of them stand.
  watch(place, present) {
    this.present = present;
    if (place && place !== this.place) {
      this.disconnect();
      this.resized.observe(place);
      this.came.observe(place, { childList: true, subtree: true });
    }
    this.place = place;
    this.fit();
  }

  disconnect() {
    this.resized.disconnect();
    this.came.disconnect();
  }

  leave() {
    this.disconnect();
    window.removeEventListener("resize", this.fit);
  }

  get isNeeded() {
    return this.present || window.matchMedia(LOW).matches;
  }

  get isCrowded() {
    return this.isNeeded || window.matchMedia(PHONE).matches;
  }

  fitFigures() {
    const isOn = this.isNeeded;
    putFiguresFirst(this.isCrowded);
    for (const frame of document.querySelectorAll(FIGURES)) {
      giveRoom(frame, "");
      if (isOn) this.fitFigure(frame);
      this.listen(frame.querySelector(".js-plotly-plot"), this.isCrowded);
    }
  }

  fitFigure(frame) {
    const { top, bottom, height } = frame.getBoundingClientRect();
    const scrolled = frame.closest("[data-testid=stMain]").scrollTop;
    const docked = parseFloat(document.documentElement.style.getPropertyValue("--docked")) || 0; // a lesson's panel
    const end = window.innerHeight - docked;
    const room = roomBelow(top + scrolled, end);
    if (height && bottom + scrolled > end - BELOW && room) {
      giveRoom(frame, `${(room / frame.currentCSSZoom).toFixed(1)}px`);
    }
  }

  // Labels and digits are looked at whenever Plotly has drawn.
  listen(plot, isOn) {
    if (!plot?.on) return;
    if (this.plots.get(plot) !== plot.on) { // a plot that is made anew in the same place has forgotten who listens
      this.plots.set(plot, plot.on);
      plot.on("plotly_afterplot", () => thinOut(plot, this.isCrowded));
    }
    if (isOn || plot.dataset.crowded) thinOut(plot, isOn);
  }
}

// The height of a figure and of what holds it, for page.css; "" for its own.
function giveRoom(frame, height) {
  if (frame.style.getPropertyValue("--room") === height) return;
  frame.style.setProperty("--room", height);
  const holder = frame.closest("[data-testid=stElementContainer]");
  for (const each of [frame, holder]) each?.toggleAttribute("data-room", height !== "");
}

// In each block with a figure what is said before it, but for headings, comes after it, and then what came after it.
function putFiguresFirst(isOn) {
  for (const moved of document.querySelectorAll("[data-order]")) moved.removeAttribute("data-order");
  if (!isOn) return;
  const blocks = new Set();
  for (const chart of document.querySelectorAll(`[data-testid=stMain] ${CHART}`)) {
    for (let block = chart.closest(BLOCK); block; block = block.parentElement.closest(BLOCK)) blocks.add(block);
  }
  for (const block of blocks) {
    let after = false;
    for (const child of block.children) {
      const holds = child.querySelector(CHART) !== null;
      if (after) child.dataset.order = 2;
      else if (!holds && child.matches(SAID) && !child.querySelector(HEADING)) child.dataset.order = 1;
      after ||= holds;
    }
  }
}

// A figure takes the place of its skeleton, which is as high: the page's size does not tell of it.
function bringsFigure({ addedNodes }) {
  return [...addedNodes].some((node) => {
    return node instanceof HTMLElement && (node.matches(DRAWN) || node.querySelector(DRAWN) !== null);
  });
}

// The height of a figure that begins there; 0 where it is better seen by scrolling.
function roomBelow(top, window) {
  const room = window - BELOW - top;
  return room >= LEAST ? room : 0;
}

// Every so many of the labels at these places are written; rooms: what each takes along its axis.
function everyOf(places, rooms) {
  const touches = (one, other) => {
    const gap = Math.abs(places[one] - places[other]);
    return gap > 0 && gap < (rooms[one] + rooms[other]) / 2;
  };
  let every = 1;
  const fits = () => places.every((_, at) => at % every || at + every >= places.length || !touches(at, at + every));
  while (!fits()) every += 1;
  return every;
}

// Labels below or above a figure take their length, where they are not turned; all others take a line.
function roomsOf(texts, axis) {
  const line = LINE * parseFloat(getComputedStyle(texts[0]).fontSize);
  const turned = /rotate\((?!0[,)])/.test(texts[0].getAttribute("transform"));
  return texts.map((text) => (axis === "y" || turned ? line : BETWEEN + text.getBBox().width));
}

function thinOut(plot, isOn) {
  let crowded = false;
  for (const selector of LABELS) {
    const texts = [...plot.querySelectorAll(selector)], axis = selector[1];
    for (const text of texts) text.style.removeProperty("display");
    if (!isOn || !texts.length) continue;
    const every = everyOf(texts.map((text) => placeOf(text, axis)), roomsOf(texts, axis));
    texts.forEach((text, index) => index % every && text.style.setProperty("display", "none"));
    crowded ||= axis === "y" && every > 1;
  }
  if (crowded) plot.dataset.crowded = "true";
  else delete plot.dataset.crowded;
}

// The position of a label along its axis, in pixels.
function placeOf(text, axis) {
  const moved = /translate\(([-\d.]+),\s*([-\d.]+)\)/.exec(text.getAttribute("transform"));
  return moved ? Number(moved[1 + ALONG[axis]]) : 0;
}
