// Stepping and playing, without a page: the controls are plain objects.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Playhead } from "../../headlight/components/lib/playback.js";

function player(t, { first = 1, last = 5 } = {}) {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const controls = {}, drawn = [], sent = [];
  const control = () => ({ style: {}, value: "1", setAttribute: () => {} });
  const find = (selector) => (controls[selector] ??= control());
  const playhead = new Playhead(find, "step", first, 1000, {
    draw: () => drawn.push(playhead.at),
    valueOf: (at) => at * 10,
    send: (value) => sent.push(value),
  });
  playhead.last = last;
  const key = (name, target = "div") => {
    let prevented = false;
    const matches = (asked) => asked === target, preventDefault = () => (prevented = true);
    find(".player").onkeydown({ key: name, target: { matches }, preventDefault });
    return prevented;
  };
  return { playhead, find, drawn, sent, key, tick: (ms) => t.mock.timers.tick(ms) };
}

test("buttons step, and stay within the first and the last", (t) => {
  const { playhead, find, drawn } = player(t);
  find(".back").onclick();
  assert.equal(playhead.at, 1);
  find(".forward").onclick();
  find(".forward").onclick();
  find(".last").onclick();
  find(".forward").onclick();
  assert.deepEqual(drawn, [1, 2, 3, 5, 5]);
  find(".slider").value = "4";
  find(".slider").oninput();
  assert.equal(playhead.at, 4);
});

test("where it rests is reported once, after the last step", (t) => {
  const { playhead, find, sent, tick } = player(t);
  playhead.isNews(10);
  find(".forward").onclick();
  find(".forward").onclick();
  tick(350);
  assert.deepEqual(sent, [30]);
  find(".back").onclick();
  find(".forward").onclick();
  tick(350);
  assert.deepEqual(sent, [30], "it rests where the server knows it");
  assert.equal(playhead.isNews(30), false);
  assert.equal(playhead.isNews(10), true);
});

test("playing goes on to the end, at the chosen speed, and reports only there", (t) => {
  const { playhead, find, drawn, sent, tick } = player(t);
  find("select").value = "2";
  playhead.toggle();
  tick(500);
  tick(500);
  assert.deepEqual(drawn, [2, 3]);
  find("select").value = "4";
  find("select").onchange();
  tick(250);
  tick(250);
  assert.deepEqual(drawn, [2, 3, 4, 5]);
  assert.equal(playhead.timer, null);
  tick(350);
  assert.deepEqual(sent, [50]);
  playhead.toggle();
  assert.equal(playhead.at, 1, "from the end it plays from the start");
});

test("a step while it plays stops it", (t) => {
  const { playhead, find, tick } = player(t);
  playhead.play();
  tick(1000);
  find(".forward").onclick();
  tick(5000);
  assert.equal(playhead.at, 3);
});

test("keys step and play, but for those that are the control's or the browser's own", (t) => {
  const { playhead, key } = player(t);
  assert.equal(key("ArrowRight"), true);
  assert.equal(playhead.at, 2);
  assert.equal(key("End"), true);
  assert.equal(key("ArrowLeft", "select"), false);
  assert.equal(key("ArrowLeft", ".slider"), false);
  assert.equal(key("x"), false);
  assert.equal(playhead.at, 5);
  assert.equal(key("Home"), true);
  assert.equal(key(" ", "button"), false, "a button is pressed by the space bar itself");
  assert.equal(key(" "), true);
  assert.notEqual(playhead.timer, null);
});
