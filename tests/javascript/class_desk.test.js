// The teacher's rights in the browser and in addresses, the door of the class, and the teacher's question.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Door, pathOf } from "../../headlight/components/class_desk/door.js";
import { apart, problemOf } from "../../headlight/components/class_desk/own.js";
import { Room } from "../../headlight/components/class_desk/room.js";
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

test("a QR code's rectangles are its dark modules", () => {
  const rows = ["1101", "0000", "0110", "1001"], filled = new Set();
  for (const [, x, y, width] of pathOf(rows).matchAll(/M(\d+) (\d+)h(\d+)v1h-\3z/g)) {
    for (let at = 0; at < Number(width); at += 1) filled.add(`${Number(x) + at - 4} ${Number(y) - 4}`);
  }
  const dark = rows.flatMap((row, y) => [...row].flatMap((module, x) => (module === "1" ? [`${x} ${y}`] : [])));
  assert.deepEqual([...filled].sort(), dark.sort());
});

// The parts of a dialog that the door and the room use.
function dialog() {
  const parts = {}, part = () => ({ replaceChildren() {}, textContent: "", hidden: false });
  return {
    open: false,
    showModal() { this.open = true; },
    close() { this.open = false; },
    querySelector: (selector) => (parts[selector] ??= part()),
  };
}

test("the door is open for a new class, and only the teacher opens or closes it after that", () => {
  const lobby = { code: "K7MXR", link: "", others: [], problem: "", qr: [], here: 0, rounds: 0, phase: "lobby" };
  const storage = storageWith(), frame = dialog(), door = new Door(frame, dialog(), storage);
  const isOpenLater = (changes) => {
    const later = dialog();
    new Door(later, dialog(), storage).draw({ ...lobby, ...changes });
    return later.open;
  };
  assert.equal(isOpenLater({ code: "22222", rounds: 2, phase: "closed" }), false, "a class that has begun");
  door.draw(lobby);
  assert.ok(frame.open);
  door.toggle();
  door.draw({ ...lobby, here: 1 });
  assert.deepEqual([frame.open, isOpenLater()], [false, false]);
  door.toggle(true);
  assert.equal(isOpenLater({ rounds: 2, phase: "closed" }), true);
});

test("the teacher's question needs a text and two to eight options, and equal options get numbers", () => {
  const isValid = (text, count) => problemOf({ text, options: [..."abcdefghi"].slice(0, count) }) === "";
  assert.deepEqual([1, 2, 8, 9].map((count) => isValid("Which?", count)), [false, true, true, false]);
  assert.equal(isValid("", 2), false);
  assert.deepEqual(apart(["the", "cat", "the", "the"]), ["the", "cat", "the (2.)", "the (3.)"]);
});

test("a participant is removed, and the room emptied, by the second press of the same button", () => {
  const acts = [], room = new Room(dialog(), (...act) => acts.push(act));
  room.open();
  for (const sign of ["K7MX", "RT42", "", "K7MX", undefined]) room.press(sign);
  assert.deepEqual(acts, []);
  for (const sign of ["RT42", "RT42", "", ""]) room.press(sign);
  assert.deepEqual(acts, [["remove", "RT42"], ["empty"]]);
});
