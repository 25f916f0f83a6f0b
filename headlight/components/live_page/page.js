// The live model in one file: a sentence, its translation as one types, and the app's views of it. See standalone_page
// for pages without a model.

import { openModel } from "../engine/headlight.js";
import { NOTHING } from "../lib/words.js";
import { addressOf, readAddress } from "./address.js";
import { Lessons } from "./lessons.js";
import { Training } from "./training_view.js";
import { LocalSource } from "./source.js";
import { Attention, Decoding, Heads, Home, Inside, LessonList } from "./views.js";

const VIEWS = {
  home: Home, attention: Attention, decoding: Decoding, heads: Heads, inside: Inside, training: Training,
  lessons: LessonList,
};
// What means nothing in another sentence.
const OF_THE_SENTENCE = ["hidden", "prefix", "step", "query", "key"];
const PAGE_BEGINS = "// the page\n"; // as in headlight/components/live.py
const LETTERS_AT_ONCE = 2 ** 20; // of base64, decoded in one go: a multiple of 4

const find = (selector) => document.querySelector(selector);
const breathe = () => new Promise((resolve) => setTimeout(resolve));

// The bytes of an element's base64, told(share) now and then; the element is emptied, so that its text can be freed.
async function bytesOf(id, told = () => {}) {
  const place = document.getElementById(id), text = place.textContent;
  const bytes = new Uint8Array((text.length / 4) * 3 - text.slice(-2).split("=").length + 1);
  place.textContent = "";
  for (let at = 0, end = 0; at < text.length; at += LETTERS_AT_ONCE) {
    const letters = atob(text.slice(at, at + LETTERS_AT_ONCE));
    for (let byte = 0; byte < letters.length; byte++) bytes[end + byte] = letters.charCodeAt(byte);
    end += letters.length;
    told(Math.min(1, (at + LETTERS_AT_ONCE) / text.length));
    await breathe();
  }
  return bytes;
}

// What an element's base64 says, of JSON that is packed with gzip.
async function jsonOf(id) {
  const packed = new Blob([await bytesOf(id)]);
  return new Response(packed.stream().pipeThrough(new DecompressionStream("gzip"))).json();
}

class LivePage {
  constructor(model, words) {
    this.styles = words.styles;
    this.defaults = { text: words.text, hidden: "", prefix: "", step: "1", off: "" };
    this.source = new LocalSource(model, words);
    this.field = find("#live_text");
    for (const [name, isThere] of Object.entries({ training: words.replay, lessons: words.lessons })) {
      const places = isThere ? [] : document.querySelectorAll(`[data-view=${name}], [data-tab=${name}]`);
      for (const each of places) each.remove();
    }
    this.names = Object.keys(VIEWS).filter((name) => find(`[data-view="${name}"]`));
    this.views = {}; // each made when it is first shown
    this.lessons = words.lessons ? new Lessons(this, words.lessons) : null;
    this.field.oninput = () => this.say({ text: this.field.value }, true);
    find(".live_ask").onsubmit = (event) => event.preventDefault();
    addEventListener("hashchange", () => this.follow());
    this.follow();
  }

  // A view, each of its components, if any, in a tree of its own, where no other component's style is, as in the app.
  made(name) {
    const View = VIEWS[name], section = find(`[data-view="${name}"]`), say = (changes) => this.say(changes);
    const [place, ...more] = Array.from(section.querySelectorAll(".component"), (host) => this.rooted(host));
    return new View({ place, more, section, source: this.source, say, lessons: this.lessons });
  }

  viewOf(name) {
    return (this.views[name] ??= this.made(name));
  }

  // The tree of an element's component.
  rooted(host) {
    const place = host.attachShadow({ mode: "open" });
    place.adoptedStyleSheets = [this.styles.shared, this.styles[host.dataset.of]].map((text) => {
      const sheet = new CSSStyleSheet();
      sheet.replaceSync(text);
      return sheet;
    });
    place.append(host.querySelector("template").content);
    return place;
  }

