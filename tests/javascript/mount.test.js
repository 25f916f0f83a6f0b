// A component in its place, and what it reports.

import assert from "node:assert/strict";
import { test } from "node:test";

import { mounted } from "../../headlight/components/lib/mount.js";

let copies = 0;

// The module in a new page.
async function inPage() {
  const page = new EventTarget();
  globalThis.addEventListener = page.addEventListener.bind(page);
  const module = await import(`../../headlight/components/lib/mount.js?${(copies += 1)}`);
  delete globalThis.addEventListener;
  return { goBack: () => page.dispatchEvent(new Event("popstate")), ...module };
}

test("an address is news unless it is the echo of a report, however late or incomplete", async () => {
  const { goBack, Echo } = await inPage(), echo = new Echo();
  const isNews = (text) => echo.isNews(text), report = (text) => echo.isWorthReporting(text);
  assert.deepEqual(["1", "1"].map(isNews), [true, false]);
  assert.deepEqual(["2", "2", "3"].map(report), [true, false, true], "each once");
  assert.deepEqual(["2", "3", "1"].map(isNews), [false, false, true], "late echoes, then Back");
  assert.deepEqual(["3", "4"].map(report), [true, true]);
  assert.deepEqual(["4", "3"].map(isNews), [false, true], "Streamlit may run once for two reports");
  report("5");
  goBack();
  assert.deepEqual(["3", "3"].map(isNews), [true, false], "after Back the address decides");
  report("6");
  echo.forget();
  assert.equal(isNews("6"), true);
});

test("after Back a component receives its data again, though Streamlit gives it none", async (t) => {
  const { goBack, Echo, mounted } = await inPage();
  let toggle;
  class Switch {
    constructor() {
      toggle = this;
      this.echo = new Echo();
    }

    receive(data) {
      if (this.echo.isNews(data)) this.on = data;
    }

    leave() {}
  }
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const leave = mounted(Switch)({ parentElement: {}, data: "yes" });
  const afterBack = () => {
    toggle.on = "no";
    goBack();
    return toggle.on;
  };
  toggle.echo.isWorthReporting("no");
  toggle.echo.later(() => assert.fail("reported after Back"));
  assert.equal(afterBack(), "yes");
  t.mock.timers.tick(1000);
  globalThis.location = { hash: "#heading" };
  assert.equal(afterBack(), "no", "to a heading of the same page");
  delete globalThis.location;
  leave();
  assert.equal(afterBack(), "no");
});

test("each place has one component until it leaves", () => {
  const instances = [];
  class Component {
    received = [];

    constructor() {
      instances.push(this);
    }

    receive(data) {
      this.received.push(data);
    }

    leave() {
      this.receive("left");
    }
  }
  const mount = mounted(Component), here = {}, there = {};
  const show = (parentElement, data) => mount({ parentElement, data, setTriggerValue: null });
  show(here, 1);
  const leave = show(here, 2);
  show(there, 3);
  leave();
  show(here, 4);
  assert.deepEqual(instances.map(({ received }) => received), [[1, 2, "left"], [3], [4]]);
});
