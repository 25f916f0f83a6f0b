// A moment of the whole pass as a file.

import { SvgPen } from "../export/pen.js";
import { FAMILY } from "../export/svg.js";
import { inWords } from "../lib/tokens.js";
import { paint } from "./paint.js";
import { scene } from "./scene.js";
import { stationAt } from "./story.js";
import { sentenceAt, stationName } from "./words.js";

// The figure for the download menu.
export function figureOf(story, time, size) {
  const at = stationAt(story, time), station = story.stations[at];
  const drawing = () => {
    const pen = new SvgPen(), { width, height } = size;
    paint(pen, scene(story, time, size).shapes, { family: FAMILY });
    return { parts: pen.parts, width, height };
  };
  return {
    name: `whole_pass_${at + 1}`,
    label: inWords(stationName(story, station)),
    caption: `${stationName(story, station)}. ${sentenceAt(story, station)} Each row of cells is some numbers of a vector, ` +
      "brown below zero and teal above; the thicker a line, the larger its attention weight.",
    drawing,
  };
}
