// Going to another step: the page and its address change in several steps, which Back takes back as one, and what is
// asked for meanwhile is done once the new step is there.

const PAGE_LINKS = "[data-testid=stSidebarNavLink]";
const ACTS = ["pointerdown", "keydown", "popstate"];
const LONGEST = 15_000; // ms until a move that never ends is given up

let since = 0, waiting = null;

export function isMoving() {
  return since > 0 && performance.now() - since < LONGEST;
}

export function beginMove() {
  since = performance.now();
  asOneEntry();
}

// The new step is there: what was asked for meanwhile is done now.
export function endMove() {
  since = 0;
  const act = waiting;
  waiting = null;
  if (act) setTimeout(act, 0);
}

export function later(act) {
  waiting = act;
}

// Follow a page's link in the list, as a click on it does.
export function openPage(name) {
  beginMove();
  const links = [...document.querySelectorAll(PAGE_LINKS)];
  const path = (link) => new URL(link.href).pathname.replace(/\/$/, "");
  const home = links.length ? path(links[0]) : ""; // the first is the home, wherever the app is served
  links.find((link) => path(link) === (name ? `${home}/${name}` : home))?.click();
}

// Streamlit writes the link, then the values that its page gives the address: one entry in the browser's history, until
// the visitor does something else.
function asOneEntry() {
  if (Object.hasOwn(history, "pushState")) delete history.pushState;
  let first = true;
  history.pushState = (...entry) => {
    History.prototype[first ? "pushState" : "replaceState"].apply(history, entry);
    first = false;
  };
  const after = performance.now();
  const restore = (event) => {
    if (event.timeStamp <= after) return; // the click that began it
    delete history.pushState;
    for (const act of ACTS) removeEventListener(act, restore, true);
  };
  for (const act of ACTS) addEventListener(act, restore, true);
}
