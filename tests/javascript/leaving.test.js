// The silence between a link's click and the page that it leads to.

import assert from "node:assert/strict";
import { test } from "node:test";

let page, copies = 0;

class Click extends Event {
  constructor(link, held = {}) {
    super("click", { cancelable: true });
    Object.assign(this, held);
    Object.defineProperty(this, "target", { value: { closest: () => link } });
  }
}

function linkTo(path, more = {}) {
  const link = { href: `http://here${path}`, clicks: 0, hasAttribute: () => false, ...more };
  link.click = () => (link.clicks += 1) && page.dispatchEvent(new Click(link));
  return link;
}

// The module in a page of its own at /attention.
async function leaving() {
  page = new EventTarget();
  globalThis.addEventListener = page.addEventListener.bind(page);
  globalThis.location = { href: "http://here/attention", origin: "http://here", pathname: "/attention" };
  delete globalThis[Symbol.for("leaving the page")];
  const module = await import(`../../headlight/components/lib/leaving.js?${(copies += 1)}`);
  delete globalThis.addEventListener;
  return module;
}

test("nothing is reported from a link's click until its page is there", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const { isLeaving, reportIn } = await leaving(), reported = [];
  assert.equal(isLeaving(), false);
  page.dispatchEvent(new Click(linkTo("/decoding?text=a")));
  assert.equal(isLeaving(), true);
  reportIn(350, () => reported.push("late"));
  t.mock.timers.tick(350);
  assert.deepEqual(reported, []);
  globalThis.location.pathname = "/decoding";
  assert.equal(isLeaving(), false);
});

test("what was to be reported is reported before the link is followed", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const { isLeaving, reportIn } = await leaving(), reported = [], link = linkTo("/decoding");
  reportIn(350, () => reported.push("first"));
  reportIn(350, () => reported.push("taken back"))();
  const click = new Click(link);
  page.dispatchEvent(click);
  assert.deepEqual([reported, click.defaultPrevented, link.clicks, isLeaving()], [["first"], true, 0, true]);
  t.mock.timers.tick(50);
  assert.deepEqual([link.clicks, isLeaving()], [1, true]);
  t.mock.timers.tick(1000);
  assert.deepEqual([reported, link.clicks], [["first"], 1]);
});

test("a link is followed after the last report's run, or three seconds, and not once another is clicked", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const { reportIn } = await leaving();
  let runs = true;
  t.after(() => delete globalThis.document);
  globalThis.document = { querySelector: () => runs };
  const followed = (link) => {
    reportIn(350, () => {});
    page.dispatchEvent(new Click(link));
    return link;
  };
  const pass = (ms) => Array.from({ length: ms / 50 }, () => t.mock.timers.tick(50));
  const answered = followed(linkTo("/decoding"));
  pass(600);
  assert.equal(answered.clicks, 0);
  runs = false;
  pass(50);
  assert.equal(answered.clicks, 1);
  runs = true;
  const never = followed(linkTo("/masks"));
  pass(2950);
  assert.equal(never.clicks, 0);
  pass(50);
  assert.equal(never.clicks, 1);
  const left = followed(linkTo("/logits"));
  page.dispatchEvent(new Click(linkTo("/why")));
  pass(6000);
  assert.equal(left.clicks, 0);
  const before = followed(linkTo("/masks"));
  globalThis.location.pathname = "/translate";
  page.dispatchEvent(new Event("popstate"));
  pass(6000);
  assert.equal(before.clicks, 0, "Back came after it");
});

test("a link that leads nowhere else leaves nothing", async () => {
  const { isLeaving } = await leaving();
  const others = [
    new Click(null),
    new Click(linkTo("/attention?layer=2")),
    new Click({ ...linkTo("/x"), href: "http://elsewhere/decoding" }),
    new Click(linkTo("/decoding", { target: "_blank" })),
    new Click(linkTo("/decoding", { hasAttribute: (name) => name === "download" })),
    ...["ctrlKey", "metaKey", "shiftKey", "altKey"].map((key) => new Click(linkTo("/decoding"), { [key]: true })),
    new Click(linkTo("/decoding"), { button: 1 }),
  ];
  for (const click of others) {
    page.dispatchEvent(click);
    assert.equal(isLeaving(), false);
  }
});

test("after Back to another page, until something comes; Back on the same page silences nothing", async () => {
  const { isLeaving, received } = await leaving();
  page.dispatchEvent(new Event("popstate"));
  assert.equal(isLeaving(), false);
  globalThis.location.pathname = "/translate";
  page.dispatchEvent(new Event("popstate"));
  assert.equal(isLeaving(), true);
  received();
  assert.equal(isLeaving(), false);
  page.dispatchEvent(new Event("popstate"));
  assert.equal(isLeaving(), false, "it is this page's now");
});

test("all components hear of it: each is a bundle with a copy of its own", async () => {
  const first = await leaving(), second = await import(`../../headlight/components/lib/leaving.js?${(copies += 1)}`);
  page.dispatchEvent(new Click(linkTo("/decoding")));
  assert.deepEqual([first.isLeaving(), second.isLeaving()], [true, true]);
  globalThis.location.pathname = "/translate";
  page.dispatchEvent(new Event("popstate"));
  second.received();
  assert.deepEqual([first.isLeaving(), second.isLeaving()], [false, false]);
});

test("a page that does not come is not waited for longer than five seconds, after Back one", async (t) => {
  const { isLeaving } = await leaving(), now = t.mock.method(performance, "now", () => 1000);
  page.dispatchEvent(new Click(linkTo("/decoding")));
  now.mock.mockImplementation(() => 5999);
  assert.equal(isLeaving(), true);
  now.mock.mockImplementation(() => 6000);
  assert.equal(isLeaving(), false);
  globalThis.location.pathname = "/translate";
  page.dispatchEvent(new Event("popstate"));
  now.mock.mockImplementation(() => 6999);
  assert.equal(isLeaving(), true);
  now.mock.mockImplementation(() => 7000);
  assert.equal(isLeaving(), false);
});
