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
  globalThis.location = { href: "http://here/attention", origin: "http://here", pathname: "/attention", search: "" };
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

test("what was to be reported is reported before the link is followed, however long the server takes", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const { isLeaving, reported, reportIn } = await leaving(), made = [], link = linkTo("/decoding");
  reportIn(350, () => made.push("first") && reported());
  reportIn(350, () => made.push("taken back"))();
  const click = new Click(link);
  page.dispatchEvent(click);
  const pass = (ms) => Array.from({ length: ms / 50 }, () => t.mock.timers.tick(50));
  pass(600_000);
  assert.deepEqual([made, click.defaultPrevented, link.clicks, isLeaving()], [["first"], true, 0, true]);
  globalThis.location.search = "?head=5";
  pass(50);
  assert.deepEqual([link.clicks, isLeaving()], [1, true]);
  pass(1000);
  assert.deepEqual([made, link.clicks], [["first"], 1]);
  const next = new Click(linkTo("/masks"));
  reportIn(350, () => "nothing new");
  page.dispatchEvent(next);
  assert.equal(next.defaultPrevented, false, "nothing is on its way");
});

test("a link waits no longer once another is clicked, or Back", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const { reported } = await leaving(), [left, another, before] = ["/logits", "/why", "/masks"].map((to) => linkTo(to));
  reported();
  page.dispatchEvent(new Click(left));
  const click = new Click(another);
  page.dispatchEvent(click);
  assert.equal(click.defaultPrevented, false);
  reported();
  page.dispatchEvent(new Click(before));
  globalThis.location.pathname = "/decoding";
  page.dispatchEvent(new Event("popstate"));
  globalThis.location.search = "?head=5";
  t.mock.timers.tick(60_000);
  assert.deepEqual([left.clicks, before.clicks], [0, 0]);
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
  globalThis.location.pathname = "/decoding";
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
  globalThis.location.pathname = "/decoding";
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
  globalThis.location.pathname = "/decoding";
  page.dispatchEvent(new Event("popstate"));
  now.mock.mockImplementation(() => 6999);
  assert.equal(isLeaving(), true);
  now.mock.mockImplementation(() => 7000);
  assert.equal(isLeaving(), false);
});
