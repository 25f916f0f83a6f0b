// A moment of the whole pass as a file.

import { SvgPen } from "../export/pen.js";
import { FAMILY } from "../export/svg.js";
import { paint } from "./paint.js";
import { scene } from "./scene.js";
import { say } from "./texts.toml";
import { sentenceAt, stationName } from "./words.js";

// The figure for the download menu.
export function figureOf(story, at, time, size) {
  const station = story.stations[at], name = stationName(story, station);
  const drawing = () => {
    const pen = new SvgPen(), { width, height } = size;
    paint(pen, scene(story, time, size).shapes, { family: FAMILY });
    return { parts: pen.parts, width, height };
  };
  return {
    name: `whole_pass_${at + 1}`, label: name, drawing,
    caption: say("caption", { name, sentence: sentenceAt(story, station) }),
  };
}
