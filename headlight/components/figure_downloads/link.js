// Linked heatmaps: pointing at a cell of one outlines the same cell in others. A heatmap takes part whose layout has
// `meta.link`, [row, column] of its first cell among the cells of all of them.

const MARK = "linked_cell"; // for headlight/app/page.css

// The cell of a heatmap, [row, column], that is this cell of another one; null where it has none.
export function cellIn({ link, size }, cell) {
  const inside = cell.map((at, axis) => at - link[axis]);
  return inside.every((at, axis) => at >= 0 && at < size[axis]) ? inside : null;
}

// Let a figure outline its cells in those others of `figures`, a live list, that are linked with it.
export function linkFigure(figure, figures) {
  const others = () => [...figures].filter((other) => other !== figure && other.layout?.meta?.link);
  figure.on("plotly_hover", ({ points: [{ x, y }] }) => {
    const link = figure.layout.meta?.link;
    if (!link) return;
    for (const other of others()) outline(other, cellIn(placeOf(other), [y + link[0], x + link[1]]));
  });
  figure.on("plotly_unhover", () => others().forEach((other) => outline(other, null)));
}

function placeOf(figure) {
  const { z } = figure._fullData[0];
  return { link: figure.layout.meta.link, size: [z.length, z[0].length] };
}

function outline(figure, cell) {
  figure.querySelector(`.${MARK}`)?.remove();
  if (!cell) return;
  const { xaxis, yaxis } = figure._fullLayout, mark = document.createElement("div");
  const edges = (axis, at) => [at - 0.5, at + 0.5].map((edge) => axis._offset + axis.c2p(edge)).sort((a, b) => a - b);
  const [left, right] = edges(xaxis, cell[1]), [top, bottom] = edges(yaxis, cell[0]);
  mark.className = MARK;
  const box = { left, top, width: right - left, height: bottom - top };
  for (const [name, value] of Object.entries(box)) mark.style[name] = `${value}px`;
  figure.querySelector(".svg-container").append(mark);
}
