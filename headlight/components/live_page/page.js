// The live model in one file: a sentence, its translation as one types, and the app's views of it. See standalone_page
// for pages without a model.

import { openModel } from "../engine/headlight.js";
import { NOTHING } from "../lib/names.js";
import { addressOf, readAddress } from "./address.js";
import { Lessons } from "./lessons.js";
import { Training } from "./training_view.js";
import { languageNotice } from "./languages.js";
import { LocalSource } from "./source.js";
import { say } from "./texts.toml";
import { Attention, Decoding, Heads, Home, Inside, LessonList, WholePass } from "./views.js";

const VIEWS = {
  home: Home, pass: WholePass, attention: Attention, decoding: Decoding, heads: Heads, inside: Inside,
  training: Training, lessons: LessonList,
};
// Parameters without a meaning for another sentence.
const OF_THE_SENTENCE = ["hidden", "moment", "prefix", "step", "query", "key"];
const PAGE_BEGINS = "// the page\n"; // as in headlight/components/live.py
const LETTERS_AT_ONCE = 2 ** 20; // of base64, decoded in one go: a multiple of 4

const find = (selector) => document.querySelector(selector);
const setStatus = (words) => (find(".live_status").textContent = words);
const breathe = () => new Promise((resolve) => setTimeout(resolve));

// Decode an element's base64 in slices and empty the element, so that its text can be freed.
async function bytesOf(id, progress = () => {}) {
  const place = document.getElementById(id), text = place.textContent;
  const bytes = new Uint8Array((text.length / 4) * 3 - text.slice(-2).split("=").length + 1);
  place.textContent = "";
  for (let at = 0, end = 0; at < text.length; at += LETTERS_AT_ONCE) {
    const letters = atob(text.slice(at, at + LETTERS_AT_ONCE));
    for (let byte = 0; byte < letters.length; byte++) bytes[end + byte] = letters.charCodeAt(byte);
    end += letters.length;
    progress(Math.min(1, (at + LETTERS_AT_ONCE) / text.length));
    await breathe();
  }
  return bytes;
}

// Decode an element's base64 of JSON that is packed with gzip.
async function jsonOf(id) {
  const packed = new Blob([await bytesOf(id)]);
  return new Response(packed.stream().pipeThrough(new DecompressionStream("gzip"))).json();
}

class LivePage {
  constructor(model, words) {
    Object.assign(this, { styles: words.styles, languages: words.languages });
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
    this.field.oninput = () => this.navigate({ text: this.field.value }, true);
    find(".live_ask").onsubmit = (event) => event.preventDefault();
    addEventListener("hashchange", () => this.follow());
    this.follow();
  }

  // A view, each of its components in a shadow tree with its style alone, as in the app.
  viewOf(name) {
    const View = VIEWS[name], section = find(`[data-view="${name}"]`);
    const navigate = (changes) => this.view === name && this.navigate(changes); // a late report of a view that is left
    const [place, ...more] = Array.from(section.querySelectorAll(".component"), (host) => this.rooted(host));
    return new View({ place, more, section, source: this.source, navigate, lessons: this.lessons });
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

  // Show the address, whoever wrote it.
  follow() {
    if (location.hash === this.written) return;
    this.written = location.hash;
    Object.assign(this, readAddress(location.hash, this.names, this.defaults));
    this.draw();
  }

  // Write changes into the address; while the visitor types, in place of the address before.
  navigate(changes, isTyping = false) {
    const isOther = changes.text !== undefined && changes.text !== this.params.text;
    const remaining = Object.entries(this.params).filter(([name]) => !isOther || !OF_THE_SENTENCE.includes(name));
    const params = Object.entries({ ...this.defaults, ...Object.fromEntries(remaining), ...changes });
    const before = this.written;
    this.params = Object.fromEntries(params.filter(([name, value]) => value || name in this.defaults));
    this.written = addressOf(this.view, this.params, this.defaults);
    if (this.written !== before) {
      if (isTyping) location.replace(this.written);
      else location.hash = this.written;
      this.written = location.hash; // as the browser writes it
    }
    this.draw();
  }

  // Open a view at an address of its own.
  open(view, params) {
    this.view = view;
    this.params = { ...this.defaults };
    this.navigate(params);
  }

  // Show the view of the address, or an error.
  async draw() {
    const turn = (this.turn = (this.turn ?? 0) + 1), { view, params } = this, { text } = params;
    const isCurrent = () => turn === this.turn;
    if (this.field.value !== text) this.field.value = text;
    this.showTabs();
    try {
      const trace = await this.source.trace(text);
      if (!isCurrent()) return;
      setStatus("");
      find(".live_language").textContent = languageNotice(text, this.languages);
      find("#live_translation").textContent = trace.targetText.trim() ? trace.targetText : NOTHING;
      document.body.classList.remove("untold");
      await breathe(); // for keys that were pressed meanwhile
      if (!isCurrent()) return;
      this.lessons?.show(view, params);
      await (this.views[view] ??= this.viewOf(view)).show({ text, trace, params, isCurrent, setStatus });
      if (isCurrent()) document.body.dataset.shown = view;
    } catch (error) {
      if (!isCurrent() || error.name === "GivenUp") return;
      const isOfText = error.name === "EmptyTextError" || error.name === "TooLongError";
      setStatus(isOfText ? error.message : say("wrong", { error: error.message }));
      find("#live_translation").textContent = "";
      document.body.classList.add("untold"); // the view shows the sentence before
    }
  }

  showTabs() {
    for (const section of document.querySelectorAll("[data-view]")) section.hidden = section.dataset.view !== this.view;
    for (const tab of document.querySelectorAll(".live_tabs a")) {
      const name = tab.dataset.tab;
      tab.href = addressOf(name, this.params, this.defaults);
      tab.ariaCurrent = name === this.view ? "page" : null;
    }
  }
}

export default async function start() {
  let opened;
  // The API for others who build on the page: see docs.
  globalThis.headlight = {
    ready: new Promise((resolve, reject) => (opened = { resolve, reject })),
    translate: async (text, options) => (await globalThis.headlight.ready).translate(text, options),
    trace: async (text, options) => (await globalThis.headlight.ready).trace(text, options),
  };
  try {
    setStatus(say("reading"));
    await breathe();
    const progress = (share) => setStatus(say("progress", { percent: Math.round(100 * share) }));
    const weights = await bytesOf("live_weights", progress);
    const kernel = await bytesOf("live_kernel"), { textContent: script, dataset } = find("#live_script");
    // The engine stands once in the file, before the page's own modules.
    const worker = `${script.split(PAGE_BEGINS)[0]}${dataset.serve}();`;
    const model = openModel({ header: await jsonOf("live_header"), weights, kernel, worker });
    globalThis.headlight.where = await model.ready;
    new LivePage(model, await jsonOf("live_words"));
    opened.resolve(model);
  } catch (error) {
    setStatus(say("not_opened", { error: error.message }));
    opened.reject(error);
  }
}
