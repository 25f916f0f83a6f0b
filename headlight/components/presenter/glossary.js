// The words of the field where they first stand on a page: underlined with dots, and explained where they are pointed
// at or touched. They are highlighted, not wrapped, since the page's own elements belong to Streamlit; where a browser
// has no highlights (CSS.highlights), the list in the dialog of keys remains.

import { element } from "../lib/canvas.js";

const NAME = "glossary"; // in headlight/app/page.css
const TEXTS = ".stMarkdown, .finding, .caption, [data-testid=stCaptionContainer], [class*='_buttons '] label";
const NOT_IN = "code, pre, .katex, a, button, summary, table";
const AFTER = 400; // ms without a change of the page before it is read again

export class Glossary {
  // tip: the box for an explanation, in the top layer; list: where the dialog has the words of the page.
  constructor(tip, list) {
    Object.assign(this, { tip, list, marks: [], words: [] });
    this.changed = new MutationObserver(() => this.later());
    this.pointed = (event) => this.point(event);
    document.addEventListener("pointermove", this.pointed, { passive: true });
    document.addEventListener("click", this.pointed);
  }

  // place: the page's own block.
  watch(place, words) {
    this.words = words;
    if (place && place !== this.place) {
      this.changed.disconnect();
      this.changed.observe(place, { childList: true, subtree: true, characterData: true });
      this.place = place;
      this.later();
    }
  }

  leave() {
    clearTimeout(this.timer);
    this.changed.disconnect();
    document.removeEventListener("pointermove", this.pointed);
    document.removeEventListener("click", this.pointed);
    globalThis.CSS?.highlights?.delete(NAME);
  }

  later() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.read(), AFTER);
  }

  read() {
    this.marks = firstOf(this.words, textsOf(this.place)).map(({ word, node, start, end }) => {
      const range = document.createRange();
      range.setStart(node, start);
      range.setEnd(node, end);
      return { word, range };
    });
    if (globalThis.CSS?.highlights) CSS.highlights.set(NAME, new Highlight(...this.marks.map(({ range }) => range)));
    const rows = this.marks.flatMap(({ word }) => [element("dt", "", word.forms[0]), element("dd", "", word.says)]);
    this.list.replaceChildren(...rows);
    this.list.previousElementSibling.hidden = !rows.length;
  }

  point({ type, clientX, clientY, target }) {
    if (!target.closest?.(TEXTS)) return this.tip.matches(":popover-open") && this.tip.hidePopover();
    const over = this.marks.find(({ range }) => {
      return [...range.getClientRects()].some((box) => isInside(box, clientX, clientY));
    });
    const isOpen = this.tip.matches(":popover-open");
    if (!over) return isOpen && type === "click" && this.tip.hidePopover();
    if (over === this.shown && isOpen) return;
    this.shown = over;
    const { left, bottom } = over.range.getBoundingClientRect();
    this.tip.replaceChildren(element("b", "", over.word.forms[0]), ` ${over.word.says}`);
    this.tip.showPopover();
    this.tip.style.left = `${Math.max(8, Math.min(left, innerWidth - this.tip.offsetWidth - 8))}px`;
    this.tip.style.top = `${bottom + 4}px`;
  }
}

export function isInside({ left, right, top, bottom }, x, y) {
  return x >= left && x <= right && y >= top && y <= bottom;
}

// The text nodes of a page in which words are marked.
function textsOf(place) {
  const nodes = [];
  for (const box of place?.querySelectorAll(TEXTS) ?? []) {
    const walker = document.createTreeWalker(box, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
      if (!walker.currentNode.parentElement.closest(NOT_IN)) nodes.push(walker.currentNode);
    }
  }
  return nodes;
}

// The first occurrence of each word: {word, node, start, end}, in the order of the words. At one position a longer word
// goes before a shorter one.
function firstOf(words, nodes) {
  const byForm = new Map(words.flatMap((word) => word.forms.map((form) => [form.toLowerCase(), word])));
  const forms = [...byForm.keys()].sort((one, other) => other.length - one.length).map(escaped);
  const pattern = new RegExp(`(?<![\\p{L}\\p{N}_-])(?:${forms.join("|")})(?![\\p{L}\\p{N}_-])`, "giu");
  const marks = new Map();
  for (const node of nodes) {
    for (const match of node.data.matchAll(pattern)) {
      const word = byForm.get(match[0].toLowerCase());
      if (!marks.has(word)) marks.set(word, { word, node, start: match.index, end: match.index + match[0].length });
    }
  }
  return words.filter((word) => marks.has(word)).map((word) => marks.get(word));
}

const escaped = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
