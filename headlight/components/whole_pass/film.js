// The whole pass as a film, recorded from a canvas while it plays there.

import { widthOf, saveFile } from "../export/pictures.js";
import { PAGES, asText } from "../lib/colours.js";
import { inWords } from "../lib/tokens.js";
import { paint } from "./paint.js";
import { scene } from "./scene.js";
import { SECONDS, stationAt } from "./story.js";
import { chapterSentence } from "./words.js";

const WIDE = 1280, HIGH = 720, WORDS = 84; // pixels; those of the sentence below the picture
const LINGER = 1; // seconds
const TYPES = ["video/webm;codecs=vp9", "video/webm;codecs=vp8", "video/webm", "video/mp4"];

// Draw a moment of the film with a pen: the picture, and below it its sentence.
export function drawFrame(pen, story, time, { family }) {
  const size = { width: WIDE, height: HIGH - WORDS, measure: widthOf };
  pen.fillStyle = asText(PAGES[pen.onDark ? "dark" : "light"]);
  pen.fillRect(0, 0, WIDE, HIGH);
  const words = inWords(chapterSentence(story, story.stations[stationAt(story, time)], time));
  const sentence = {
    kind: "text", x: WIDE / 2, y: HIGH - WORDS / 2 + 8, text: words, size: 26, align: "center", most: WIDE - 40, alpha: 1,
    colour: "ink",
  };
  paint(pen, [...scene(story, time, size).shapes, sentence], { family });
}

// Record the film in the time that it lasts, and save it. Fails where the browser records nothing.
export function recordFilm(story, { dark, family }, progress) {
  const type = TYPES.find((each) => MediaRecorder.isTypeSupported(each));
  const canvas = Object.assign(document.createElement("canvas"), { width: WIDE, height: HIGH });
  const pen = canvas.getContext("2d"), chunks = [];
  Object.assign(pen, { onDark: dark, imageSmoothingEnabled: false });
  drawFrame(pen, story, 0, { family });
  const recorder = new MediaRecorder(canvas.captureStream(60), { mimeType: type, videoBitsPerSecond: 6e6 });
  recorder.ondataavailable = ({ data }) => chunks.push(data);
  return new Promise((done, failed) => {
    recorder.onerror = failed;
    recorder.onstop = () => {
      saveFile(type.startsWith("video/mp4") ? "whole_pass.mp4" : "whole_pass.webm", type, ...chunks);
      done();
    };
    recorder.start(1000);
    const begin = performance.now();
    const tick = (now) => {
      const time = (now - begin) / 1000;
      drawFrame(pen, story, Math.min(SECONDS, Math.max(0, time)), { family });
      progress(Math.min(1, time / (SECONDS + LINGER)));
      if (time < SECONDS + LINGER) requestAnimationFrame(tick);
      else recorder.stop();
    };
    requestAnimationFrame(tick);
  });
}
