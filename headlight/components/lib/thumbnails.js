// Thumbnails of many heads on one canvas: layers below one another and heads side by side, or one after the other in
// an order that is given. A map is {values, rows, columns, full, causal}: `full` has the strongest colour.

import { Drawing, Raster, listenToKeys, paintCells, placeOf, withMore } from "./canvas.js";
import { FRAME } from "./colours.js";
import { say } from "./texts.toml";

const LAYER_NAME = Math.round(6.5 * say("layer", { layer: 1 }).length); // pixels, as all of these
const GAP = 8, CAPTION = 14, TITLE = 22, HEAD_NAME = 16;
const LARGEST = 84, SMALLEST = 6, LEAST_CAPTIONED = 30, LEAST_NAMED = 34;

const DASHES = [4, 3]; // around what is pointed at
const DOT = 5; // pixels, half of it, on what is best

export const FEWEST_IN_LINE = 6; // tiles that are sorted
const FAINT = 0.3; // how opaque what does not fit is
export const ROOM_OF_A_TILE = LARGEST + GAP; // pixels across that let it be as large as it gets

// perLayer: the heads of each layer, where it has fewer than `heads`.
export function everyHead({ layers, heads, perLayer }) {
  const all = Array.from({ length: layers * heads }, (_, at) => ({ layer: Math.floor(at / heads), head: at % heads }));
  return perLayer ? all.filter(({ layer, head }) => head < perLayer[layer]) : all;
}

// A thumbnail's height for this width: long maps are not let grow beyond their square, nor wide ones vanish.
export function heightOf(wide, { rows, columns }) {
  return Math.round(Math.min(wide * 1.25, Math.max(wide * 0.4, (wide * rows) / columns)));
}

// The largest value of a square of cells that share a pixel; NaN where all of them are masked.
export function largestOf({ values, rows, columns, causal }, block, row, column) {
  if (causal && column > row) return NaN;
  const bottom = Math.min(rows, (row + 1) * block), right = Math.min(columns, (column + 1) * block);
  let largest = 0;
  for (let r = row * block; r < bottom; r++) {
    for (let c = column * block; c < right; c++) largest = Math.max(largest, values[r * columns + c]);
  }
  return largest;
}

// The cells across and down that a map has in a room of pixels, and the side of the block of cells that share one.
function reduced({ rows, columns }, { wide, high }) {
  const block = Math.max(1, Math.ceil(Math.max(columns / wide, rows / high)));
  return { block, across: Math.ceil(columns / block), down: Math.ceil(rows / block) };
}

// Small maps, with one raster for all maps of a size.
export class Thumbnails {
  rasters = {};

  draw(pen, map, { x, y, wide, high }) {
    const { block, across, down } = reduced(map, { wide, high });
    const raster = pen.isForFile ? null : (this.rasters[`${across} ${down}`] ??= new Raster(across, down));
    const share = (row, column) => largestOf(map, block, row, column) / map.full;
    paintCells(pen, { rows: down, columns: across, share }, { x, y, wide, high }, raster);
    frame(pen, { x, y, wide, high }, FRAME, 1, 0.5);
  }
}

export function frame(pen, { x, y, wide, high }, colour, line, out) {
  pen.strokeStyle = colour;
  pen.lineWidth = line;
  pen.strokeRect(x - out, y - out, wide + 2 * out, high + 2 * out);
}

function dot(pen, x, y, radius) {
  pen.beginPath();
  pen.arc(x, y, radius, 0, 2 * Math.PI);
  pen.fill();
}

// Positions of a group's heads from `top` on: {tiles, names, bottom}. A group is {layers, heads, rows, columns,
// members, sorted, captions}: its heads {layer, head} in their order, sorted or in the grid of layers and heads, and
// how many captions each has. Names are of whole layers and of a head in all layers: to be clicked.
export function arrange({ layers, heads, rows, columns, members, sorted, captions }, width, top) {
  const left = sorted ? 2 : LAYER_NAME;
  const room = Math.floor((width - left - 2) / (sorted ? Math.max(heads, FEWEST_IN_LINE) : heads)) - GAP;
  const wide = Math.max(SMALLEST, Math.min(LARGEST, room)), high = heightOf(wide, { rows, columns });
  const across = wide + GAP;
  const down = high + (wide < LEAST_CAPTIONED ? 0 : captions * CAPTION) + GAP;
  const line = sorted ? Math.max(1, Math.floor((width - left) / across)) : heads;
  const first = sorted ? top : top + HEAD_NAME;
  const tiles = members.map((head, number) => {
    const at = sorted ? number : head.layer * heads + head.head;
    const x = left + (at % line) * across, y = first + Math.floor(at / line) * down;
    return { ...head, heads: [head], x, y, wide, high, line };
  });
  const names = [];
  for (let head = 0; head < heads && !sorted; head++) {
    const text = head || wide < LEAST_NAMED ? head + 1 : say("head"), x = left + head * across;
    const ofHead = members.filter((each) => each.head === head);
    names.push({ text, heads: ofHead, x, y: top, wide, high: 14, align: "center" });
  }
  for (let layer = 0; layer < layers && !sorted; layer++) {
    const text = say("layer", { layer: layer + 1 }), y = first + layer * down + high / 2 - 8;
    const ofLayer = members.filter((each) => each.layer === layer);
    names.push({ text, heads: ofLayer, x: 0, y, wide: LAYER_NAME - 4, high: 16, align: "left" });
  }
  return { tiles, names, bottom: first + Math.ceil(sorted ? members.length / line : layers) * down };
}

