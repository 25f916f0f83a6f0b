// Stepping and playing, with plain objects as controls.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Playhead } from "../../headlight/components/lib/playback.js";

function player(t) {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const controls = {}, drawn = [], sent = [];
  const find = (selector) => (controls[selector] ??= { style: {}, value: "1", setAttribute: () => {} });
  const playhead = new Playhead(find, "step", 1, 1000, {
    draw: () => drawn.push(playhead.at), valueOf: (at) => at * 10, send: (value) => sent.push(value),
  });
  playhead.last = 5;
  const click = (...names) => names.forEach((name) => find(`.${name}`).onclick());
  const key = (name, target = "div") => {
    let prevented = false;
    const matches = (selector) => selector === target, preventDefault = () => (prevented = true);
    find(".player").onkeydown({ key: name, target: { matches }, preventDefault });
    return prevented;
  };
  return { playhead, find, click, drawn, sent, key, tick: (ms) => t.mock.timers.tick(ms) };
}

test("buttons and slider step, and stay within the first and the last", (t) => {
  const { playhead, find, click, drawn } = player(t);
  click("back", "forward", "forward", "last", "forward", "first");
  assert.deepEqual(drawn, [1, 2, 3, 5, 5, 1]);
  find(".slider").value = "4";
  find(".slider").oninput();
  assert.equal(playhead.at, 4);
});

test("the position is reported once it rests, unless the server has it", (t) => {
  const { playhead, click, sent, tick } = player(t);
  playhead.isNews(10);
  click("forward", "forward");
  tick(350);
  click("back", "forward");
  tick(350);
  assert.deepEqual(sent, [30]);
  assert.deepEqual([30, 10].map((value) => playhead.isNews(value)), [false, true]);
});

test("playing goes to the end at the chosen speed, reports only there, and a step stops it", (t) => {
  const { playhead, find, click, drawn, sent, tick } = player(t);
  find("select").value = "2";
  playhead.toggle();
  for (const ms of [500, 500]) tick(ms);
  assert.deepEqual(drawn, [2, 3]);
  find("select").value = "4";
  find("select").onchange();
  for (const ms of [250, 250, 350]) tick(ms);
  assert.deepEqual([drawn, playhead.timer, sent], [[2, 3, 4, 5], null, [50]]);
  playhead.toggle();
  assert.equal(playhead.at, 1, "from the end it plays from the start");
  click("forward");
  tick(5000);
  assert.equal(playhead.at, 2);
});

test("keys step and play, but for those of the control itself", (t) => {
  const { playhead, key } = player(t);
  for (const [name, target, isTaken, at] of [
    ["ArrowRight", "div", true, 2], ["End", "div", true, 5], ["ArrowLeft", "select", false, 5],
    ["ArrowLeft", ".slider", false, 5], ["x", "div", false, 5], ["ArrowLeft", "div", true, 4], ["Home", "div", true, 1],
    [" ", "button", false, 1],
  ]) assert.deepEqual([key(name, target), playhead.at], [isTaken, at], name);
  assert.equal(key(" "), true);
  assert.notEqual(playhead.timer, null);
});
