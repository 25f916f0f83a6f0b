// The whole pass: what is drawn at each station, where, and how it is said.

import assert from "node:assert/strict";
import { test } from "node:test";

import { scene } from "../../headlight/components/whole_pass/scene.js";
import { SECONDS, ranked, stationAt, storyOf, strongest } from "../../headlight/components/whole_pass/story.js";
import { chapterSentence, pageOf, partText, sentenceAt } from "../../headlight/components/whole_pass/words.js";

const STEPS = 50_000, DIMENSIONS = 3;

// Weights of rows that sum to one, each row another; of the decoder without a look ahead.
function mapOf(layers, heads, queries, keys, isCausal = false) {
  const weights = new Uint16Array(layers * heads * queries * keys);
  for (let row = 0; row < layers * heads * queries; row++) {
    const length = isCausal ? (row % queries) + 1 : keys;
    const raw = Array.from({ length }, (_, key) => 1 + ((7 * row + 3 * key * key) % 11));
    const sum = raw.reduce((one, other) => one + other);
    raw.forEach((each, key) => (weights[row * keys + key] = Math.round((STEPS * each) / sum)));
  }
  return { shape: [layers, heads, queries, keys], weights };
}

function columnsOf(points, tokens) {
  const weights = Float32Array.from({ length: points * tokens * DIMENSIONS }, (_, at) => Math.sin(at));
  return { shape: [points, tokens, DIMENSIONS], weights };
}

function factsOf({ source = 4, target = 3, layers = [2, 3], heads = 2, ...more } = {}) {
  const names = (length, name) => Array.from({ length }, (_, at) => (at === length - 1 ? "</s>" : `▁${name}${at}`));
  const targetTokens = names(target, "wort"), [encoder, decoder] = layers;
  return {
    sourceText: "a", targetText: "b", finished: true, numForced: 0, steps: STEPS, heads, width: 64, hidden: 256,
    vocabulary: 5000, positioned: true, dimensions: [0, 31, 63], parameters: new Proxy({}, { get: () => 1234 }),
    sourceTokens: names(source, "word"), targetTokens, decoderInputTokens: ["<s>", ...targetTokens.slice(0, -1)],
    targetProbabilities: Float32Array.from(targetTokens, () => 0.75), targetRanks: targetTokens.map(() => 1),
    candidateTokens: targetTokens.map((token) => [token, "▁x", "▁y", "▁z", "▁u", "▁v"]),
    candidateProbabilities: Float32Array.from(targetTokens.flatMap(() => [0.75, 0.1, 0.05, 0.02, 0.01, 0.005])),
    layers: { encoder, decoder }, drawn: { encoder: [...Array(encoder).keys()], decoder: [...Array(decoder).keys()] },
    encoder: mapOf(encoder, heads, source, source), decoder: mapOf(decoder, heads, target, target, true),
    cross: mapOf(decoder, heads, target, source),
    sourceColumns: columnsOf(4 + 2 * encoder, source), targetColumns: columnsOf(4 + 3 * decoder, target), ...more,
  };
}
const SIZE = { width: 1100, height: 520 };

// By another way than the story: the mean over heads, and over layers where `layer` is null.
function meanOf({ shape: [layers, heads, queries, keys], weights }, layer, query, key) {
  const all = layer === null ? [...Array(layers).keys()] : [layer];
  const parts = all.flatMap((each) => [...Array(heads).keys()].map((head) => {
    return weights[((each * heads + head) * queries + query) * keys + key] / STEPS;
  }));
  return parts.reduce((sum, each) => sum + each) / parts.length;
}

const linesOf = (shapes, kind, layer) => shapes.filter(({ kind: shape, about }) => {
  return shape === "line" && about?.kind === kind && about.layer === layer;
});

for (const width of [1100, 390]) {
  test(`at each station the weights drawn are those of the facts, ${width} pixels wide`, () => {
    const facts = factsOf(), story = storyOf(facts);
    let seen = 0;
    for (const { kind, layer, step, still } of story.stations) {
      const kinds = kind === "step" ? ["decoder", "cross"] : facts[kind]?.shape ? [kind] : [];
      const { shapes, layout } = scene(story, still, { width, height: 560 });
      const layers = kind === "step" && !layout.folded ? story.drawn.decoder : [layer];
      for (const [each, layer] of kinds.flatMap((name) => layers.map((at) => [name, at]))) {
        const { shape: [, , queries, keys] } = facts[each], lines = linesOf(shapes, each, layer);
        const rows = kind === "encoder" ? [...Array(queries).keys()] : [step ?? 0];
        const drawn = new Map(lines.map(({ weight, about }) => [`${about.query} ${about.key}`, weight]));
        for (const query of rows) {
          for (let key = 0; key < keys; key++) {
            const expected = meanOf(facts[each], layer, query, key), weight = drawn.get(`${query} ${key}`) ?? 0;
            assert.ok(Math.abs(weight - expected) < (weight ? 1e-5 : 0.0201), `${each} ${layer} ${query} ${key}`);
            seen += weight > 0;
            drawn.delete(`${query} ${key}`);
          }
        }
        assert.equal(drawn.size, 0, "no line of another row");
      }
    }
    assert.ok(seen > 50);
  });
}

// The box of a shape on the canvas; texts are as wide as they may become.
function boxOf(shape) {
  const { kind, points, x, y, wide, high, most, size, align, turned } = shape;
  if (kind === "line") {
    const [xs, ys] = [0, 1].map((axis) => points.map((point) => point[axis]));
    return [Math.min(...xs), Math.min(...ys), Math.max(...xs), Math.max(...ys)];
  }
  if (kind !== "text") return [x, y, x + wide, y + high];
  const width = Math.min(most ?? Infinity, 0.9 * size * shape.text.length);
  if (turned) return [x - size, y - width, x, y];
  const left = { left: x, right: x - width, center: x - width / 2 }[align];
  return [left, y - size, left + width, y];
}

