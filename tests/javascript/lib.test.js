// Modules that several components use: facts and numbers, tokens, sequences, addresses.

import assert from "node:assert/strict";
import fs from "node:fs";
import { test } from "node:test";

import { aligned, changesBetween, isSame } from "../../headlight/components/lib/diff.js";
import { decodeFacts, unpackFacts } from "../../headlight/components/lib/facts.js";
import { Grid, number, tiny } from "../../headlight/components/lib/format.js";
import { headName, kindHeadName } from "../../headlight/components/lib/names.js";
import {
  headAddress, headsAddress, numbersAddress, parseHead, parseHeads, parseNumbers, parseSelection, selectionAddress,
} from "../../headlight/components/lib/selection.js";
import { invite } from "../../headlight/components/lib/screen.js";
import { fill, sayer } from "../../headlight/components/lib/texts.js";
import { isGreedyAt, logProbabilities, runnerUp } from "../../headlight/components/lib/trace.js";
import {
  chanceText, distinct, percent, sentenceCase, signed,
} from "../../headlight/components/lib/words.js";
import { chipText, inWords, shownToken, shownTokens, wordRanges } from "../../headlight/components/lib/tokens.js";
import { otherLanguage } from "../../headlight/components/live_page/languages.js";

const base64 = (array) => Buffer.from(array.buffer).toString("base64");

test("arrays are decoded once, and names become those of JavaScript", () => {
  const array = (dtype, shape, values) => ({ dtype, shape, base64: base64(values) });
  const facts = {
    both_ways: [
      array("float32", [2, 1], Float32Array.of(0, -1.5)), null, array("uint16", [1, 2], Uint16Array.of(1, 65535)),
    ],
    line: array("int32", [2], Int32Array.of(-7, 3)),
  };
  const expected = {
    bothWays: [
      { shape: [2, 1], weights: Float32Array.of(0, -1.5) }, null, { shape: [1, 2], weights: Uint16Array.of(1, 65535) },
    ],
    line: Int32Array.of(-7, 3),
  };
  assert.deepEqual(decodeFacts(facts), expected);
  assert.deepEqual(decodeFacts(decodeFacts(facts)), expected);
});

test("half precision is decoded as in IEEE 754", () => {
  const bits = Uint16Array.of(0x0000, 0x3c00, 0xc000, 0x3555, 0x7bff, 0x0001, 0x0400, 0xfc00, 0x7c00, 0x7e00);
  const expected = [0, 1, -2, 0.333251953125, 65504, 2 ** -24, 2 ** -14, -Infinity, Infinity, NaN];
  assert.deepEqual([...decodeFacts({ dtype: "float16", shape: [10], base64: base64(bits) })], expected);
});

function packed(facts, numbers) {
  const text = new TextEncoder().encode(JSON.stringify(facts)), padded = text.length + (text.length % 2);
  const bytes = new Uint8Array(4 + padded + 2 * numbers.length).fill(32);
  new DataView(bytes.buffer).setUint32(0, padded, true);
  bytes.set(text, 4);
  bytes.set(new Uint8Array(Uint16Array.from(numbers).buffer), 4 + padded);
  return bytes;
}

test("bytes become facts and arrays, for headers of odd and even length and bytes at any offset", () => {
  for (const some_text of ["a", "ab"]) {
    const whole = packed({ some_text, arrays: { one: [1, 2], two: [2] } }, [1, 2, 3, 65_535]);
    const within = new Uint8Array(whole.length + 3);
    within.set(whole, 3);
    for (const bytes of [whole, within.subarray(3)]) {
      const { someText, one, two } = unpackFacts(bytes);
      assert.deepEqual([someText, one.shape, two.shape], [some_text, [1, 2], [2]]);
      assert.deepEqual([[...one.weights], [...two.weights]], [[1, 2], [3, 65_535]]);
    }
  }
});

test("a grid is stored row by row, and its limit is its largest finite number", () => {
  const grid = new Grid(2, 3, Float32Array.of(1, -7, 2, NaN, Infinity, 4));
  assert.deepEqual([grid.at(0, 1), grid.at(1, 2), grid.limit], [-7, 4, 7]);
  assert.deepEqual([[...grid.row(0)], [...grid.columnsFrom(1, 2).values]], [[1, -7, 2], [-7, 2, Infinity, 4]]);
});

test("numbers have their digits and a true minus; of differences only the size is written", () => {
  const written = [number(-0.12345), number(2, 0), number(123456.789, 2), number(-Infinity), number(NaN)];
  assert.deepEqual(written, ["−0.1235", "2", "1.23e+5", "−∞", "not a number"]);
  assert.deepEqual([0, 2.7e-8, 1, 4.4e12].map(tiny), ["0", "3·10⁻⁸", "1·10⁰", "4·10¹²"]);
});

const CASES = JSON.parse(fs.readFileSync(new URL("../shown_tokens.json", import.meta.url), "utf-8"));

for (const { what, tokens, chips, alone, together, words } of CASES) {
  test(`tokens look as in Python: ${what}`, () => {
    assert.deepEqual(shownTokens(tokens), together);
    if (!chips) return;
    assert.deepEqual(tokens.map(chipText), chips);
    assert.deepEqual(tokens.map(shownToken), alone);
    assert.deepEqual(wordRanges(tokens), words);
  });
}

