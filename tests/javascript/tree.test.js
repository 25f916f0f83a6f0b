// A beam search as the tree draws and words it.

import assert from "node:assert/strict";
import { test } from "node:test";

import { findingOf, treeOf } from "../../headlight/components/beam_tree/story.js";
import { signed } from "../../headlight/components/lib/words.js";

const branch = (ids, parent, logProbability, place, outcome = null, rank = null, score = null) => {
  const token = `piece ${ids.at(-1)}`, reads = [0.25, 0.75];
  return { ids, token, parent, logProbability, place, outcome, rank, score, reads };
};
const MADE = [
  branch([7], -1, -0.5, 2),
  branch([8], -1, -0.4, 1),
  branch([9], -1, -2.0, 3, "fell out"),
  branch([7, 3], 0, -0.6, null, "ended", 1, -0.5),
  branch([8, 3], 1, -0.9, null, "ended", 2, -0.8),
  branch([7, 5], 0, -1.5, 1, "open"),
];

test("the best translation and its continuations stand above, each in words", () => {
  const drawn = treeOf(MADE), all = (name) => drawn.map((each) => each[name]);
  assert.deepEqual(all("ids"), ["7", "7.3", "7.5", "8", "8.3", "9"]);
  assert.deepEqual(all("row"), [0, 0, 1, 2, 2, 3]);
  assert.deepEqual(all("parent"), [-1, 0, 0, -1, 3, -1]);
  assert.deepEqual(all("look"), ["best", "best ended", "", "", "ended", "dropped"]);
  assert.deepEqual(all("note"), ["", "1", "", "", "2", ""]);
  assert.equal(drawn[1].words, "“piece 3”, step 2: 90.5 % after what came before; log P of all so far −0.60. " +
    "It ended, rank 1 with the score −0.50.", "e^-0.1");
  assert.match(drawn[0].words, /, place 2 in the beam\.$/);
  assert.match(drawn[2].words, /Unfinished when the search stopped\.$/);
  assert.match(drawn[5].words, /None of its continuations was kept\.$/);
});

test("the finding counts the branches and names the farthest place of the best translation", () => {
  const { headline, more } = findingOf(MADE);
  assert.equal(headline, "Close! After step 1 the best translation was only in place 2.");
  assert.match(more, /Of 6 branches 2 ended, 1 fell out of the beam, 1 stayed open/);
  const led = MADE.map((each, at) => (at === 0 ? { ...each, place: 1 } : each));
  assert.match(findingOf(led).headline, /led the unfinished ones at every step/);
  assert.match(findingOf([branch([3], -1, -0.1, null, "ended", 1, -0.1)]).headline, /ended with its first token/);
  assert.match(findingOf(MADE.slice(0, 3)).headline, /No translation had ended/);
});

test("a number has a true minus sign, and none where it rounds to nothing", () => {
  assert.deepEqual([-1.234, 0.5, -0.001].map((value) => signed(value, 2)), ["−1.23", "0.50", "0.00"]);
});