// All groups below one another: their tiles and names, and where titles and captions stand {text, x, y}.
export function place(groups, width) {
  const tiles = [], names = [], titles = [], captions = [];
  const bottom = groups.reduce((top, group) => {
    if (group.title) titles.push({ text: group.title, x: 0, y: top + 14 });
    const placed = arrange(group, width, top + (group.title ? TITLE : 2));
    names.push(...placed.names.map((name) => ({ ...name, group })));
    for (const tile of placed.tiles) {
      const { x, y, wide, high, faint } = tile;
      tiles.push({ ...tile, group });
      if (!group.captions || wide < LEAST_CAPTIONED) continue;
      group.captionsOf(tile).forEach((text, line) => {
        captions.push({ text, x: x + wide / 2, y: y + high + (line + 1) * CAPTION + 1, faint });
      });
    }
    return placed.bottom;
  }, 0);
  return { tiles, names, titles, captions, bottom };
}

// Paint what `place` returns. For a file a group has titleOf(tile).
export function paintHeads(pen, { tiles, names, titles, captions }, thumbnails = new Thumbnails()) {
  for (const tile of tiles) {
    pen.globalAlpha = tile.faint ? FAINT : 1;
    if (pen.isForFile) pen.title = tile.group.titleOf(tile);
    thumbnails.draw(pen, tile.group.mapOf(tile), tile);
  }
  pen.title = "";
  pen.textAlign = "center";
  for (const { text, x, y, faint } of captions) {
    pen.globalAlpha = faint ? FAINT : 1;
    pen.fillText(text, x, y);
  }
  pen.globalAlpha = 1;
  for (const { text, x, y, wide, high, align } of names) {
    pen.textAlign = align;
    pen.fillText(text, align === "center" ? x + wide / 2 : x, y + high - 4);
  }
  pen.textAlign = "left";
  for (const { text, x, y } of titles) pen.fillText(text, x, y);
}

// The tile under a point, half of the gap around it included.
export function tileAt(tiles, x, y) {
  const margin = GAP / 2, inside = (value, start, size) => value >= start - margin && value < start + size + margin;
  return tiles.find((tile) => inside(x, tile.x, tile.wide) && inside(y, tile.y, tile.high)) ?? null;
}

// The cell of a tile's map under a point, null beside it.
export function cellIn(tile, { rows, columns }, x, y) {
  const row = Math.floor(((y - tile.y) / tile.high) * rows), column = Math.floor(((x - tile.x) / tile.wide) * columns);
  return row >= 0 && row < rows && column >= 0 && column < columns ? { row, column } : null;
}

export class Overview {
  // point(tile or null): called for another head under the pointer; look(tile, cell): for every move over a head;
  // choose(group's name, heads, more): for a click.
  constructor(canvas, { point, look, choose }) {
    const drawing = new Drawing(canvas), thumbnails = new Thumbnails();
    Object.assign(this, { canvas, point, choose, drawing, thumbnails, pointed: null, tiles: [], names: [] });
    canvas.onpointermove = (event) => {
      const { x, y } = placeOf(event), tile = tileAt(this.tiles, x, y);
      this.pointAt(tile);
      look?.(tile, tile && cellIn(tile, tile.group, x, y));
    };
    canvas.onpointerleave = () => {
      this.pointAt(null);
      look?.(null, null);
    };
    canvas.onclick = (event) => {
      const { x, y } = placeOf(event), target = tileAt(this.tiles, x, y) ?? tileAt(this.names, x, y);
      if (target) choose(target.group.name, target.heads, withMore(event));
    };
  }

  // Let the arrow keys go from head to head; `point` is called as for the pointer.
  listenToKeys() {
    const from = () => this.pointed ?? this.tiles.find((tile) => this.isChosen(tile)) ?? this.tiles[0];
    listenToKeys(this.canvas, {
      move: ([down, right]) => {
        const start = from(), at = this.tiles.indexOf(start) + down * start.line + right;
        this.pointAt(this.tiles[at] ?? start);
      },
      choose: (event) => this.choose(from().group.name, from().heads, event.shiftKey),
    });
    this.canvas.onblur = () => this.pointAt(null);
  }

  // Groups as `arrange` has them, each with a name, a title or "", mapOf(tile) and captionsOf(tile); heads that are
  // `faint` do not fit a filter, and one that isBest(tile) gets a dot on its corner. Thumbnails that `key` says are the
  // same are not drawn again, only their marks are.
  draw({ groups, key, isChosen, isBest, label }, width) {
    Object.assign(this, { isChosen, isBest });
    if (key === undefined || key !== this.key) {
      const placed = place(groups, width), { tiles, names } = placed;
      Object.assign(this, { key, pointed: null, tiles, names });
      paintHeads(this.drawing.start(width, placed.bottom), placed, this.thumbnails);
      this.drawing.keep();
      this.canvas.setAttribute("aria-label", label);
    }
    this.mark();
  }

  mark() {
    const pen = this.drawing.again();
    for (const tile of this.tiles) {
      if (this.isChosen(tile)) frame(pen, tile, pen.fillStyle, 2, 1.5);
      if (this.isBest?.(tile)) dot(pen, tile.x + tile.wide, tile.y, DOT);
      if (tile !== this.pointed) continue;
      pen.setLineDash(DASHES);
      frame(pen, tile, pen.fillStyle, 2, 3.5);
      pen.setLineDash([]);
    }
  }

  pointAt(tile) {
    if (tile === this.pointed) return;
    this.pointed = tile;
    this.mark();
    this.point?.(tile);
  }
}
