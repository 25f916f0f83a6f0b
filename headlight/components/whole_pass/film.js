// The whole pass as a film, recorded from a canvas while it plays there.

import { SvgPen } from "../export/pen.js";
import { shape, svgFile } from "../export/svg.js";
import { saveFile, widthOf } from "../export/pictures.js";
import { asText } from "../lib/colours.js";
import { inWords } from "../lib/tokens.js";
import { PAPERS, paint } from "./paint.js";
import { scene } from "./scene.js";
import { SECONDS, stationAt } from "./story.js";
import { chapterSentence } from "./words.js";

const WIDE = 1280, HIGH = 720, WORDS = 84; // pixels; those of the sentence below the picture
const LINGER = 1; // seconds
const FRAMES = 80; // of an SVG file, which has each of them whole
const TYPES = ["video/webm;codecs=vp9", "video/webm;codecs=vp8", "video/webm", "video/mp4"];

function drawFrame(pen, story, time, { dark, family }) {
  const text = inWords(chapterSentence(story, story.stations[stationAt(story, time)], time));
  const place = { x: WIDE / 2, y: HIGH - WORDS / 2 + 8, align: "center", most: WIDE - 40 };
  const { shapes } = scene(story, time, { width: WIDE, height: HIGH - WORDS, measure: widthOf });
  pen.fillStyle = asText(PAPERS[dark ? "dark" : "light"]);
  pen.fillRect(0, 0, WIDE, HIGH);
  paint(pen, [...shapes, { kind: "text", text, size: 26, colour: "ink", alpha: 1, ...place }], { family });
}

// Where the browser records nothing: an SVG file that shows one frame after the other.
function saveFrames(story, { family }) {
  const seconds = SECONDS / FRAMES, frames = Array.from({ length: FRAMES }, (_, at) => {
    const pen = new SvgPen(), end = at < FRAMES - 1 ? { dur: `${seconds}s` } : {};
    drawFrame(pen, story, seconds * (at + 1), { family });
    const turn = { attributeName: "visibility", to: "visible", begin: `${at * seconds}s`, ...end };
    return shape("g", { visibility: "hidden" }, shape("set", turn), ...pen.parts);
  });
  const { text } = svgFile({ title: "", caption: "", width: WIDE, height: HIGH, parts: frames });
  saveFile("whole_pass.svg", "image/svg+xml", text);
}

// Record the film in the time that it lasts, and save it.
export async function recordFilm(story, look, report) {
  const type = TYPES.find((each) => globalThis.MediaRecorder?.isTypeSupported(each)), chunks = [];
  if (!type) return saveFrames(story, look);
  const canvas = Object.assign(document.createElement("canvas"), { width: WIDE, height: HIGH });
  const pen = Object.assign(canvas.getContext("2d"), { onDark: look.dark, imageSmoothingEnabled: false });
  drawFrame(pen, story, 0, look);
  const recorder = new MediaRecorder(canvas.captureStream(60), { mimeType: type, videoBitsPerSecond: 6e6 });
  recorder.ondataavailable = ({ data }) => chunks.push(data);
  await new Promise((done, failed) => {
    Object.assign(recorder, { onerror: failed, onstop: done });
    recorder.start(1000);
    const begin = performance.now();
    const tick = (now) => {
      const time = Math.max(0, now - begin) / 1000;
      drawFrame(pen, story, Math.min(SECONDS, time), look);
      report(Math.min(100, Math.round((100 * time) / (SECONDS + LINGER))));
      if (time < SECONDS + LINGER) requestAnimationFrame(tick);
      else recorder.stop();
    };
    requestAnimationFrame(tick);
  });
  saveFile(`whole_pass.${type.startsWith("video/mp4") ? "mp4" : "webm"}`, type, ...chunks);
}
