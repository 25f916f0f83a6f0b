// Thumbnails of many heads as shapes: lib/thumbnails.js in the light theme, for a file.

import { shade } from "../lib/canvas.js";
import { FAINT, FEWEST_IN_LINE, ROOM_OF_A_TILE, largestOf, place, reduced } from "../lib/thumbnails.js";
import { GREY, painted, rounded, shape, write } from "./svg.js";

const LEVELS = 255; // of the colours
const NAMES = 60; // pixels for the layers' names

// The drawing {parts, width, height} of groups as lib/thumbnails.js has them. Besides, a group may have titleOf(tile),
// which a browser shows on pointing.
export function overviewDrawing(groups) {
  const width = NAMES + ROOM_OF_A_TILE * Math.max(FEWEST_IN_LINE, ...groups.map(({ heads }) => heads));
  const { tiles, names, titles, captions, bottom } = place(groups, width);
  const middle = { "text-anchor": "middle" };
  const parts = [
    ...titles.map(({ text, y }) => write(text, 0, y, { "font-weight": 600 })),
    ...names.map(({ text, x, y, wide, high, align }) => {
      return align === "center" ? write(text, x + wide / 2, y + high - 4, middle) : write(text, x, y + high - 4);
    }),
    ...tiles.map(thumbnail),
    ...captions.map(({ text, x, y, faint }) => write(text, x, y, { ...middle, ...lookOf(faint) })),
  ];
  return { parts, width, height: bottom };
}

const lookOf = (faint) => (faint ? { opacity: FAINT } : {});

function thumbnail(tile) {
  const { x, y, wide, high, group, faint } = tile, map = group.mapOf(tile);
  const { block, across, down } = reduced(map, tile);
  const share = (row, column) => largestOf(map, block, row, column) / map.full;
  const scaled = `translate(${rounded(x)} ${rounded(y)}) scale(${rounded(wide / across)} ${rounded(high / down)})`;
  const cells = pathsOf(share, down, across), about = group.titleOf ? [shape("title", {}, group.titleOf(tile))] : [];
  const frame = shape("rect", { x: rounded(x), y: rounded(y), width: wide, height: high, ...GREY });
  const drawn = shape("g", { transform: scaled, "shape-rendering": "crispEdges" }, ...cells);
  return shape("g", { class: "head", ...lookOf(faint) }, ...about, drawn, frame);
}

// Cells of one unit each, those of one colour as one path, neighbours in a row as one box of it.
function pathsOf(share, rows, columns) {
  const boxes = new Map();
  const levelOf = (row, column) => Math.round(LEVELS * Math.min(1, share(row, column)));
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns;) {
      const level = levelOf(row, column), from = column;
      do column++;
      while (column < columns && levelOf(row, column) === level);
      if (Number.isNaN(level)) continue;
      boxes.set(level, `${boxes.get(level) ?? ""}M${from} ${row}h${column - from}v1h${from - column}z`);
    }
  }
  return [...boxes].map(([level, d]) => shape("path", { d, ...painted(shade(level / LEVELS)) }));
}
