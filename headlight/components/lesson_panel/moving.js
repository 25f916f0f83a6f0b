// Going to another step: the page and its address change in several steps, which Back takes back as one.

const ACTS = ["pointerdown", "keydown", "popstate"];
// Destinations in place of a step; 0 would be no report.
export const LEAVE = -1;
export const TO_LIST = -2;
export const TO_NEXT = -3;
export const LONGEST = 15_000; // ms until a move that never ends is given up

let since = 0;
let moves = 0; // of this visit
let holds = false; // whether the focus was in the panel last

export function isMoving() {
  return since > 0 && performance.now() - since < LONGEST;
}

export function beginMove() {
  since = performance.now();
  asOneEntry();
}

export function endMove() {
  since = 0;
}

export function holdFocus(isThere) {
  holds = isThere;
}

export function holdsFocus() {
  return holds;
}

// Note which move the page belongs to; return whether it is a new one, begun on the page or in the panel.
export function notesMove(number) {
  const isNew = number !== moves;
  moves = number;
  if (isNew && !isMoving()) beginMove();
  return isNew;
}

// Streamlit writes the page, then the values that the page gives its address: one entry in the browser's history, until
// the visitor does something else.
export function asOneEntry() {
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