test("a sentence that names tokens reads as in Python", () => {
  const sentences = JSON.parse(fs.readFileSync(new URL("../sentences_in_words.json", import.meta.url), "utf-8"));
  for (const [written, shown] of sentences) assert.equal(inWords(written), shown);
});

test("changes turn one sequence into the other and leave a longest common subsequence", () => {
  const longest = ([first, ...one], other) => {
    if (first === undefined) return 0;
    const at = other.indexOf(first), without = longest(one, other);
    return at < 0 ? without : Math.max(without, 1 + longest(one, other.slice(at + 1)));
  };
  const digits = (number) => (number ? [...number.toString(3)] : []);
  for (let number = 0; number < 400; number += 1) {
    const one = digits(number * 7919), other = digits((number % 7) * 104729), changes = changesBetween(one, other);
    assert.equal(one.length - changes.reduce((sum, [from, to]) => sum + to - from, 0), longest(one, other));
    const back = changes.reduceRight((sequence, [from, to, start, stop]) => {
      return sequence.toSpliced(from, to - from, ...other.slice(start, stop));
    }, one);
    assert.deepEqual(back, other);
    assert.equal(isSame(one, other), !changes.length);
  }
});

test("elements are aligned once each, in order, with the greatest sum of gains", () => {
  const gains = [[0.5, 2, -1], [1, 1.75, -1]];
  assert.deepEqual(aligned(2, 3, (left, right) => gains[left][right]), [[0, 0], [1, 1], [null, 2]]);
  assert.deepEqual(aligned(2, 1, () => -1), [[0, null], [1, null], [null, 0]]);
  assert.deepEqual([aligned(0, 1, null), aligned(0, 0, null)], [[[null, 0]], []]);
});

const SHARED = JSON.parse(fs.readFileSync(new URL("../cases_of_both_languages.json", import.meta.url), "utf-8"));
const SIZES = SHARED.sizes;
const written = (text) => {
  const head = parseHead(text);
  return head && [head.kind, head.layer, head.head];
};
const HELPERS = {
  percent, chance: chanceText, signed: (argument) => signed(...argument), distinct: (argument) => distinct(argument),
  plurals: (language) => [0, 1, 2].map((count) => new Intl.PluralRules(language).select(count)),
  sentences: sentenceCase,
  templates: ([template, values]) => sayer({ template })("template", values),
  headNames: ([layer, head, layers, heads]) => headName({ layer, head }, { layers, heads }),
  kindHeads: ([kind, layer, head]) => kindHeadName({ kind, layer, head }),
  addresses: written, numbers: (text) => parseNumbers(text, 5),
  severalHeads: (text) => headsAddress(parseHeads(text, SIZES)),
  selections: (address) => selectionAddress(parseSelection(address, SIZES, parseHead(SHARED.start))),
};

for (const [name, write] of Object.entries(HELPERS)) {
  test(`a helper writes the cases that it shares with Python: ${name}`, () => {
    for (const [argument, expected] of SHARED[name]) assert.deepEqual(write(argument), expected, argument);
  });
}

test("a value that a template lacks is an error", () => {
  assert.throws(() => fill("{row} of {rows}", { row: 1 }), /no value for {rows}/);
});

test("what follows from a trace follows in Python, too", () => {
  for (const facts of SHARED.traces) {
    const { isGreedy: greedy, runnerUp: others, logProbabilities: logs, ...trace } = decodeFacts(facts);
    const flat = ["candidateIds", "candidateProbabilities"].map((name) => [name, trace[name].flat()]);
    Object.assign(trace, Object.fromEntries(flat));
    const steps = [...trace.targetIds.keys()];
    assert.deepEqual(steps.map((step) => isGreedyAt(trace, step)), greedy);
    assert.deepEqual(steps.map((step) => runnerUp(trace, step).token), others);
    logProbabilities(trace).forEach((log, at) => assert.ok(Math.abs(log - logs[at]) < 1e-5));
  }
});

test("heads are parsed as they were written", () => {
  for (const layer of [null, 0, 11]) {
    for (const head of [null, 0, 6]) {
      assert.deepEqual(parseHead(headAddress({ kind: "cross", layer, head })), { kind: "cross", layer, head });
    }
  }
  assert.deepEqual([parseHead(undefined), parseNumbers(undefined, 5), numbersAddress([1, 4])], [null, [], "2.5"]);
});

test("with a finger one taps what a mouse clicks or hovers over", () => {
  const texts = (matches) => {
    globalThis.window = { matchMedia: () => ({ matches }) };
    return invite("Hover over a word; click it.");
  };
  assert.deepEqual([true, false].map(texts), ["Tap a word; tap it.", "Hover over a word; click it."]);
  delete globalThis.window;
});

test("a text is of another language by its function words", () => {
  const read = (path) => fs.readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");
  const lists = read("headlight/app/languages.toml").matchAll(/^(\w+) = """([^"]*)"""/gm);
  const words = Object.fromEntries([...lists].map(([, language, text]) => [language, text.trim().split(/\s+/)]));
  for (const [language, texts] of Object.entries(JSON.parse(read("tests/language_guesses.json")))) {
    for (const text of texts) assert.equal(otherLanguage(text, { reads: "English", words }), language || null, text);
  }
  assert.equal(otherLanguage("Ich liebe meine Lehrerin.", { reads: "Esperanto", words }), null);
});
