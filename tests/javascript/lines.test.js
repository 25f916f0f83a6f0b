// Two rows of tokens and the lines between them: what is drawn, where, and what is said.

import assert from "node:assert/strict";
import { test } from "node:test";

import {
  changesOf, curve, lettersFor, linesOf, lookOf, moved, opacityOf, widthOf,
} from "../../headlight/components/token_lines/geometry.js";
import { outputWords, sourceWords, weightText } from "../../headlight/components/token_lines/words.js";

const DATA = {
  name: "layer 3, head 5",
  source: ["▁no", "▁cat", "▁no", ".", "</s>"],
  outputs: ["▁keine", "▁Katze", "</s>"],
  below: "output",
  chances: ["90.0 %", "25.0 %", "60.0 %"],
  ranks: [1, 2, 1],
  weights: [
    [0.5, 0.25, 0.125, 0.125, 0],
    [0.001, 0.997, 0.002, 0, 0],
    [0, 0, 0, 0, 1],
  ],
};

test("a weight is never rounded to all or to nothing", () => {
  assert.deepEqual([0, 0.0049, 0.005, 0.126, 0.995, 0.9951, 1].map(weightText), [
    "0.00", "< 0.01", "0.01", "0.13", "0.99", "> 0.99", "1.00",
  ]);
});

test("an output token says its probability, its largest weights and what is left", () => {
  assert.equal(
    outputWords(DATA, 0),
    "“▁keine”, output token 1 (probability 90.0 %, top-1): 0.50 on “▁no” (source token 1), 0.25 on “▁cat”, " +
      "0.13 on “▁no” (source token 3), 0.13 on the other 2 together.",
  );
  assert.match(outputWords(DATA, 1), /^“▁Katze”, output token 2 \(probability 25\.0 %, rank 2\): > 0\.99 on “▁cat”, /);
});

test("a row named by both tokens says both, one named by its input token no probability", () => {
  const inputs = ["<s>", "▁keine", "▁Katze"];
  const both = outputWords({ ...DATA, inputs }, 1);
  assert.match(both, /^“▁keine” → “▁Katze”, output token 2 \(probability 25\.0 %, rank 2\): /);
  const below = { ...DATA, outputs: inputs, below: "input" };
  assert.match(outputWords(below, 0), /^“<s>”, input token 1: 0\.50 on “▁no” \(source token 1\), /);
  assert.match(sourceWords(below, 1), /gets > 0\.99 from “▁keine” \(input token 2\), /);
});

test("few source tokens leave nothing over, and one is not several", () => {
  const weights = [0.5, 0.25, 0.2, 0.05];
  const cut = (count) => ({ ...DATA, source: DATA.source.slice(1, 1 + count), weights: [weights.slice(0, count)] });
  assert.match(outputWords(cut(3), 0), /0\.50 on “▁cat”, 0\.25 on “▁no”, 0\.20 on “\.”\.$/);
  assert.match(outputWords(cut(4), 0), /, 0\.05 on the other one\.$/);
});

test("a source token says who attends to it most", () => {
  assert.equal(
    sourceWords(DATA, 1),
    "“▁cat”, source token 2, gets > 0.99 from “▁Katze” (output token 2), 0.25 from “▁keine” (output token 1), " +
      "0.00 from “</s>” (output token 3).",
  );
  const more = { ...DATA, outputs: [...DATA.outputs, "!"], weights: [...DATA.weights, [0, 0.5, 0, 0, 0.5]] };
  assert.match(sourceWords(more, 1), /0\.50 from “!” \(output token 4\), 0\.25 from .*, no larger weight from/);
});

test("a weight of a hundredth has a line, and the largest lies on top", () => {
  const lines = linesOf([[0.3, 0.009, 0.01], [0, 0.9, 0.1]]);
  assert.deepEqual(lines.map(({ row, column }) => [row, column]), [[0, 2], [1, 2], [0, 0], [1, 1]]);
  for (const look of [widthOf, opacityOf]) assert.ok(look(0.01) > 0 && look(0.2) < look(0.3) && look(1) === look(1));
  assert.equal(opacityOf(1), 1);
});

test("lines that stay change from what they were, and the others fade from nothing or to it", () => {
  const before = linesOf([[0.5, 0, 0.25], [0.2, 0.8, 0]]), now = linesOf([[0.5, 0.5, 0], [0.1, 0.8, 0.1]]);
  const { stays, goes } = changesOf(before, now);
  const named = stays.map(({ at, weight }) => [now[at].row, now[at].column, weight, now[at].weight]);
  assert.deepEqual(named.sort(), [[0, 1, 0, 0.5], [1, 0, 0.2, 0.1], [1, 2, 0, 0.1]]);
  assert.deepEqual(goes, [{ row: 0, column: 2, weight: 0.25 }]);
  assert.deepEqual(changesOf(now, now), { stays: [], goes: [] });
  assert.equal(Number(lookOf(0).strokeOpacity), 0);
  assert.equal(Number(lookOf(0.5).strokeOpacity), opacityOf(0.5));
  assert.ok(Math.abs(lookOf(0.5).strokeWidth - widthOf(0.5)) < 0.01);
});

test("a line goes from below one token to above the other, upright at both", () => {
  assert.equal(curve({ x: 10, y: 30 }, { x: 50.26, y: 270 }), "M10 30C10 150 50.3 150 50.3 270");
});

test("letters shrink until the row fits, but not below 12 pixels", () => {
  assert.deepEqual([100, 700, 750, 3000].map((wide) => lettersFor(wide, 600, 15)), [15, 12, 12, 12]);
  assert.deepEqual([lettersFor(640, 600, 15), lettersFor(640, 600, 20)], [14, 18]);
});

test("arrow keys go along a row, and across to the nearest token of the other", () => {
  const rows = { source: [10, 50, 90], output: [20, 88] };
  const centres = Object.fromEntries(Object.entries(rows).map(([side, all]) => [side, all.map((x) => ({ x, y: 0 }))]));
  const at = (side, index, key) => moved({ side, index }, key, centres);
  assert.deepEqual(at("source", 1, "ArrowRight"), { side: "source", index: 2 });
  assert.deepEqual(at("source", 2, "ArrowRight"), { side: "source", index: 2 });
  assert.deepEqual(at("source", 0, "ArrowLeft"), { side: "source", index: 0 });
  assert.deepEqual(at("source", 0, "End"), { side: "source", index: 2 });
  assert.deepEqual(at("output", 1, "Home"), { side: "output", index: 0 });
  assert.deepEqual(at("source", 2, "ArrowDown"), { side: "output", index: 1 });
  assert.deepEqual(at("output", 0, "ArrowUp"), { side: "source", index: 0 });
  assert.deepEqual(at("output", 0, "ArrowDown"), { side: "output", index: 0 });
  assert.equal(at("output", 0, "a"), null);
});
