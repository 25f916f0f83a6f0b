// The teacher's rights in the browser and in addresses, the class's QR code, and the teacher's question.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Door, pathOf } from "../../headlight/components/class_desk/door.js";
import { apart, problemOf } from "../../headlight/components/class_desk/own.js";
import { Rights } from "../../headlight/components/class_desk/rights.js";
import { secretIn, shared, teacherLink } from "../../headlight/components/lib/sharing.js";

const SECRET = "Ab3-_xyzAb3-_xyzAb3-_xyzAb3-_xyz";

function storageWith(content = {}) {
  const entries = new Map(Object.entries(content));
  return { getItem: (key) => entries.get(key) ?? null, setItem: (key, text) => entries.set(key, text) };
}

test("a shared address has neither the class nor the secret, and all else to the letter", () => {
  const here = "https://a.org/base/decoding";
  for (const [address, expected] of [
    [`${here}?text=a+b%20c&class=K7MXR&lesson=order.2`, `${here}?text=a+b%20c&lesson=order.2`],
    [`${here}?class=K7MXR#teach=${SECRET}`, here],
    [`${here}?text=class=K7MXR#heading`, `${here}?text=class=K7MXR#heading`],
  ]) assert.equal(shared(address), expected);
});

test("a teacher link leads from every page to the lessons, with the secret behind the #", () => {
  const expected = `https://a.org/base/lessons?lessons=a+class&class=K7MXR#teach=${SECRET}`;
  for (const [path, page] of [["/decoding?text=a", "decoding"], ["/", "home"], ["", "home"]]) {
    assert.equal(teacherLink(`https://a.org/base${path}`, page, "K7MXR", SECRET), expected);
  }
  assert.equal(secretIn(new URL(expected).hash), SECRET);
  for (const hash of ["", "#teach=short", `#teach=${SECRET}<`, `#other=${SECRET}`]) {
    assert.equal(secretIn(hash), undefined);
  }
});

test("a browser stores secrets by code for twelve hours", () => {
  let now = 1_000_000;
  const rights = new Rights(storageWith(), () => now);
  rights.keep("K7MXR", SECRET);
  rights.keep("22222", "other-secret");
  now += 12 * 3600 * 1000 - 1;
  rights.keep("K7MXR", SECRET); // seeing it again does not prolong it
  rights.forget("22222");
  assert.deepEqual(Object.keys(rights.all()), ["K7MXR"]);
  now += 1;
  assert.equal(rights.of("K7MXR"), undefined);
});

test("foreign content of the storage, or a browser that forbids it, does no harm", () => {
  for (const text of ["null", "[]", "{", "3", '{"K7MXR": 3, "22222": {"secret": 5, "at": 1}}']) {
    assert.deepEqual(new Rights(storageWith({ "headlight-teacher": text }), () => 0).all(), {});
  }
  const forbidden = { getItem: () => null, setItem: () => { throw new Error("full"); } };
  new Rights(forbidden).keep("K7MXR", SECRET);
});

test("the door shows another address when the computer changes its network, and stays shut", () => {
  const parts = {}, part = (selector) => (parts[selector] ??= { replaceChildren() {}, querySelector: part });
  const show = (open) => () => { dialog.open = open; };
  const dialog = { open: false, querySelector: part, close: show(false), showModal: show(true) };
  const door = new Door(dialog, part("corner"), storageWith());
  const data = { code: "K7MXR", link: "http://10.0.0.2:8601/c/K7MXR", others: [], problem: "", qr: [], phase: "lobby" };
  door.draw(data);
  assert.ok(dialog.open && parts[".link"].textContent === "10.0.0.2:8601/c/K7MXR");
  door.toggle(false);
  door.draw({ ...data, link: "http://172.20.10.2:8601/c/K7MXR" });
  assert.ok(!dialog.open && parts[".link"].textContent === "172.20.10.2:8601/c/K7MXR");
});

test("a QR code's rectangles are its dark modules", () => {
  const rows = ["1101", "0000", "0110", "1001"], filled = new Set();
  for (const [, x, y, width] of pathOf(rows).matchAll(/M(\d+) (\d+)h(\d+)v1h-\3z/g)) {
    for (let at = 0; at < Number(width); at += 1) filled.add(`${Number(x) + at - 4} ${Number(y) - 4}`);
  }
  const dark = rows.flatMap((row, y) => [...row].flatMap((module, x) => (module === "1" ? [`${x} ${y}`] : [])));
  assert.deepEqual([...filled].sort(), dark.sort());
});

test("the teacher's question needs a text and two to eight options, and equal options get numbers", () => {
  const isValid = (text, count) => problemOf({ text, options: [..."abcdefghi"].slice(0, count) }) === "";
  assert.deepEqual([1, 2, 8, 9].map((count) => isValid("Which?", count)), [false, true, true, false]);
  assert.equal(isValid("", 2), false);
  assert.deepEqual(apart(["the", "cat", "the", "the"]), ["the", "cat", "the (2.)", "the (3.)"]);
});
