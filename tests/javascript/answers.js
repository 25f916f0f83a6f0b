// Answers of the engine for Python to compare: node answers.js FOLDER. benchmarks/engine_answers.py writes the
// folder and reads what is left there.
//
// questions.json has the runs, [{ model, kernel: "plain" or "simd", questions: [[verb, ...arguments]] }], MODEL.json
// with MODEL.bin the models. Arrays of numbers go into answers.bin, and [type, offset, length] stands in their place.

import fs from "node:fs";
import path from "node:path";
import { beamSearch, decode, replay, sampler } from "../../headlight/components/engine/decoding.js";
import { Engine, KINDS, kernelNeeds } from "../../headlight/components/engine/engine.js";
import { partLosses, partsOf } from "../../headlight/components/engine/heads.js";
import { plainKernel, simdKernel } from "../../headlight/components/engine/kernel.js";
import { Translator } from "../../headlight/components/engine/translator.js";
import { recordVectors } from "../../headlight/components/engine/vectors.js";

const FOLDER = process.argv[2];
const WASM = new URL("../../headlight/components/engine/kernel.wasm", import.meta.url);
const read = (name) => fs.readFileSync(path.join(FOLDER, name));
const parse = (name) => JSON.parse(read(name).toString("utf8"));

function model(name, kernelName) {
  const header = parse(`${name}.json`), bytes = new Uint8Array(read(`${name}.bin`));
  const kernel = kernelName === "simd" ? simdKernel(fs.readFileSync(WASM), kernelNeeds(header)) : plainKernel();
  if (header.tokenizer === undefined) return { engine: new Engine(header, bytes, kernel) };
  const translator = new Translator(header, bytes, kernel);
  return { translator, engine: translator.engine };
}

// All that a run yields, and what it gives in the end.
function collect(run) {
  const each = [];
  for (;;) {
    const { done, value } = run.next();
    if (done) return { value, each };
    if (value !== undefined) each.push(value);
  }
}

const resultOf = (engine, steps) => {
  const found = steps.results(Number(engine.config.forced_first_token)), count = found.targetIds.length;
  return { ...found, ...Object.fromEntries(KINDS.map((kind) => [kind, engine.mapsOf(kind, count)])) };
};

// On ids; what is not here is a verb of the translator.
const VERBS = {
  decode: ({ engine }, source, { sampling, ...options }) => {
    const choose = sampling && sampler(engine, sampling);
    return resultOf(engine, collect(decode(engine, source, { ...options, choose })).value);
  },
  replay: ({ engine }, source, target, options) =>
    resultOf(engine, collect(replay(engine, source, target, options)).value),
  beam: ({ engine }, source, options) => collect(beamSearch(engine, source, options)).value,
  losses({ engine }, source, target) {
    const found = partsOf(engine, source, target).map((part) => partLosses(engine, source, target, part));
    return { each: found.flatMap(({ each }) => each), value: found[0].logs };
  },
  points: ({ engine }, ...given) => recordVectors(engine, ...given),
  logits({ engine }, source, target, options) {
    engine.begin(source, options);
    engine.advance([engine.config.begin_id, ...target.slice(0, -1)], 0);
    const found = new Float32Array(target.length * engine.vocab);
    engine.eachLogits(target.length, (row, at) => {
      found.set(engine.logits.subarray(at, at + engine.vocab), row * engine.vocab);
    });
    return found;
  },
  encode: ({ translator }, texts) => texts.map((text) => translator.tokenizer.encode(text)),
  spell: ({ translator }, rows) => rows.map((ids) => translator.tokenizer.decode(ids)),
  // Milliseconds of a question that is asked for so many seconds over and over, and the processor's in the mean.
  time(run, seconds, question) {
    const all = [], before = process.cpuUsage(), end = performance.now() + 1000 * seconds;
    for (let begun = performance.now(); begun < end || all.length < 3; begun = performance.now()) {
      answer(run, question);
      all.push(performance.now() - begun);
    }
    const { user, system } = process.cpuUsage(before);
    return { all, cpu: (user + system) / 1000 / all.length };
  },
  megabytes: () => process.memoryUsage().rss / 1e6,
};

function answer(run, [verb, ...given]) {
  try {
    return VERBS[verb] ? VERBS[verb](run, ...given) : collect(run.translator[verb](...given));
  } catch ({ name, message }) {
    return { error: { name, message } };
  }
}

const TYPES = { Float32Array: "<f4", Float64Array: "<f8", Int32Array: "<i4", Uint8Array: "|u1" };
const out = fs.openSync(path.join(FOLDER, "answers.bin"), "w");
let end = 0;

// Called at once after each answer, for what an answer refers to may be overwritten by the next.
function kept(_, value) {
  if (!ArrayBuffer.isView(value)) return value;
  fs.writeSync(out, new Uint8Array(value.buffer, value.byteOffset, value.byteLength));
  const place = [TYPES[value.constructor.name], end, value.length];
  end += value.byteLength;
  return { array: place };
}

const answers = parse("questions.json").map(({ model: name, kernel, questions }) => {
  const found = model(name, kernel);
  return questions.map((each) => JSON.parse(JSON.stringify(answer(found, each), kept)));
});
fs.closeSync(out);
fs.writeFileSync(path.join(FOLDER, "answers.json"), JSON.stringify(answers));
