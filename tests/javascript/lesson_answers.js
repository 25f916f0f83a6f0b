// What a live page's lessons find, for Python to compare: node lesson_answers.js FOLDER. The folder has model.json and
// model.bin, told.json with `words` and `lessons` of the page, and asked.json: [{ lesson, step, text, address }], steps
// from 0. answers.json is left there: of each { panel, told, at, shown }.

import fs from "node:fs";
import path from "node:path";
import { openModel } from "../../headlight/components/engine/headlight.js";
import { opened } from "../../headlight/components/live_page/lessons/lessons.js";
import { pose } from "../../headlight/components/live_page/lessons/pose.js";
import { Run } from "../../headlight/components/live_page/lessons/run.js";
import { LocalSource } from "../../headlight/components/live_page/source.js";

const FOLDER = process.argv[2];
const KERNEL = new URL("../../headlight/components/engine/kernel.wasm", import.meta.url);
const read = (name) => fs.readFileSync(path.join(FOLDER, name));
const parse = (name) => JSON.parse(read(name).toString("utf8"));

const { words, lessons } = parse("told.json"), told = opened(lessons);
const model = openModel({
  header: parse("model.json"), weights: new Uint8Array(read("model.bin")),
  kernel: new Uint8Array(fs.readFileSync(KERNEL)),
});
await model.ready;
const source = new LocalSource(model, words), answers = [];
for (const { lesson: name, step, text, address } of parse("asked.json")) {
  const lesson = told.lessons.find((each) => each.name === name), trace = await source.trace(text);
  const posed = await pose(lesson, step, new Run(source, told, trace, { address }));
  const looks = { at: posed.address(), shown: posed.address(true) };
  answers.push({ panel: posed.panel, told: posed.told, ...looks, targetIds: trace.targetIds });
}
fs.writeFileSync(path.join(FOLDER, "answers.json"), JSON.stringify(answers));
