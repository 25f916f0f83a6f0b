// A component in its place, and what it reports.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Echo, mounted } from "../../headlight/components/lib/mount.js";

let copies = 0;

test("what comes back from the address is no news, what stands there otherwise is", () => {
  const echo = new Echo();
  assert.equal(echo.isNews("1"), true);
  assert.equal(echo.isNews("1"), false);
  assert.equal(echo.isWorthReporting("2"), true);
  assert.equal(echo.isWorthReporting("2"), false, "once is enough");
  assert.equal(echo.isWorthReporting("3"), true);
  assert.equal(echo.isNews("2"), false, "an echo that is late");
  assert.equal(echo.isNews("3"), false);
  assert.equal(echo.isNews("1"), true, "Back");
  assert.equal(echo.isWorthReporting("3"), true, "the same again after Back");
});

test("an address that leaves out an echo is still understood", () => {
  const echo = new Echo();
  echo.isNews("1");
  echo.isWorthReporting("2");
  echo.isWorthReporting("3");
  assert.equal(echo.isNews("3"), false, "Streamlit may run once for both");
  assert.equal(echo.isNews("2"), true);
});

test("after forgetting, everything is news", () => {
  const echo = new Echo();
  echo.isNews("1");
  echo.isWorthReporting("2");
  echo.forget();
  assert.equal(echo.isNews("2"), true);
});

// The module in a page of its own.
async function inPage() {
  const page = new EventTarget();
  globalThis.addEventListener = page.addEventListener.bind(page);
  const module = await import(`../../headlight/components/lib/mount.js?${(copies += 1)}`);
  delete globalThis.addEventListener;
  return { page, ...module };
}

test("after Back the address decides, though a report has not come back", async () => {
  const { page, Echo } = await inPage(), echo = new Echo();
  echo.isNews("1");
  echo.isWorthReporting("2");
  assert.equal(echo.isNews("1"), false, "drawn anew for another reason before the report arrives");
  page.dispatchEvent(new Event("popstate"));
  assert.equal(echo.isNews("1"), true);
  assert.equal(echo.isNews("1"), false);
});

test("after Back a component shows its data again, though Streamlit gives it no other", async (t) => {
  const { page, Echo, mounted } = await inPage();
  let switched;
  class Switch {
    constructor() {
      switched = this;
      this.echo = new Echo();
    }

    receive(data) {
      if (this.echo.isNews(data)) this.on = data;
    }

    leave() {}
  }
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const leave = mounted(Switch)({ parentElement: {}, data: "yes" });
  switched.on = "no";
  switched.echo.isWorthReporting("no");
  switched.echo.later(() => assert.fail("reported after Back"));
  page.dispatchEvent(new Event("popstate"));
  assert.equal(switched.on, "yes");
  t.mock.timers.tick(1000);
  switched.on = "no";
  globalThis.location = { hash: "#heading" };
  page.dispatchEvent(new Event("popstate"));
  delete globalThis.location;
  assert.equal(switched.on, "no", "a heading of the same page was gone to");
  leave();
  switched.on = "no";
  page.dispatchEvent(new Event("popstate"));
  assert.equal(switched.on, "no", "what has left is given nothing");
});

test("only the last of quick reports is made, a third of a second later", (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const echo = new Echo(), reported = [];
  echo.later(() => reported.push("first"));
  t.mock.timers.tick(300);
  echo.later(() => reported.push("second"));
  t.mock.timers.tick(349);
  assert.deepEqual(reported, []);
  t.mock.timers.tick(1);
  assert.deepEqual(reported, ["second"]);
  echo.later(() => reported.push("third"));
  echo.cancel();
  t.mock.timers.tick(1000);
  assert.deepEqual(reported, ["second"]);
});

test("one component for each place, given the data anew, and another after it has left", () => {
  const made = [];
  class Component {
    constructor(place) {
      Object.assign(this, { place, received: [], left: false });
      made.push(this);
    }

    receive(data) {
      this.received.push(data);
    }

    leave() {
      this.left = true;
    }
  }
  const show = mounted(Component), here = {}, there = {};
  show({ parentElement: here, data: 1, setTriggerValue: null });
  const leave = show({ parentElement: here, data: 2, setTriggerValue: null });
  show({ parentElement: there, data: 3, setTriggerValue: null });
  assert.deepEqual(made.map(({ received }) => received), [[1, 2], [3]]);
  leave();
  show({ parentElement: here, data: 4, setTriggerValue: null });
  assert.deepEqual(made.map(({ received, left }) => [received, left]), [[[1, 2], true], [[3], false], [[4], false]]);
});