  // What the address says now, whoever wrote it.
  follow() {
    if (location.hash === this.written) return;
    this.written = location.hash;
    Object.assign(this, readAddress(location.hash, this.names, this.defaults));
    this.draw();
  }

  // Write changes into the address; while one types, in the place of the address before.
  say(changes, isTyping = false) {
    const isOther = changes.text !== undefined && changes.text !== this.said.text;
    const kept = isOther ? Object.entries(this.said).filter(([name]) => !OF_THE_SENTENCE.includes(name)) : null;
    const said = { ...this.defaults, ...(kept ? Object.fromEntries(kept) : this.said), ...changes };
    const before = this.written;
    this.said = Object.fromEntries(Object.entries(said).filter(([name, value]) => value || name in this.defaults));
    this.written = addressOf(this.view, this.said, this.defaults);
    if (this.written !== before) {
      if (isTyping) location.replace(this.written);
      else location.hash = this.written;
      this.written = location.hash; // as the browser writes it
    }
    this.draw();
  }

  // Open a view at an address of its own.
  open(view, said) {
    this.view = view;
    this.said = { ...this.defaults };
    this.say(said);
  }

  // Show the view of the address, or say why not.
  async draw() {
    const turn = (this.turn = (this.turn ?? 0) + 1), { view, said } = this, { text } = said;
    const isCurrent = () => turn === this.turn, tell = (words) => (find(".live_status").textContent = words);
    if (this.field.value !== text) this.field.value = text;
    this.showTabs();
    try {
      const trace = await this.source.trace(text);
      if (!isCurrent()) return;
      tell("");
      find("#live_translation").textContent = trace.targetText.trim() ? trace.targetText : NOTHING;
      document.body.classList.remove("untold");
      await breathe(); // a key that was pressed meanwhile comes first, and what is drawn is in a task of its own
      if (!isCurrent()) return;
      this.lessons?.show(view, said);
      await this.viewOf(view).show({ text, trace, said, isCurrent, tell });
      if (isCurrent()) document.body.dataset.shown = view;
    } catch (error) {
      if (!isCurrent() || error.name === "GivenUp") return;
      const isReaders = error.name === "EmptyTextError" || error.name === "TooLongError";
      tell(isReaders ? error.message : `Something went wrong: ${error.message}`);
      find("#live_translation").textContent = "";
      document.body.classList.add("untold"); // what is shown is of the sentence before
    }
  }

  showTabs() {
    for (const section of document.querySelectorAll("[data-view]")) section.hidden = section.dataset.view !== this.view;
    for (const tab of document.querySelectorAll(".live_tabs a")) {
      const name = tab.dataset.tab;
      tab.href = addressOf(name, this.said, this.defaults);
      if (name === this.view) tab.setAttribute("aria-current", "page");
      else tab.removeAttribute("aria-current");
    }
  }
}

export default async function start() {
  const tell = (words) => (find(".live_status").textContent = words);
  let opened;
  // The API for others who build on the page: see docs.
  globalThis.headlight = {
    ready: new Promise((resolve, reject) => (opened = { resolve, reject })),
    translate: async (text, options) => (await globalThis.headlight.ready).translate(text, options),
    trace: async (text, options) => (await globalThis.headlight.ready).trace(text, options),
  };
  try {
    tell("Reading the model …");
    await breathe();
    const weights = await bytesOf("live_weights", (share) => tell(`Reading the model: ${Math.round(100 * share)} %.`));
    const kernel = await bytesOf("live_kernel"), { textContent: script, dataset } = find("#live_script");
    // The engine stands once in the file, before the page's own modules.
    const worker = `${script.split(PAGE_BEGINS)[0]}${dataset.serve}();`;
    const model = openModel({ header: await jsonOf("live_header"), weights, kernel, worker });
    globalThis.headlight.where = await model.ready;
    new LivePage(model, await jsonOf("live_words"));
    opened.resolve(model);
  } catch (error) {
    tell(`The model could not be opened: ${error.message}`);
    opened.reject(error);
  }
}
