// The keys of the whole page, where no other element uses them.

import { element, isShortcut } from "../lib/canvas.js";
import { LANGUAGE } from "../lib/language.js";
import { Component, mounted } from "../lib/mount.js";
import { Glossary, isInside } from "./glossary.js";
import { Room } from "./room.js";
import { say } from "./texts.toml";

const WITH_KEYS = "input, textarea, select, [contenteditable=true]";
const WITH_ARROWS = "canvas, [role=region], [role=slider]";
// The buttons of every player.
const STEPPERS = { ArrowLeft: ".back", ArrowRight: ".forward", Home: ".first", End: ".last" };
const PAGES = { PageUp: -1, PageDown: 1 };
const PAGE_LINKS = "[data-testid=stSidebarNavLink]", FOLD = "[data-testid=stSidebarCollapseButton] button";
const UNFOLD = "[data-testid=stExpandSidebarButton]", SIDEBAR = "[data-testid=stSidebar]";
const LESSONS_LINK = `${PAGE_LINKS}[href$="/lessons"]`;
// Windows in which the list of pages covers the page.
const NARROW = "(max-width: 768px), (max-height: 480px)";
const FOLDS = 400; // ms until the list is gone, or there
const ANNOUNCED = 2000; // ms for which a page that was opened by its key is named
const SENTENCE = ".st-key-bar [data-testid=stTextInput] input";

class Presenter extends Component {
  constructor(root) {
    super(root);
    this.find(".present").onclick = () => this.present(!this.data.present);
    this.find(".home").onclick = () => openFromFolded(document.querySelector(PAGE_LINKS));
    this.find(".learn").onclick = () => openFromFolded(document.querySelector(LESSONS_LINK));
    this.find(".pages").onclick = () => document.querySelector(UNFOLD)?.click();
    this.find(".keys").onclick = () => this.list();
    this.find(".end").onclick = () => this.present(false);
    this.find("dialog").onclick = closeFromBeside;
    this.listen(document, "keydown", (event) => this.key(event));
    this.listen(document, "click", ({ target }) => {
      if (target.closest?.(PAGE_LINKS)) foldPages();
      if (target.closest?.(`${FOLD}, ${UNFOLD}, ${PAGE_LINKS}`)) setTimeout(leaveRoom, FOLDS);
    });
    this.listen(document, "focusout", ({ target }) => target.matches?.(SENTENCE) && showSentence(false));
    document.documentElement.lang = LANGUAGE.code;
    foldPages();
    setTimeout(leaveRoom, FOLDS);
    this.room = new Room();
    this.glossary = new Glossary(this.find(".tip"), this.find(".words"));
    this.ends.push(() => this.room.leave(), () => this.glossary.leave());
    for (const button of root.querySelectorAll(":disabled")) button.disabled = false; // from here on they do something
  }

  receive(data) {
    this.data = data;
    this.find(".present").hidden = !data.offered;
    this.find(".end").togglePopover(data.present);
    const place = (this.root.host ?? this.root).closest("[data-testid=stMainBlockContainer]");
    this.room.watch(place, data.present);
    this.glossary.watch(place, data.words);
  }

  key(event) {
    const isWithin = (selector) => event.composedPath()[0].closest?.(selector);
    if (isWithin(`.asking ${SENTENCE}`)) this.answer(event);
    if (event.defaultPrevented || isShortcut(event) || isWithin(WITH_KEYS)) return;
    const { present } = this.data, key = event.key.toLowerCase();
    if (key === "?") this.list();
    else if (key === "p") this.present(!present);
    else if (key === "f") fullScreen();
    else if (key === "e" && present) this.editSentence();
    else if (event.key in PAGES && present) openPage(PAGES[event.key]);
    else if (key === "escape" && present && !this.find("dialog").open) this.present(false);
    else if (!(event.key in STEPPERS) || isWithin(WITH_ARROWS)) return;
    else if (!step(STEPPERS[event.key])) return;
    event.preventDefault();
  }

  // The address has it, so that a link opens a presentation too; and the server has the address.
  present(isOn) {
    if (!this.data.offered) return;
    document.activeElement?.blur(); // a ring around what was clicked last would be presented too
    this.setTriggerValue("present", isOn);
  }

  // Show the bar's field alone, above the page, until it is left.
  editSentence() {
    const field = document.querySelector(SENTENCE);
    this.sentence = field.value;
    showSentence(true);
    field.focus();
    field.select();
  }

  // The field takes what is written in it with Enter, and also when it is left: with Escape that is what was there.
  answer({ key, isComposing, target }) {
    if (isComposing || !["Enter", "Escape"].includes(key)) return;
    if (key === "Escape") write(target, this.sentence);
    target.blur();
  }

  // It stands above the page whether the bar is in sight or not: a dialog in a hidden place is not shown.
  list() {
    const dialog = this.find("dialog");
    if (dialog.open) dialog.close();
    else dialog.showModal();
  }
}

// A click on the backdrop has the dialog for its target, as one on the dialog's own edge has.
function closeFromBeside({ target, currentTarget, clientX, clientY }) {
  if (target === currentTarget && !isInside(currentTarget.getBoundingClientRect(), clientX, clientY)) target.close();
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

// Streamlit turns its list around after a link of it: folded, it would open over the page that the link leads to. It is
// folded again in the same moment, before anything of that is drawn.
function openFromFolded(link) {
  const folded = Boolean(document.querySelector(UNFOLD)), observer = new MutationObserver(() => {
    observer.disconnect();
    foldPages();
  });
  if (folded) observer.observe(document.querySelector(SIDEBAR), { attributeFilter: ["data-collapsed"] });
  setTimeout(() => observer.disconnect(), FOLDS);
  link?.click();
}

// While the list is folded, its sign lies over the beginning of the bar.
function leaveRoom() {
  document.documentElement.classList.toggle("pages_folded", Boolean(document.querySelector(UNFOLD)));
}

// Open the page so many places further in the list, without the list of lessons, and announce it.
function openPage(by) {
  const isHere = (link) => new URL(link.href).pathname === location.pathname;
  const all = [...document.querySelectorAll(PAGE_LINKS)];
  const links = all.filter((link) => isHere(link) || !link.matches(LESSONS_LINK));
  const here = links.findIndex(isHere);
  const there = Math.min(Math.max(0, here + by), links.length - 1);
  if (there !== here) links[there].click();
  announce(say("opened", { page: there + 1, pages: links.length, name: links[there].textContent.trim() }));
}

// Show a text for a moment beside all that Streamlit may make anew: the next page may have a presenter of its own.
function announce(text) {
  const place = document.querySelector(".opened_page") ?? document.body.appendChild(element("div", "opened_page"));
  Object.assign(place, { role: "status", popover: "manual" });
  place.showPopover(); // before it is written: a screen reader reads what changes in a place that is there
  place.textContent = text;
  clearTimeout(place.hiding);
  place.hiding = setTimeout(() => place.hidePopover(), ANNOUNCED);
}

// See .asking in headlight/app/present.css.
function showSentence(isShown) {
  document.documentElement.classList.toggle("asking", isShown);
}

// As if by hand: React notes what is assigned to a field, and would not hear of it.
function write(field, text) {
  Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value").set.call(field, text);
  field.dispatchEvent(new Event("input", { bubbles: true }));
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
