// Two rows of tokens with lines between them, whatever their weights are of: where the lines meet the tokens, and what
// mouse, finger and keys point at, {side, index}.

import { isShortcut, svgElement } from "../lib/canvas.js";
import { lettersFor, lookOf, moved } from "./geometry.js";

export const SIDES = ["source", "output"]; // the rows above and below; of an upright drawing left and right
const TURNED = { ArrowUp: "ArrowLeft", ArrowDown: "ArrowRight", ArrowLeft: "ArrowUp", ArrowRight: "ArrowDown" };
const ALONG = ["offsetLeft", "offsetWidth"], ACROSS = ["offsetTop", "offsetHeight"];

export function pathLike(weight) {
  const { strokeWidth, strokeOpacity } = lookOf(weight);
  return svgElement("path", { "stroke-width": strokeWidth, "stroke-opacity": strokeOpacity });
}

// Let a row hear what points at its tokens. lines: {buttons, centres}, each by side, {hovered, focused}, which are set
// here, and show(), which draws them. clicked(place, event) hears of a click, its place null beside the tokens.
export function listenToRow(lines, side, row, clicked = null) {
  const tokenOf = ({ target }) => {
    const index = lines.buttons[side].indexOf(target.closest("button"));
    return index < 0 ? null : { side, index };
  };
  const point = (name, to) => {
    lines[name] = to;
    lines.show();
  };
  // A finger that is lifted leaves the token, which stays focused: only a mouse hovers, once it has moved.
  row.onpointermove = (event) => {
    if (event.pointerType !== "mouse" || !(event.movementX || event.movementY)) return;
    const token = tokenOf(event);
    if (token?.index !== lines.hovered?.index) point("hovered", token);
  };
  row.addEventListener("point", (event) => point("hovered", tokenOf(event))); // by a lesson
  row.onpointerleave = () => point("hovered", null);
  row.addEventListener("focusin", (event) => point("focused", tokenOf(event)));
  row.addEventListener("focusout", () => point("focused", null));
  row.onclick = (event) => {
    event.target.closest("button")?.focus(); // which Safari does not do by itself
    clicked?.(tokenOf(event), event);
  };
  row.onkeydown = (event) => goByKey(lines, event, tokenOf(event));
}

function goByKey(lines, event, from) {
  if (!from || isShortcut(event)) return;
  if (event.key === "Escape") return event.target.blur();
  const key = (lines.isUpright && TURNED[event.key]) || event.key, to = moved(from, key, lines.centres);
  if (!to) return;
  lines.hovered = null;
  lines.buttons[to.side][to.index].focus();
  event.preventDefault();
}

// The ends of lines at the tokens, in pixels of the stage, x along a row: {source, output}, each [{x, y}].
export function centresOf(stage, { source, output }, isUpright = false) {
  const from = (token, axis) => {
    let at = 0;
    for (let each = token; each && each !== stage; each = each.offsetParent) at += each[axis];
    return at;
  };
  const [[start, length], [edge, depth]] = isUpright ? [ACROSS, ALONG] : [ALONG, ACROSS];
  const end = (token, depths) => ({
    x: from(token, start) + token[length] / 2, y: from(token, edge) + depths * token[depth],
  });
  return { source: source.map((token) => end(token, 1)), output: output.map((token) => end(token, 0)) };
}

// Set the largest letters with which a stage fits into the room; return them.
export function fitLetters(stage, room, largest) {
  stage.style.setProperty("--size", `${largest}px`);
  const letters = lettersFor(stage.scrollWidth, room, largest);
  if (letters < largest) stage.style.setProperty("--size", `${letters}px`);
  return letters;
}

// Leave the lines of what is pointed at alone, all where nothing is.
export function markLines(drawing, { lines, paths }, pointed) {
  drawing.classList.toggle("pointed", pointed !== null);
  lines.forEach((line, at) => {
    const isOn = pointed && line[pointed.side === "output" ? "row" : "column"] === pointed.index;
    paths[at].classList.toggle("on", Boolean(isOn));
  });
}

// The weight between what is pointed at and a token of the other row.
export function weightBetween(weights, { side, index }, other) {
  return side === "output" ? weights[index][other] : weights[other][index];
}
