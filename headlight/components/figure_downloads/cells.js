// The cells of a Plotly heatmap as boxes: Plotly itself draws them as an image of pixels, which blurs in a paper.

import { rounded, shape } from "../export/svg.js";
import { plainText } from "./numbers.js";

const MOST = 20_000; // cells; of more the image stays, for a file of boxes would be larger than anybody's patience

// The colour, [red, green, blue, opacity], of a value on one of Plotly's colour scales, a list of [share, colour]; null
// where a colour is written in a way that is not understood.
export function rampOf(scale, low, high) {
  const stops = scale.map(([at, colour]) => [at, partsOf(colour)]);
  if (stops.some(([, parts]) => !parts)) return null;
  return (value) => {
    const share = high > low ? Math.min(1, Math.max(0, (value - low) / (high - low))) : 0;
    const next = Math.max(1, stops.findIndex(([at]) => at >= share)), [from, to] = [stops[next - 1], stops[next]];
    const way = to[0] > from[0] ? (share - from[0]) / (to[0] - from[0]) : 1;
    return from[1].map((part, at) => part + way * (to[1][at] - part));
  };
}

// "rgb(…)", "rgba(…)" or "#rrggbb" as [red, green, blue, opacity].
function partsOf(colour) {
  const hex = /^#([\da-f]{2})([\da-f]{2})([\da-f]{2})$/i.exec(colour);
  if (hex) return [...hex.slice(1).map((two) => parseInt(two, 16)), 1];
  const parts = /^rgba?\((.*)\)$/.exec(colour)?.[1].split(",").map(Number);
  return parts?.length >= 3 && parts.every(Number.isFinite) ? [...parts, 1].slice(0, 4) : null;
}

// A group of boxes for the cells that Plotly bound to a group of its heatmaps' layer; null where the image has to stay.
// `inLight` gives the light theme's colour for one of the page's. Each box says in words what it is, which a browser
// shows on pointing.
export function boxes(drawn, layout, inLight) {
  const { trace, x, y, z } = drawn.__data__?.[0] ?? {};
  if (!z?.length || z.length * z[0].length > MOST) return null;
  const across = layout[axisName(trace.xaxis)], down = layout[axisName(trace.yaxis)];
  const scale = trace.colorscale.map(([at, colour]) => [at, inLight(colour)]);
  const colourOf = rampOf(scale, trace.zmin, trace.zmax);
  if (!colourOf || x.length !== z[0].length + 1 || y.length !== z.length + 1) return null;
  const parts = [];
  const span = (axis, edges, at, gap) => {
    const [one, other] = [axis.c2p(edges[at]), axis.c2p(edges[at + 1])].sort((low, high) => low - high);
    return [one + gap / 2, Math.max(0, other - one - gap)].map(rounded);
  };
  z.forEach((cells, row) => {
    const [top, height] = span(down, y, row, trace.ygap ?? 0);
    cells.forEach((value, column) => {
      if (!Number.isFinite(value)) return;
      const [left, width] = span(across, x, column, trace.xgap ?? 0), [red, green, blue, opaque] = colourOf(value);
      const fill = `rgb(${[red, green, blue].map(Math.round).join(", ")})`;
      const words = trace.hovertext?.[row]?.[column], title = words ? [shape("title", {}, plainText(words))] : [];
      const box = { x: left, y: top, width, height, fill, "fill-opacity": Number(opaque.toFixed(4)) };
      parts.push(shape("rect", box, ...title));
    });
  });
  return shape("g", { class: "cells" }, ...parts);
}

const axisName = (id) => `${id[0]}axis${id.slice(1)}`;
