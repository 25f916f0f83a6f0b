// The keys of the whole page, heard wherever nothing else has a use for them.

import { isShortcut } from "../lib/canvas.js";
import { Component, mounted } from "../lib/mount.js";
import { Glossary } from "./glossary.js";
import { Room } from "./room.js";

const HAVE_KEYS_OF_THEIR_OWN = "input, textarea, select, [contenteditable=true]";
const HAVE_ARROWS_OF_THEIR_OWN = "canvas, [role=region], [role=slider]";
// The buttons of every player.
const STEPPERS = { ArrowLeft: ".back", ArrowRight: ".forward", Home: ".first", End: ".last" };
const PAGES = { PageUp: -1, PageDown: 1 };
const PAGE_LINKS = "[data-testid=stSidebarNavLink]", FOLD = "[data-testid=stSidebarCollapseButton] button";
const UNFOLD = "[data-testid=stExpandSidebarButton]";
// Where the list of pages lies over the page, or leaves it no room.
const NARROW = "(max-width: 768px), (max-height: 480px)";
const FOLDS = 400; // ms until the list is gone, or there

class Presenter extends Component {
  constructor(root) {
    super(root);
    this.find(".present").onclick = () => this.present(!this.data.present);
    this.find(".home").onclick = () => document.querySelector(PAGE_LINKS)?.click();
    this.find(".pages").onclick = () => document.querySelector(UNFOLD)?.click();
    this.find(".keys").onclick = () => this.list();
    this.find(".end").onclick = () => this.present(false);
    this.listen(document, "keydown", (event) => this.key(event));
    this.listen(document, "click", ({ target }) => {
      if (target.closest?.(PAGE_LINKS)) foldPages();
      if (target.closest?.(`${FOLD}, ${UNFOLD}, ${PAGE_LINKS}`)) setTimeout(leaveRoom, FOLDS);
    });
    foldPages();
    setTimeout(leaveRoom, FOLDS);
    this.room = new Room();
    this.glossary = new Glossary(this.find(".tip"), this.find(".words"));
    this.ends.push(() => this.room.leave(), () => this.glossary.leave());
    for (const button of root.querySelectorAll(":disabled")) button.disabled = false; // from here on they do something
  }

  receive(data) {
    this.data = data;
    this.find(".end").togglePopover(data.present);
    const place = (this.root.host ?? this.root).closest("[data-testid=stMainBlockContainer]");
    this.room.watch(place, data.present);
    this.glossary.watch(place, data.words);
  }

  key(event) {
    const isWithin = (selector) => event.composedPath()[0].closest?.(selector);
    if (event.defaultPrevented || isShortcut(event) || isWithin(HAVE_KEYS_OF_THEIR_OWN)) return;
    if (event.key === "?") this.list();
    else if (event.key === "p" || event.key === "P") this.present(!this.data.present);
    else if (event.key === "f" || event.key === "F") fullScreen();
    else if (event.key in PAGES && this.data.present) openPage(PAGES[event.key]);
    else if (event.key === "Escape" && this.data.present && !this.find("dialog").open) this.present(false);
    else if (!(event.key in STEPPERS) || isWithin(HAVE_ARROWS_OF_THEIR_OWN)) return;
    else if (!step(STEPPERS[event.key])) return;
    event.preventDefault();
  }

  // The address has it, so that a link opens a presentation too; and the server has the address.
  present(wanted) {
    document.activeElement?.blur(); // a ring around what was clicked last would be presented too
    this.setTriggerValue("present", wanted);
  }

  // It stands above the page whether the bar is in sight or not: a dialog in a hidden place is not shown.
  list() {
    const dialog = this.find("dialog");
    if (dialog.open) dialog.close();
    else {
      dialog.showModal();
      dialog.scrollTop = 0; // not at the button that has the focus, below
    }
  }
}

function fullScreen() {
  const { fullscreenElement, documentElement } = document;
  const done = fullscreenElement ? document.exitFullscreen() : documentElement.requestFullscreen();
  done.catch(() => {}); // a browser may refuse: then nothing changes
}

// On a narrow screen the list of pages would lie over the page that was chosen in it.
function foldPages() {
  if (window.matchMedia(NARROW).matches) document.querySelector(FOLD)?.click();
}

// While the list is folded, its sign lies over the beginning of the bar.
function leaveRoom() {
  document.documentElement.classList.toggle("pages_folded", Boolean(document.querySelector(UNFOLD)));
}

// Open the page so many places further in the list.
function openPage(by) {
  const links = [...document.querySelectorAll(PAGE_LINKS)];
  const here = links.findIndex((link) => new URL(link.href).pathname === location.pathname);
  links[here + by]?.click();
}

// Click the button of the page's first player that is in sight; false where there is none.
function step(selector) {
  const buttons = [...document.querySelectorAll("*")].flatMap(({ shadowRoot }) => {
    return shadowRoot ? [...shadowRoot.querySelectorAll(selector)] : [];
  });
  const button = buttons.find((each) => each.checkVisibility() && !each.disabled);
  button?.click();
  return Boolean(button);
}

export default mounted(Presenter);
