// Between a click on a link to another page and that page, the old page's components must be silent. Streamlit takes
// what they report then for a wish to be back: it clears the new page, and draws nothing in its place.

const AT_MOST = 5000; // ms; if the other page has not come by then, the link did not lead there
const HEAD_START = 50; // ms that the server has for a last report before the page is left

let target; // the path of the page that is waited for, where a link names it
let until = 0;
let path = globalThis.location?.pathname;
const pending = new Set();

globalThis.addEventListener?.("click", followed, true);
globalThis.addEventListener?.("popstate", () => location.pathname !== path && wait(undefined));

// Whether another page has been asked for and has not come yet.
export function isLeaving() {
  return performance.now() < until && location.pathname !== target;
}

// Something was received: after Back that is the other page's first sign of life.
export function received() {
  path = globalThis.location?.pathname;
  if (target === undefined) until = 0;
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
    pending.delete(now);
  };
  pending.add(now);
  return cancel;
}

function wait(forPath) {
  target = forPath;
  until = performance.now() + AT_MOST;
}

function followed(event) {
  const link = event.target.closest?.("a[href]");
  const elsewhere = event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey;
  if (!link || elsewhere || link.target === "_blank" || link.hasAttribute("download")) return;
  const { origin, pathname } = new URL(link.href, location.href);
  if (origin !== location.origin || pathname === location.pathname) return;
  if (!pending.size) {
    wait(pathname);
    return;
  }
  event.preventDefault();
  event.stopImmediatePropagation();
  for (const now of [...pending]) now();
  setTimeout(() => link.click(), HEAD_START);
}
