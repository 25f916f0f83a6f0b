// A training from its facts: texts of each snapshot, curves, and the ticks of their axes.
//
// Facts (headlight/views/training/replay_content.py):
//   kind, languages: [source, target], steps: [snapshots], outputs: [snapshots], scoreName
//   sourceText, targetText, sourceTokens, decoderInputTokens, targetTokens
//   losses, scores: { shape: [points, 2], weights }, each a step and a value
//   probabilities: { shape: [snapshots, target], weights }
//   attention: { shape: [snapshots, layers, heads, queries, keys], weights }, in 65535ths
//   focus: { shape: [snapshots, layers, heads], weights }, uniform: a number or null
//   patterns: { "layer.head": one { place, rows, eligible } or null per snapshot }, layer and head from 0

import { KIND_NAMES, headName } from "../lib/names.js";
import { grouped, percent, sentenceCase } from "../lib/words.js";
import { say } from "./texts.toml";
import { headStory, headText, lossText, outputText, scoreText, spokenText } from "./words.js";

const TICKS = 5; // labels along the axis of the steps
const ROUND = [1, 2, 2.5, 5, 10]; // first digits of the upper end of an axis

export function storyOf(facts, layer, head) {
  const { kind, languages: [source, target], steps, attention: { shape: [, layers, heads] } } = facts;
  const loss = lossCurve(facts), isEncoder = kind === "encoder";
  return {
    ...facts, layers, heads, layer, head,
    queries: isEncoder ? facts.sourceTokens : facts.decoderInputTokens,
    predicts: isEncoder ? null : facts.targetTokens,
    keys: kind === "decoder" ? facts.decoderInputTokens : facts.sourceTokens,
    causal: kind === "decoder",
    name: headName({ layer, head }), kindName: KIND_NAMES[kind], axes: say(`axes_${kind}`, { source, target }),
    texts: textsOf(facts, loss, layer, head),
    course: facts.uniform === null ? "" : courseOf(facts, layer, head),
    curves: [loss, scoreCurve(facts), focusCurve(facts, layer, head)].filter(({ lines }) => lines.length),
    ticks: stepTicks(steps),
    length: Math.max(1, steps.length - 1, ...positions(facts, pairs(facts.losses).slice(-1).map(([step]) => step))),
  };
}

const pairs = ({ weights }) => {
  return Array.from({ length: weights.length / 2 }, (_, at) => [weights[2 * at], weights[2 * at + 1]]);
};

function textsOf(facts, loss, layer, head) {
  const { steps, outputs, targetText, uniform } = facts, target = wordsIn(targetText);
  return steps.map((step, at) => {
    const output = outputText(outputs[at]), place = say("place", { step, last: steps.at(-1) });
    const pattern = facts.patterns[`${layer}.${head}`]?.[at] ?? null;
    return {
      place, ...output, right: wordsIn(outputs[at]) === target, spoken: spokenText(place, loss.texts[at], output),
      head: headText(focusAt(facts, at, layer, head), uniform, pattern),
    };
  });
}

const wordsIn = (text) => text.split(/\s+/).filter(Boolean).join(" ");

function focusAt({ focus: { shape: [, layers, heads], weights } }, snapshot, layer, head) {
  return weights[(snapshot * layers + layer) * heads + head];
}

export function mostChanged(facts) {
  const { steps, focus: { shape: [, layers, heads] } } = facts;
  let most = null;
  for (let layer = 0; layer < layers; layer++) {
    for (let head = 0; head < heads; head++) {
      const [first, last] = [0, steps.length - 1].map((at) => focusAt(facts, at, layer, head));
      if (!most || Math.abs(last - first) > Math.abs(most.last - most.first)) most = { layer, head, first, last };
    }
  }
  return most;
}

function courseOf(facts, layer, head) {
  const { steps, focus: { shape: [, layers, heads] } } = facts, most = mostChanged(facts);
  const [first, last] = [0, steps.length - 1].map((at) => focusAt(facts, at, layer, head));
  const isMost = most.layer === layer && most.head === head;
  return headStory({ first, last, steps, heads: layers * heads, most, isMost });
}

