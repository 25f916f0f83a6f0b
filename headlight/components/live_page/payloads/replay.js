// What the replay player shows of a training and one cross-attention head, as
// headlight/views/training/replay_content.py says it: `told` and its words come from headlight/views/live/replay.py.

import { bytes } from "../../lib/format.js";
import { patternWords } from "./explorer.js";
import { measureHeads } from "./patterns.js";
import { base64 } from "./player.js";
import { filled, fixed, grouped, headName, pluralize, sentenceCase, shortWeight } from "./text.js";

const LEVELS = 255, FULL = 65535; // as which the weight 1 is kept, and given to the player
const KIND = "cross";

// The weights of all snapshots and heads, as they are kept.
export const weightsOf = ({ weights }) => bytes(weights);

// weights: of `weightsOf`; law: see patterns.js.
export function replayPayload(told, weights, { layer, head }, law) {
  const { heads, of_head: ofHead, curves, texts, focus } = told;
  const sixteen = Uint16Array.from(weights, (weight) => weight * (FULL / LEVELS)), place = layer * heads + head;
  return {
    ...told, layer, head, name: headName(layer, head), weights: base64([sixteen]),
    curves: ofHead ? [...curves, { ...ofHead, ...focusCurve(focus, place) }] : curves,
    texts: texts.map((text, at) => ({ ...text, head: headText(told, weights, at, place, law) })),
  };
}

function focusCurve(focus, place) {
  const x = focus.map((_, at) => at), of = (one) => focus.map((values) => Number(fixed(values[one], 4)));
  const others = focus[0].flatMap((_, other) => (other === place ? [] : [{ x, y: of(other), faint: true }]));
  const own = of(place), said = focus.map((values) => shortWeight(values[place]));
  return { lines: [...others, { x, y: own }], at: own.map((value, at) => [at, value]), said };
}

function headText({ focus, uniform, words, keys, queries, heads, layers }, weights, snapshot, place, law) {
  if (uniform === null) return `${sentenceCase(words.single_key)}.`;
  const cells = queries.length * keys.length, from = (snapshot * layers * heads + place) * cells;
  const map = Float32Array.from(weights.subarray(from, from + cells), (weight) => weight / LEVELS);
  const [head] = measureHeads(KIND, { shape: [1, 1, queries.length, keys.length], weights: map }, keys, [], law);
  const numbers = { focus: shortWeight(focus[snapshot][place]), uniform: shortWeight(uniform) };
  const sharp = filled(words.sharp, numbers);
  return head.label === null ? sharp : `${sharp} ${sentenceCase(patternWords(head, law))}.`;
}

// What happened to a head over the training, and which one changed most: { headline, more, attempt }.
export function replayStory({ story, words, focus, uniform, heads, layers, steps }, { layer, head }) {
  const place = layer * heads + head, name = sentenceCase(headName(layer, head));
  const ends = (at) => ({ low: shortWeight(focus[0][at]), high: shortWeight(focus.at(-1)[at]) });
  let own = `${name}: ${words.single_key}.`, most = "";
  if (uniform !== null) {
    const { low, high } = ends(place), updates = { begin: grouped(steps[0]), end: grouped(steps.at(-1)) };
    const course = filled(low === high ? words.as_it_began : words.goes, { low, high, ...updates });
    own = filled(words.course, { name, course, uniform: shortWeight(uniform) });
    if (steps.length > 2 && layers * heads > 1) most = mostChanged();
  }
  return { headline: story.headline, more: [story.more, own, most].filter(Boolean).join(" "), attempt: words.try };

  function mostChanged() {
    const changes = focus[0].map((value, at) => Math.abs(focus.at(-1)[at] - value));
    const all = pluralize(layers * heads, "head");
    const best = changes.indexOf(Math.max(...changes)), { low, high } = ends(best);
    if (best === place) return filled(words.none_more, { heads: all });
    const changed = filled(low === high ? words.hardly : words.changes, { low, high });
    return filled(words.most, { heads: all, name: headName(Math.floor(best / heads), best % heads), changed });
  }
}
