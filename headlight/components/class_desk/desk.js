// A class on the teacher's screen: a strip below the page with the question, the number of answers, and the next steps.
// The right answer and the counts arrive when the teacher wants them seen.

import { button, element, isShortcut, setWords } from "../lib/canvas.js";
import { copyText } from "../lib/clipboard.js";
import { Component, mounted } from "../lib/mount.js";
import { secretIn, teacherLink } from "../lib/sharing.js";
import { Door } from "./door.js";
import { RaisedHands } from "./hands.js";
import { OwnQuestion } from "./own.js";
import { Rights } from "./rights.js";
import { Room } from "./room.js";
import { say } from "./texts.toml";

const ACTS = {
  ask: [say("ask"), "A"], again: [say("again"), "A"], close: [say("close"), "C"], bars: [say("bars"), "H"],
  reveal: [say("reveal"), "R"], next: [say("next"), "N"], back: [say("back"), ""],
};
const DOOR = "q"; // the key
const LONG = 36; // letters of an option, beside whose bar type has to be smaller
const UNDECIDED = { asking: true, closed: true }; // phases in which the next step discards the question
const WALLS = { asking: "full", closed: "full", revealed: "beside" };
const WITH_KEYS = "input, textarea, select, [contenteditable=true]";
const PATIENCE = 5000; // ms until an act without an answer may be tried again
const TIMES = [say("first"), say("second"), say("third")];
const ordinal = (time) => TIMES[time] ?? say("later", { time: time + 1 });

class ClassDesk extends Component {
  constructor(root) {
    super(root);
    this.rights = new Rights();
    this.door = new Door(this.find("dialog.door"), this.find(".corner"));
    this.questionForm = new OwnQuestion(this.find("dialog.own"), (question) => this.act("own", question));
    this.hands = new RaisedHands(this.find("dialog.hands"), (hands) => this.act("hands", { hands }));
    this.room = new Room(this.find("dialog.room"), (act, sign) => this.act(act, { sign }));
    this.find(".rights").onsubmit = (event) => this.giveRights(event);
    this.find(".leave").onclick = () => this.leaveClass();
    for (const each of root.querySelectorAll(".more [data-act]")) each.onclick = () => this.more(each);
    this.listen(document, "keydown", (event) => this.key(event), true); // Escape closes the door, not the presentation
    this.whenResized(this.find(".desk"), () => this.dock());
    const page = document.documentElement;
    this.ends.push(() => page.style.removeProperty("--docked"), () => clearTimeout(this.giveUp));
    this.ends.push(() => delete page.dataset.wall);
  }

  receive(data) {
    if (data.turn !== this.turn) this.wait(false);
    this.turn = data.turn;
    if (data.away) return this.announceAway(data.away);
    const text = JSON.stringify(data);
    if (text === this.drawn) return;
    this.drawn = text;
    this.data = data;
    if (data.secret) this.rights.keep(data.code, data.secret);
    this.find(".strip").hidden = !data.secret;
    this.find(".rights").hidden = Boolean(data.secret);
    if (data.secret) this.draw(data);
    else this.askForRights(data);
    this.dock();
  }

  draw(data) {
    const { question, phase } = data;
    const options = this.find(".options");
    this.door.draw(data);
    this.room.draw(data.signs);
    setWords(this.find(".say"), question ? [] : data.say);
    this.write({
      ".place": !question && data.step ? say("place", { title: data.title, step: data.step, of: data.of }) : "",
      ".ask": question?.text ?? data.why, ".about": question?.about ?? "",
      ".told": question?.truth ?? "", ".count": countOf(data),
      "[data-act=quiz_before]": data.quiz.before, "[data-act=quiz_after]": data.quiz.after,
      "[data-act=lock]": say(data.locked ? "unlock" : "lock"),
    });
    this.find(".ask").classList.toggle("why", !question);
    this.spread(question?.beside ? "beside" : WALLS[question && phase] ?? "");
    options.replaceChildren(...(question ? optionsOf(question) : []));
    options.classList.toggle("bars", Boolean(question?.bars.length));
    options.classList.toggle("long", Boolean(question?.options.some(({ length }) => length > LONG)));
    this.announce(this.sure === question?.round && question ? this.warning() : data.notice);
    this.find(".acts").replaceChildren(...data.acts.map((name, at) => this.button(name, at)));
    this.find("[data-act=discard]").hidden = !question;
    this.find("[data-act=hands]").hidden = !question?.hands;
    this.label(this.find("[data-act=discard]"), say("discard"));
  }

  button(name, at) {
    const [words, key] = ACTS[name], node = button(words, () => this.act(name), at ? "" : "next");
    if (key) node.append(" ", element("kbd", "", key));
    node.dataset.act = name;
    return node;
  }

  warning() {
    return say("sure_next", { count: this.data.question.answered });
  }

  announce(words = "") {
    if (this.find(".said").textContent !== words) this.find(".said").textContent = words;
  }

  // The class is away: its last state stays, and is drawn again when it is back.
  announceAway(words) {
    this.drawn = undefined;
    this.find(".strip").hidden = false;
    this.announce(words);
    this.dock();
  }

  // The wall: "full" is the whole screen, "beside" a column beside the figure, "" the strip alone.
  spread(wall) {
    for (const place of [document.documentElement, this.find(".desk")]) place.dataset.wall = wall;
  }

