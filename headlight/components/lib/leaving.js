// Between a click on a link to another page and that page, the old page's components must be silent. Streamlit takes
// what they report then for a wish to be back: it clears the new page, and draws nothing in its place.

const AT_MOST = { link: 5000, back: 1000 }; // ms; if the other page has not come by then, nothing led there
// Of a last report and the next page the server makes one run if both come before it has begun, and forgets the report:
// the page is left when that run is over. It is looked for every so many ms, and waited for no longer than so many.
const LOOK = 50, RUN_AT_MOST = 3000;
const RUNS = "[data-testid=stApp]:not([data-test-script-state=notRunning])";
const KEY = Symbol.for("leaving the page"); // one state for all components: each is a bundle of its own

const state = (globalThis[KEY] ??= listening({
  target: undefined, // the path of the page that is waited for, where a link names it
  until: 0,
  path: globalThis.location?.pathname,
  pending: new Set(),
  timer: undefined, // of a link that is followed after a last report
}));

function listening(state) {
  globalThis.addEventListener?.("click", followed, true);
  globalThis.addEventListener?.("popstate", () => location.pathname !== state.path && wait(undefined, AT_MOST.back));
  return state;
}

// Whether another page has been asked for and has not come yet.
export function isLeaving() {
  return performance.now() < state.until && location.pathname !== state.target;
}

// Something was received: after Back that is the other page's first sign of life.
export function received() {
  state.path = globalThis.location?.pathname;
  if (state.target === undefined) state.until = 0;
}

// Make a report in so many milliseconds, or before a link to another page is followed; never while that page is on its
// way. Returns what takes it back.
export function reportIn(milliseconds, report) {
  const now = () => {
    cancel();
    if (!isLeaving()) report();
  };
  const timer = setTimeout(now, milliseconds);
  const cancel = () => {
    clearTimeout(timer);
    state.pending.delete(now);
  };
  state.pending.add(now);
  return cancel;
}

function wait(path, atMost) {
  clearTimeout(state.timer); // what leads elsewhere now counts, not the link before
  Object.assign(state, { target: path, until: performance.now() + atMost });
}

function followed(event) {
  const link = event.target.closest?.("a[href]");
  const elsewhere = event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey;
  if (!link || elsewhere || link.target === "_blank" || link.hasAttribute("download")) return;
  const { origin, pathname } = new URL(link.href, location.href);
  if (origin !== location.origin || pathname === location.pathname) return;
  if (!state.pending.size) {
    wait(pathname, AT_MOST.link);
    return;
  }
  event.preventDefault();
  event.stopImmediatePropagation();
  for (const now of [...state.pending]) now();
  wait(pathname, RUN_AT_MOST + AT_MOST.link);
  let looks = RUN_AT_MOST / LOOK;
  const look = () => {
    const stays = (looks -= 1) > 0 && globalThis.document?.querySelector(RUNS);
    state.timer = stays ? setTimeout(look, LOOK) : undefined;
    if (!stays) link.click();
  };
  state.timer = setTimeout(look, LOOK);
}
