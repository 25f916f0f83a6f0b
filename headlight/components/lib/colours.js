// One meaning per colour, as in headlight/plots/palette.py: red, green and blue for canvases and files; style sheets
// have them from colours.css. Around what is chosen or pointed at is the page's own text colour.

export const WEIGHT = [31, 119, 224];
export const PROBABILITY = [130, 80, 196];
export const POSITIVE = [0, 133, 122]; // values with a sign
export const NEGATIVE = [150, 96, 47];
// They are lighter on a dark page.
export const SIGNED = { light: [NEGATIVE, POSITIVE], dark: [[196, 128, 66], [20, 165, 152]] };
export const CHANGED = [232, 113, 10]; // around what the visitor has changed
export const GREY = [128, 128, 128];

// The ramp of weights from 0 to 1: from nearly nothing over blue to the colour that stands out most from the page, dark
// on a light one and light on a dark one. Red, green, blue, opacity.
const NONE = [...WEIGHT, 0.03], HALF = [...WEIGHT, 0.72];
export const RAMPS = { light: [NONE, HALF, [8, 48, 107, 1]], dark: [NONE, HALF, [158, 202, 255, 1]] };
export const PAGES = { light: [255, 255, 255], dark: [14, 17, 23] };

export const BLACK = "#000"; // of digits on cells
export const WHITE = "#fff";
export const FRAME = "rgba(128, 128, 128, 0.55)";
// Of the light theme, which files have: text, page, lines across a figure.
export const INK = "rgb(47, 45, 43)";
export const PAPER = "rgb(255, 255, 255)";
export const GRID = "rgb(230, 234, 241)";
// Of figures of weights, by .streamlit/config.toml: the strongest colour, and that of digits on strong cells, in the
// dark theme and in the light one.
export const OF_WEIGHTS = [["rgb(158, 202, 255)", "rgb(8, 48, 107)"], ["rgb(1, 0, 0)", PAPER]];

// Heads side by side, kept apart by any colour vision.
export const HEADS = ["#0072b2", "#8f7d00", "#cc79a7", "#56b4e9", "#8c6bb1", "#a6611a", "#1b9aaa", "#7f7f7f"];
// Kinds of attention, in the finder of heads.
export const KINDS = { encoder: HEADS[0], decoder: HEADS[1], cross: HEADS[2] };

export function asText([red, green, blue, opaque = 1]) {
  return `rgba(${[red, green, blue].map(Math.round).join(", ")}, ${opaque.toFixed(3)})`;
}