  // Let the page leave room for the strip.
  dock() {
    const wall = getComputedStyle(this.find(".desk")).position === "fixed";
    const height = wall ? "0px" : `${this.find(".desk").offsetHeight}px`, { style } = document.documentElement;
    if (style.getPropertyValue("--docked") !== height) style.setProperty("--docked", height);
  }

  // Report an act, one at a time, with the version of the class: the server ignores late ones.
  act(name, more = {}) {
    if (this.waiting) return;
    const { question, phase } = this.data;
    const discards = name === "next" && phase in UNDECIDED, isSure = this.sure === question?.round;
    this.sure = discards && !isSure ? question.round : undefined;
    if (this.sure) return this.announce(this.warning());
    this.wait(true);
    this.setTriggerValue("act", { name, v: this.data.v, ...more });
  }

  wait(waiting) {
    clearTimeout(this.giveUp);
    this.waiting = waiting;
    this.find(".desk").ariaBusy = String(waiting);
    if (waiting) this.giveUp = setTimeout(() => this.wait(false), PATIENCE);
  }

  more(button) {
    const { act } = button.dataset, { data } = this;
    if (act === "discard" && !button.dataset.sure) {
      button.dataset.sure = "yes";
      button.textContent = say("sure", { count: data.question.answered });
      return;
    }
    if (act === "link") return this.copyLink(button);
    this.find(".more").hidePopover();
    if (act === "own") this.questionForm.open(data.tokens);
    else if (act === "hands") this.hands.open(data.question);
    else if (act === "room") this.room.open();
    else this.act(act);
  }

  label(button, words) {
    if (this.find(".more").matches(":popover-open") && button.dataset.sure) return;
    delete button.dataset.sure;
    button.textContent = words;
  }

  async copyLink(button) {
    const { page, code, secret } = this.data;
    const copied = await copyText(teacherLink(location.href, page, code, secret));
    button.textContent = say(copied ? "copied" : "not_copied");
  }

  // Take the secret from the teacher's link, or from this browser; else ask for it.
  askForRights({ code, gone, refused, notice }) {
    const opened = secretIn(location.hash);
    if (opened) {
      history.replaceState(history.state, "", location.pathname + location.search);
      this.rights.keep(code, opened);
    }
    if (gone || refused) this.rights.forget(code);
    this.find(".whose").textContent = gone || say("whose", { code });
    for (const place of this.root.querySelectorAll(".rights :is(label, .go)")) place.hidden = Boolean(gone);
    this.find(".leave").textContent = say(gone ? "leave" : "not_mine");
    this.find(".refused").textContent = refused ?? notice ?? "";
    const secret = this.rights.of(code);
    if (secret && secret !== this.tried && !gone) setTimeout(() => this.reportSecret(secret)); // once it is mounted
    else if (notice) this.rights.forget(code);
  }

  giveRights(event) {
    event.preventDefault();
    const secret = secretIn(`#${this.find("[name=link]").value.trim().split("#").at(-1)}`);
    this.find(".refused").textContent = secret ? "" : say("no_link");
    if (secret) this.reportSecret(secret);
  }

  reportSecret(secret) {
    this.tried = secret;
    this.setTriggerValue("rights", secret);
  }

  leaveClass() {
    this.rights.forget(this.data.code);
    this.setTriggerValue("act", { name: "leave" });
  }

  key(event) {
    const within = event.composedPath()[0];
    if (event.defaultPrevented || isShortcut(event) || event.repeat || !this.data?.secret) return;
    const key = event.key.toLowerCase(), more = this.find(".more");
    const form = [this.questionForm.dialog, this.hands.dialog, this.room.dialog].find(({ open }) => open);
    if (form) {
      if (key !== "escape") return;
      form.close();
    } else if (key === "escape" && more.matches(":popover-open")) more.hidePopover();
    else if (within.closest?.(WITH_KEYS)) return;
    else if (key === DOOR) this.door.toggle();
    else if (this.door.isOpen) {
      if (key !== "escape") return;
      this.door.toggle(false);
    } else {
      const name = key && this.data.acts.find((each) => ACTS[each][1].toLowerCase() === key);
      if (!name) return;
      this.act(name);
    }
    event.preventDefault();
    event.stopImmediatePropagation();
  }
}

function countOf({ question, here, phase }) {
  if (!question) return say("here", { here });
  const { answered, bars, done } = question;
  if (done) return done;
  if (bars.length > 1) return bars.length === 2 ? say("before_and_after") : say("votes", { votes: bars.length });
  return say(phase === "asking" ? "answered_of" : "answered", { answered, all: Math.max(here, answered) });
}

// A line per option, with a bar for each time of asking where there are bars, all on one scale.
function optionsOf({ options, labels, bars, right }) {
  const all = bars.length ? labels : options, longest = Math.max(1, ...bars.flat());
  return all.map((label, at) => {
    const css = options.length > 0 && right.includes(at) ? "right" : "";
    const item = element("li", css, element("span", "label", label));
    if (bars.length) item.append(barsOf(bars.map((counts) => counts[at]), longest));
    return item;
  });
}

function barsOf(counts, longest) {
  return element("span", "counts", ...counts.map((count, time) => {
    const inner = element("i"), bar = element("span", "bar", inner, element("b", "", count));
    inner.style.width = `${(100 * count) / longest}%`;
    if (counts.length > 1) bar.title = say("time", { ordinal: ordinal(time), count });
    return bar;
  }));
}

export default mounted(ClassDesk);
