// The numbers that a figure shows, read off Plotly's own data: as a table of one row a number, and as matrices.

const TAGS = /<\/?(?:b|i|u|s|em|strong|span|sub|sup|a)\b[^>]*>/gi;
const SIGNS = { "&lt;": "<", "&gt;": ">", "&amp;": "&" };

// A text that Plotly would render, as it reads: line breaks for <br>, no markup, tokens as they are.
export function plainText(text) {
  const lines = String(text).replace(/<br\s*\/?>/gi, "\n").replace(TAGS, "");
  return lines.replace(/&(?:lt|gt|amp);/g, (sign) => SIGNS[sign]);
}

// The names of positions on an axis: its ticks' texts, or, where it shows only every second, `all` that there are.
function labelsOf(axis, all) {
  if (all) return new Map(all.map((label, at) => [at, label]));
  const { tickvals, ticktext } = axis ?? {};
  if (!ticktext?.length) return new Map();
  return new Map(Array.from(ticktext, (text, at) => [Number(tickvals[at]), plainText(text)]));
}

// All series of a figure, {traces, layout} as Plotly completed them, as {header, rows}: one row for each number shown.
// A place on an axis of tokens has its number, from 0, and its token. Blank cells are left out.
export function tableOf({ traces, layout }) {
  const shown = traces.filter(isData), names = namesOf(shown, layout);
  const rows = shown.flatMap((trace, at) => rowsOf(trace, layout, shown.length > 1 ? String(at + 1) : ""));
  const rowsFirst = names["y label"] !== undefined || shown.some(({ type }) => type === "heatmap");
  const sides = rowsFirst ? ["y", "y label", "x", "x label"] : ["x", "x label", "y"];
  const isFilled = (name) => rows.some((row) => row[name] !== undefined && row[name] !== "");
  const columns = ["series", ...sides, "value"].filter(isFilled);
  const read = (row) => columns.map((name) => row[name] ?? "");
  return { header: columns.map((name) => names[name]), rows: rows.map(read) };
}

// The heatmaps of a figure as {values, rows, columns}: numbers row by row, NaN where a cell is blank, and the labels of
// the rows and columns, which are their numbers where an axis has none.
export function matricesOf({ traces, layout }) {
  return traces.filter((trace) => isData(trace) && trace.type === "heatmap").map((trace) => {
    const { rows, columns } = layout.meta ?? {};
    const labels = (axis, all, places) => {
      const named = labelsOf(axis, all);
      return places.map((place) => named.get(place) ?? String(place));
    };
    const height = trace.z.length, width = height ? trace.z[0].length : 0;
    return {
      values: Array.from(trace.z, (row) => Array.from(row, (value) => value ?? NaN)),
      rows: labels(axisOf(layout, trace.yaxis), rows, places(trace, "y", height)),
      columns: labels(axisOf(layout, trace.xaxis), columns, places(trace, "x", width)),
    };
  });
}

const isData = (trace) => trace.visible === true && trace.mode !== "text";
const axisOf = (layout, id) => layout[`${id[0]}axis${id.slice(1)}`];

function places(trace, side, count) {
  const listed = trace[side], from = Number(trace[`${side}0`] ?? 0), step = Number(trace[`d${side}`] ?? 1);
  return Array.from({ length: count }, (_, at) => (listed?.length ? listed[at] : from + at * step));
}

function rowsOf(trace, layout, number) {
  const down = axisOf(layout, trace.yaxis), across = axisOf(layout, trace.xaxis), all = layout.meta ?? {};
  const rowLabels = labelsOf(down, all.rows), columnLabels = labelsOf(across, all.columns);
  const series = plainText((trace._input ?? trace).name ?? "") || number, rows = [];
  const add = (y, x, value) => rows.push({
    series, y: asWritten(y), "y label": rowLabels.get(y), x: asWritten(x), "x label": columnLabels.get(x), value,
  });
  if (trace.type !== "heatmap") {
    const count = Math.max(trace.x?.length ?? 0, trace.y?.length ?? 0);
    const xs = places(trace, "x", count), ys = places(trace, "y", count);
    for (let at = 0; at < count; at++) if (isThere(xs[at]) && isThere(ys[at])) add(ys[at], xs[at]);
    return rows;
  }
  const ys = places(trace, "y", trace.z.length);
  Array.from(trace.z).forEach((line, row) => {
    const xs = places(trace, "x", line.length);
    line.forEach((value, column) => isThere(value) && add(ys[row], xs[column], value));
  });
  return rows;
}

const isThere = (value) => value !== null && value !== undefined && !Number.isNaN(value);
const asWritten = (value) => (typeof value === "string" ? plainText(value) : value);

// The names of the columns: the axes' titles where all series share them. Labels have their positions beside them.
function namesOf(traces, layout) {
  const shared = (titles) => plainText((new Set(titles).size === 1 && titles[0]) || "");
  const of = (side, read) => traces.map((trace) => read(axisOf(layout, trace[`${side}axis`])));
  // The title of the input: Plotly fills in "Click to enter" where there is none.
  const title = (side) => shared(of(side, (axis) => (axis?._input ?? axis)?.title?.text));
  const heatmaps = traces.filter(({ type }) => type === "heatmap");
  const names = { series: "series", value: shared(heatmaps.map((trace) => barOf(trace)).filter(Boolean)) || "value" };
  for (const [side, place] of [["y", "row"], ["x", "column"]]) {
    const isLabelled = of(side, (axis) => axis?.ticktext?.length).some(Boolean) || layout.meta?.[`${place}s`];
    if (!isLabelled) names[side] = title(side) || (heatmaps.length ? place : side);
    else Object.assign(names, { [side]: place, [`${side} label`]: title(side) || `${place} label` });
  }
  for (const [one, other] of [["y", "x"], ["y label", "x label"]]) {
    if (!names[one] || names[one] !== names[other]) continue;
    Object.assign(names, { [one]: `${names[one]}, row`, [other]: `${names[other]}, column` });
  }
  return names;
}

const barOf = (trace) => (trace._input ?? trace).colorbar?.title?.text;