function lossCurve(facts) {
  const known = pairs(facts.losses).filter(([, loss]) => Number.isFinite(loss));
  const losses = facts.steps.map((step) => interpolated(known, step));
  const at = losses.map((loss, snapshot) => (loss === null ? null : [snapshot, loss]));
  const texts = losses.map((loss) => (loss === null ? "" : lossText(loss)));
  const x = positions(facts, known.map(([step]) => step)), y = known.map(([, loss]) => loss);
  const lines = known.length ? [{ x, y }] : [];
  return { title: say("loss"), lines, ...scale(ceiling(Math.max(0, ...y))), at, texts };
}

// The score as it was measured, a dot each time; at a snapshot the latest measured by then.
function scoreCurve(facts) {
  const { scoreName, steps } = facts, known = pairs(facts.scores), isShare = scoreName === "exact match";
  const x = positions(facts, known.map(([step]) => step)), y = known.map(([, score]) => score);
  const latest = steps.map((step) => known.findLastIndex(([measured]) => measured <= step));
  const at = latest.map((index) => (index < 0 ? null : [x[index], y[index]]));
  const texts = latest.map((index) => (index < 0 ? "" : scoreText(y[index], scoreName)));
  const { high, ticks } = scale(isShare ? 1 : ceiling(Math.max(0, ...y)));
  const shown = ticks.map(([value, text]) => [value, isShare ? scoreText(value, scoreName) : text]);
  const lines = known.length ? [{ x, y, dots: true }] : [];
  return { title: say("score", { name: sentenceCase(scoreName) }), lines, high, ticks: shown, at, texts };
}

function focusCurve(facts, layer, head) {
  const { steps, uniform, focus: { shape: [, layers, heads] } } = facts, x = steps.map((_, at) => at);
  if (uniform === null) return { lines: [] };
  const of = (one, other) => x.map((at) => focusAt(facts, at, one, other)), line = of(layer, head), others = [];
  for (let one = 0; one < layers; one++) {
    for (let other = 0; other < heads; other++) {
      if (one !== layer || other !== head) others.push({ x, y: of(one, other), faint: true });
    }
  }
  const at = line.map((value, snapshot) => [snapshot, value]), texts = line.map(percent);
  const title = say("focus");
  const { high, ticks } = scale(1);
  return { title, lines: [...others, { x, y: line }], high, ticks: ticks.map(([at]) => [at, percent(at)]), at, texts };
}

const scale = (high) => ({ high, ticks: [0, high / 2, high].map((value) => [value, String(value)]) });

// Positions of updates among the snapshots, from 0; after the last one as far apart as before it.
function positions({ steps, losses }, updates) {
  const last = steps.length - 1, end = steps[last], lastLoss = pairs(losses).at(-1)?.[0] ?? 0;
  const spacing = last ? end - steps[last - 1] : Math.max(1, lastLoss - end);
  const places = steps.map((step, at) => [step, at]);
  const among = (step) => interpolated(places, Math.max(step, steps[0]));
  return updates.map((step) => (step > end ? last + (step - end) / spacing : among(step)));
}

// The value at x of a line through [x, y] points in order; null before the first, the last one's beyond the last.
function interpolated(points, x) {
  const after = points.findIndex(([at]) => at >= x);
  if (after < 0) return points.at(-1)?.[1] ?? null;
  const [at, value] = points[after];
  if (at === x) return value;
  if (!after) return null;
  const [before, valueBefore] = points[after - 1];
  return valueBefore + ((x - before) / (at - before)) * (value - valueBefore);
}

function stepTicks(steps) {
  const count = Math.min(TICKS, steps.length), last = steps.length - 1;
  const chosen = Array.from({ length: count }, (_, at) => Math.round((at * last) / Math.max(1, count - 1)));
  return chosen.map((snapshot) => [snapshot, grouped(steps[snapshot])]);
}

// A round number not below a value.
function ceiling(value) {
  const power = 10 ** Math.floor(Math.log10(Math.max(value, 1e-6)));
  return ROUND.map((first) => first * power).find((each) => each >= value * (1 - 1e-9));
}
