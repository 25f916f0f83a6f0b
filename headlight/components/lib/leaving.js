// Between a click on a link to another page and that page, the old page's components must be silent. Streamlit takes
// what they report then for a wish to be back: it clears the new page, and draws nothing in its place.

const AT_MOST = { link: 5000, back: 1000 }; // ms; if the other page has not come by then, nothing led there
// Streamlit forgets a last report if another page is asked for before the server has taken it up, which changes the
// address: the link is followed then, however busy the server is, or with another click. It looks every so many ms.
const LOOK = 50;
const KEY = Symbol.for("leaving the page"); // one state for all components: each is a bundle of its own

const state = (globalThis[KEY] ??= listening({
  target: undefined, // the path of the page that is waited for, where a link names it
  until: 0,
  path: globalThis.location?.pathname,
  pending: new Set(),
  reported: undefined, // the address when a report was made that will change it
  timer: undefined, // of a link that is followed after a last report
  isNew: false, // whether the page has come by the last step of the history, and the reader has done nothing since
  gone: new Set(), // paths that Back and Forward have left, until the reader does something else
  at: globalThis.location?.pathname,
}));

function listening(state) {
  globalThis.addEventListener?.("click", followed, true);
  globalThis.addEventListener?.("popstate", () => {
    state.gone.add(state.at).delete(location.pathname);
    state.at = location.pathname;
    if (state.at !== state.path) wait(undefined, AT_MOST.back);
  });
  globalThis.addEventListener?.("keydown", ({ altKey }) => altKey || acted(state), true);
  if (globalThis.history) joinSteps(state, history.pushState);
  return state;
}

function acted(state) {
  state.isNew = false;
  state.gone.clear();
}

// Return whether another page was requested and has not come yet.
export function isLeaving() {
  return performance.now() < state.until && location.pathname !== state.target;
}

// Make the way to another page one step of the history. The values of that page come before its path, which brings them
// again, or after it. After a quick second Back the page between is late, and Streamlit would go forward to it.
function joinSteps(state, push) {
  history.pushState = (data, title, address) => {
    const { pathname } = new URL(address, location.href), isSamePage = pathname === location.pathname;
    if (isSamePage ? state.target && !state.timer && isLeaving() : state.gone.has(pathname)) return;
    const step = isSamePage && state.isNew ? history.replaceState : push;
    state.isNew = !isSamePage;
    step.call(history, data, title, address);
    state.at = pathname;
  };
}

// Something was received: that is the other page's first sign of life, after a link only once its address is there.
export function received() {
  state.path = globalThis.location?.pathname;
  if (state.target === undefined || state.target === state.path) state.until = 0;
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

// Something is reported that will change the address.
export function reported() {
  state.reported = globalThis.location?.search;
}

function wait(path, atMost) {
  clearTimeout(state.timer); // what leads elsewhere now counts, not the link before
  Object.assign(state, { target: path, until: performance.now() + atMost, reported: undefined, timer: undefined });
}

function followed(event) {
  acted(state);
  const link = event.target.closest?.("a[href]");
  const elsewhere = event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey;
  if (!link || elsewhere || link.target === "_blank" || link.hasAttribute("download")) return;
  const { origin, pathname } = new URL(link.href, location.href);
  if (origin !== location.origin || pathname === location.pathname) return;
  for (const now of [...state.pending]) now();
  const { reported, timer } = state;
  if (timer || reported === undefined || reported !== location.search) {
    wait(pathname, AT_MOST.link);
    return;
  }
  event.preventDefault();
  event.stopImmediatePropagation();
  wait(pathname, Infinity);
  const look = () => {
    state.timer = location.search === reported ? setTimeout(look, LOOK) : undefined;
    if (!state.timer) link.click();
  };
  look();
}