test("nothing is drawn outside the canvas, whatever its width, the tokens and the layers", () => {
  const sizes = [[320, 560], [390, 560], [639, 560], [640, 380], [768, 420], [1108, 530], [1280, 636], [1920, 640]];
  for (const [tokens, layers] of [[2, 1], [12, 3], [30, 6], [60, 12]]) {
    const story = storyOf(factsOf({ source: tokens, target: tokens, layers: [layers, layers], heads: 1 }));
    for (const [width, height] of sizes) {
      for (let time = 0; time <= SECONDS; time += 0.83) {
        for (const shape of scene(story, time, { width, height }).shapes) {
          const [left, top, right, bottom] = boxOf(shape);
          const words = () => `${JSON.stringify(shape)} of ${tokens} tokens on ${width} at ${time}`;
          const isInside = left >= -0.01 && top >= -0.01 && right <= width + 0.01 && bottom <= height + 0.01;
          if (!isInside) assert.fail(words());
        }
      }
    }
  }
});

test("the stations follow one another for twenty seconds, and each still lies in its own station", () => {
  const story = storyOf(factsOf({ target: 6 })), { stations } = story;
  assert.ok(Math.abs(stations.at(-1).until - SECONDS) < 1e-9);
  stations.forEach(({ from, until, still }, at) => {
    assert.equal(from, at ? stations[at - 1].until : 0);
    assert.ok(until > from);
    assert.equal(stationAt(story, still), at);
  });
  const later = stations.filter(({ kind }) => kind === "step").map(({ from, until }) => until - from);
  assert.ok(later.every((each, at) => !at || each <= later[at - 1] + 1e-9), "each step is faster than the one before");
  assert.ok(!storyOf(factsOf({ positioned: false })).byId.has("positions"));
});

test("a head that is pointed at has its own lines, a token those of its row", () => {
  const facts = factsOf(), story = storyOf(facts), { still } = story.byId.get("encoder.1");
  const [, heads, queries, keys] = facts.encoder.shape;
  for (const { weight, about } of linesOf(scene(story, still, SIZE, { id: "head 1", head: 1 }).shapes, "encoder", 1)) {
    const at = ((heads + 1) * queries + about.query) * keys + about.key;
    assert.ok(Math.abs(weight - facts.encoder.weights[at] / STEPS) < 1e-6);
  }
  const lines = linesOf(scene(story, still, SIZE, { id: "encoder.1", token: 2 }).shapes, "encoder", 1);
  const least = Math.min(...lines.filter(({ about }) => about.query === 2).map(({ alpha }) => alpha));
  assert.ok(lines.filter(({ about }) => about.query !== 2).every(({ alpha }) => alpha < least));
});

test("layers of which a stack has many are folded into one column, and its name says how many there are", () => {
  const drawn = { encoder: [0, 5, 11], decoder: [0, 5, 11] }, small = factsOf({ layers: [3, 3], heads: 1 });
  const story = storyOf({ ...small, layers: { encoder: 12, decoder: 12 }, drawn, heads: 16 });
  const { still } = story.byId.get("encoder.1");
  const { layout, shapes, parts } = scene(story, still, SIZE);
  assert.ok(layout.folded && layout.source.columns.length === 2);
  assert.ok(shapes.some(({ text }) => text === "layer 6 of 12"));
  assert.ok(!parts.some(({ head }) => head !== undefined), "one mean has no heads");
});

test("the sentence of a station has its numbers, a part its page", () => {
  const facts = factsOf(), story = storyOf(facts), of = (id) => sentenceAt(story, story.byId.get(id));
  const [{ key, weight }] = ranked(story.maps.cross.row(1, null, 0), 1), percents = `${Math.round(100 * weight)} %`;
  assert.ok(of("cross.1").includes(`“${story.source[key]}” (${percents})`));
  const best = strongest(story.maps.encoder.at(0), facts.sourceTokens);
  assert.notEqual(best.query, best.key);
  assert.ok(of("vocabulary").includes("5,000 tokens") && of("vocabulary").includes("“wort0” gets 75 %, the most"));
  assert.ok(of("vocabulary").includes("The 4,995 tokens that are not shown have 7 % together."));
  assert.ok(!of("encoder.0").includes(" alone gets "), "no token gets half of this layer");
  const resting = { ...facts.encoder, weights: facts.encoder.weights.map((_, at) => (at % 4 === 3 ? STEPS : 0)) };
  const rest = sentenceAt(storyOf({ ...facts, encoder: resting }), story.byId.get("encoder.0"));
  assert.match(rest, /alone gets 100 % of all weight/);
  const saidWith = (change) => sentenceAt(storyOf({ ...facts, ...change }), story.byId.get("vocabulary"));
  assert.match(saidWith({ targetRanks: [4, 1, 1] }), /choice number 4/);
  assert.match(saidWith({ numForced: 1 }), /not chosen but given/);
  const words = story.stations.map((station) => chapterSentence(story, station, station.still).split(" "));
  assert.ok(words.every(({ length }) => length < 22), "short enough to be read while it plays");
  for (const { still } of story.stations) {
    for (const part of scene(story, still, SIZE).parts) {
      assert.ok(partText(story, { ...part, token: 1 }, 1).length > 10, part.kind);
      assert.equal(pageOf(story, part, 1).length, 2, part.kind);
    }
  }
  const head = { kind: "cross", layer: 2, head: 1, id: "head 1" };
  const address = { inside: "step by step", head: "cross.3.2", at_step: "softmax", query: "3" };
  assert.deepEqual(pageOf(story, head, 2), ["inside", address]);
});
