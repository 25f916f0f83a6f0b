// Components on a page: one instance per place, which receives data and reports changes, and ignores the echo of its
// reports.

import { isLeaving, received, reported, reportIn } from "./leaving.js";

const REPORT_AFTER = 350; // ms after the last key or click, so that moving quickly asks the server once

let backs = 0; // how often the reader went back or forward
const shown = new Map(); // each component on the page, with the data that it was given last
let hash = globalThis.location?.hash;

// The address that is gone back to may be the one that a component's data are of already, when the run for its last
// choice was interrupted: then Streamlit gives it nothing, and what it shows would stay that choice.
globalThis.addEventListener?.("popstate", () => {
  backs += 1;
  const before = hash;
  hash = globalThis.location?.hash;
  if (hash !== before) return; // to a heading of this page
  for (const [component, data] of shown) {
    component.echo?.cancel();
    component.receive(data);
  }
});

// Base of all components; listeners beyond its elements end with it.
export class Component {
  constructor(root) {
    this.root = root;
    this.find = (selector) => root.querySelector(selector);
    this.echo = new Echo();
    this.ends = [() => this.echo.cancel()];
  }

  receive() {}

  // Set texts by the selectors of their elements.
  write(texts) {
    for (const [selector, text] of Object.entries(texts)) this.find(selector).textContent = text;
  }

  whenResized(element, act) {
    const observer = new ResizeObserver(act);
    observer.observe(element);
    this.ends.push(() => observer.disconnect());
  }

  listen(target, name, act, first = false) {
    target.addEventListener(name, act, first);
    this.ends.push(() => target.removeEventListener(name, act, first));
  }

  leave() {
    for (const end of this.ends) end();
  }
}

// The function that Streamlit calls, from a class with receive(data) and leave().
export function mounted(Component) {
  const components = new WeakMap();
  return ({ parentElement, data, setTriggerValue }) => {
    let component = components.get(parentElement);
    if (!component) {
      component = new Component(parentElement);
      components.set(parentElement, component);
    }
    component.setTriggerValue = (...report) => isLeaving() || setTriggerValue(...report);
    received();
    shown.set(component, data);
    component.receive(data);
    return () => {
      component.leave();
      shown.delete(component);
      components.delete(parentElement);
    };
  };
}

// Reports to the server and values of the address, compared as texts or numbers.
export class Echo {
  constructor() {
    this.cancel = () => {}; // take back what is to be reported in a while
    this.forget();
  }

  forget() {
    this.backs = backs;
    this.sent = []; // what was reported and has not come back yet
    this.address = undefined;
  }

  // Return whether the value of the address was not reported from here: then it decides. After Back a report may never
  // come back, for the page may have been left before it was drawn.
  isNews(text) {
    if (this.backs !== backs) this.forget();
    const echo = this.sent.indexOf(text);
    const news = echo < 0 && text !== this.address;
    this.sent = this.sent.slice(echo + 1);
    this.address = text;
    return news;
  }

  // Return whether the server has another text; then this one counts as reported.
  isWorthReporting(text) {
    if (text === (this.sent.at(-1) ?? this.address)) return false;
    this.sent.push(text);
    reported();
    return true;
  }

  // Report in a while, unless something else is reported before.
  later(report) {
    this.cancel();
    this.cancel = reportIn(REPORT_AFTER, report);
  }
}
