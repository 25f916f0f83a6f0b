// Components stay silent between a click on a link and the page that it leads to.

import assert from "node:assert/strict";
import { test } from "node:test";

let page, copies = 0;

class Click extends Event {
  constructor(link, keys = {}) {
    super("click", { cancelable: true });
    Object.assign(this, keys);
    Object.defineProperty(this, "target", { value: { closest: () => link } });
  }
}

function linkTo(path, more = {}) {
  const link = { href: `http://here${path}`, clicks: 0, hasAttribute: () => false, ...more };
  link.click = () => (link.clicks += 1) && page.dispatchEvent(new Click(link));
  return link;
}

const load = () => import(`../../headlight/components/lib/leaving.js?${(copies += 1)}`);

// The module in a new page at /attention, and a copy of it, for each component is a bundle of its own.
async function leaving(t) {
  page = new EventTarget();
  globalThis.addEventListener = page.addEventListener.bind(page);
  globalThis.location = { href: "http://here/attention", origin: "http://here", pathname: "/attention", search: "" };
  const pushed = [];
  globalThis.history = { pushState: (_, __, address) => pushed.push(address) };
  delete globalThis[Symbol.for("leaving the page")];
  const module = await load();
  delete globalThis.addEventListener;
  t.after(() => delete globalThis.history);
  t.mock.timers.enable({ apis: ["setTimeout"] });
  return { ...module, copy: await load(), pushed, click: (...of) => page.dispatchEvent(new Click(...of)) };
}

const goBackTo = (path) => {
  globalThis.location.pathname = path;
  page.dispatchEvent(new Event("popstate"));
};

test("no component reports from the click on a link until its page is there", async (t) => {
  const { isLeaving, reportIn, copy, click } = await leaving(t), reports = [];
  assert.equal(isLeaving(), false);
  click(linkTo("/decoding?text=a"));
  assert.deepEqual([isLeaving(), copy.isLeaving()], [true, true]);
  reportIn(350, () => reports.push("late"));
  t.mock.timers.tick(350);
  assert.deepEqual(reports, []);
  globalThis.location.pathname = "/decoding";
  assert.equal(isLeaving(), false);
});

test("a pending report is made before the link is followed, however long the server takes", async (t) => {
  const { isLeaving, reported, reportIn } = await leaving(t), reports = [], link = linkTo("/decoding");
  reportIn(350, () => reports.push("first") && reported());
  reportIn(350, () => reports.push("cancelled"))();
  const click = new Click(link);
  page.dispatchEvent(click);
  const pass = (ms) => Array.from({ length: ms / 50 }, () => t.mock.timers.tick(50));
  pass(600_000);
  assert.deepEqual([reports, click.defaultPrevented, link.clicks, isLeaving()], [["first"], true, 0, true]);
  globalThis.location.search = "?head=5";
  pass(1000);
  assert.deepEqual([reports, link.clicks, isLeaving()], [["first"], 1, true]);
  const next = new Click(linkTo("/masks"));
  reportIn(350, () => "nothing new");
  page.dispatchEvent(next);
  assert.equal(next.defaultPrevented, false, "no report is on its way");
});

test("a click that leads to no other page silences nothing", async (t) => {
  const { isLeaving, click } = await leaving(t), to = (more) => linkTo("/decoding", more);
  for (const of of [
    [null], [linkTo("/attention?layer=2")], [to({ href: "http://elsewhere/decoding" })], [to({ target: "_blank" })],
    [to({ hasAttribute: (name) => name === "download" })], [to(), { button: 1 }],
    ...["ctrlKey", "metaKey", "shiftKey", "altKey"].map((key) => [to(), { [key]: true }]),
  ]) {
    click(...of);
    assert.equal(isLeaving(), false);
  }
});

test("after Back to another page components are silent until one receives data", async (t) => {
  const { isLeaving, copy } = await leaving(t);
  goBackTo("/attention");
  assert.equal(isLeaving(), false);
  goBackTo("/decoding");
  assert.equal(isLeaving(), true);
  copy.received();
  assert.equal(isLeaving(), false);
  goBackTo("/decoding");
  assert.equal(isLeaving(), false, "it is this page's now");
});

test("a page that does not come is awaited for five seconds after a link, one after Back", async (t) => {
  const { isLeaving, click } = await leaving(t), now = t.mock.method(performance, "now", () => 1000);
  const isLeavingAt = (time) => now.mock.mockImplementation(() => time) ?? isLeaving();
  click(linkTo("/decoding"));
  assert.deepEqual([5999, 6000].map(isLeavingAt), [true, false]);
  goBackTo("/decoding");
  assert.deepEqual([6999, 7000].map(isLeavingAt), [true, false]);
});

test("a page that Back has left is not opened by its late run, but by the reader", async (t) => {
  const { pushed, click } = await leaving(t);
  for (const path of ["/what_if", "/decoding"]) goBackTo(path);
  for (const path of ["/what_if", "/attention"]) globalThis.history.pushState({}, "", `http://here${path}?step=3`);
  assert.deepEqual(pushed, []);
  page.dispatchEvent(Object.assign(new Event("keydown"), { altKey: true }));
  globalThis.history.pushState({}, "", "http://here/what_if");
  assert.deepEqual(pushed, [], "Alt and an arrow are Back, too");
  click(null);
  globalThis.history.pushState({}, "", "http://here/what_if");
  assert.deepEqual(pushed, ["http://here/what_if"]);
});
