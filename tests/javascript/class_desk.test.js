// A teacher's rights in her browser and in addresses, the door of her class, and a question of her own.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Door, pathOf } from "../../headlight/components/class_desk/door.js";
import { apart, problemOf } from "../../headlight/components/class_desk/own.js";
import { Room } from "../../headlight/components/class_desk/room.js";
import { Rights } from "../../headlight/components/class_desk/rights.js";
import { secretIn, shared, teacherLink } from "../../headlight/components/lib/sharing.js";

const SECRET = "Ab3-_xyzAb3-_xyzAb3-_xyzAb3-_xyz";

function kept(content = {}) {
  const held = new Map(Object.entries(content));
  return { held, getItem: (key) => held.get(key) ?? null, setItem: (key, text) => held.set(key, text) };
}

test("what is shared has neither the class nor the secret, and all else to the letter", () => {
  const here = "https://a.org/base/decoding";
  for (const [address, expected] of [
    [`${here}?text=a+b%20c&class=K7MXR&lesson=order.2`, `${here}?text=a+b%20c&lesson=order.2`],
    [`${here}?class=K7MXR`, here],
    [`${here}?class=K7MXR#teach=${SECRET}`, here],
    [`${here}#teach=${SECRET}`, here],
    [`${here}?text=class=K7MXR#heading`, `${here}?text=class=K7MXR#heading`],
    [`${here}?text=a`, `${here}?text=a`],
  ]) assert.equal(shared(address), expected);
});

test("a teacher link leads to the page of lessons, whatever page she is on, with the secret behind the #", () => {
  const base = "https://a.org/base";
  for (const [address, page] of [[`${base}/decoding?text=a`, "decoding"], [`${base}/`, "home"], [base, "home"]]) {
    const link = teacherLink(address, page, "K7MXR", SECRET);
    assert.equal(link, `https://a.org/base/lessons?lessons=a+class&class=K7MXR#teach=${SECRET}`);
    assert.equal(secretIn(new URL(link).hash), SECRET);
    assert.ok(!shared(link).includes(SECRET) && !shared(link).includes("K7MXR"));
  }
  assert.equal(teacherLink("https://a.org/why", "why", "K7MXR", SECRET).split("?")[0], "https://a.org/lessons");
  for (const hash of ["", "#teach=", "#teach=short", `#teach=${SECRET}<`, `#other=${SECRET}`]) {
    assert.equal(secretIn(hash), undefined);
  }
});

test("a browser keeps secrets by code for twelve hours", () => {
  let now = 1_000_000;
  const store = kept(), rights = new Rights(store, () => now);
  rights.keep("K7MXR", SECRET);
  rights.keep("22222", "other-secret");
  assert.equal(new Rights(store, () => now).of("K7MXR"), SECRET);
  now += 6 * 3600 * 1000;
  rights.keep("K7MXR", SECRET); // seen again: no longer for that
  rights.forget("22222");
  rights.forget("33333");
  assert.deepEqual(Object.keys(rights.all()), ["K7MXR"]);
  now += 6 * 3600 * 1000;
  assert.equal(rights.of("K7MXR"), undefined);
});

test("what another page wrote there, or a browser that forbids it, is no harm", () => {
  for (const text of ["null", "[]", "{", "3", '{"K7MXR": 3, "22222": {"secret": 5, "at": 1}}']) {
    assert.deepEqual(new Rights(kept({ "headlight-teacher": text }), () => 0).all(), {});
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

// Elements of a dialog, as far as the door asks for them.
function dialog() {
  const place = () => ({ replaceChildren() {}, textContent: "", hidden: false });
  const parts = {};
  return {
    open: false,
    showModal() { this.open = true; },
    close() { this.open = false; },
    querySelector: (selector) => (parts[selector] ??= place()),
  };
}

const LOBBY = { code: "K7MXR", link: "", others: [], problem: "", qr: [], here: 0, rounds: 0, phase: "lobby" };

test("the door is open for a new class, and what the server says later never opens it again", () => {
  const frame = dialog(), store = kept(), door = new Door(frame, dialog(), store);
  door.draw(LOBBY);
  assert.ok(frame.open);
  door.toggle();
  door.draw({ ...LOBBY, here: 1 });
  assert.ok(!frame.open);
  door.toggle();
  door.toggle();
  door.draw({ ...LOBBY, here: 2 });
  assert.ok(!frame.open, "twice is closed, however late the answer");
  const later = dialog();
  new Door(later, dialog(), store).draw(LOBBY);
  assert.ok(!later.open, "on the next page too");
});

test("the door of a class that has begun is closed, and stays open over a reload where it was open", () => {
  const frame = dialog(), store = kept(), door = new Door(frame, dialog(), store);
  door.draw({ ...LOBBY, rounds: 2, phase: "closed" });
  assert.ok(!frame.open);
  door.toggle(true);
  const after = dialog();
  new Door(after, dialog(), store).draw({ ...LOBBY, rounds: 2, phase: "closed" });
  assert.ok(after.open);
});

test("a question of her own needs words and two to eight options", () => {
  assert.equal(problemOf({ text: "Which?", options: ["a", "b"] }), "");
  assert.match(problemOf({ text: "", options: ["a", "b"] }), /Write/);
  for (const options of [["a"], [..."abcdefghi"]]) assert.match(problemOf({ text: "Which?", options }), /two to 8/);
  assert.deepEqual(apart(["the", "cat", "the", "the"]), ["the", "cat", "the (2.)", "the (3.)"]);
});

test("a participant is removed, and the room emptied, by the second press of the same button", () => {
  const acts = [], room = new Room(dialog(), (...act) => acts.push(act));
  room.open();
  for (const sign of ["K7MX", "RT42", "", "K7MX", undefined]) room.press(sign);
  assert.deepEqual(acts, []);
  room.press("RT42");
  room.press("RT42");
  room.press("");
  room.press("");
  assert.deepEqual(acts, [["remove", "RT42"], ["empty"]]);
});
