// One step of a lesson: its text, its question, and feedback on the answer. The right answer arrives once it was found
// or shown. Attempts are stored in this browser and survive a reload and another visit.

import { button, element, setWords } from "../lib/canvas.js";
import { Component, mounted } from "../lib/mount.js";
import { invite } from "../lib/screen.js";
import { Memory, storage } from "./memory.js";
import {
  LEAVE, LONGEST, TO_LIST, TO_NEXT, asOneEntry, beginMove, endMove, holdFocus, holdsFocus, isMoving, notesMove,
} from "./moving.js";
import { say } from "./texts.toml";

const HAVE_ARROWS = "input, textarea, select, canvas, [role=slider], [role=region], [role=radiogroup]";
const ASK_AGAIN_AFTER = 400; // ms from the first drawing until what is remembered is sent: not while it is being made
const NARROW = 640; // pixels: a phone's sheet
const APP = "[data-testid=stApp]", LOOK = 50, SETTLED = 2000; // ms
const FOLDED = "headlight-lesson-folded";

class LessonPanel extends Component {
  constructor(root) {
    super(root);
    this.memory = new Memory();
    this.panel = this.find(".lesson");
    this.find(".hint").onclick = () => this.setTriggerValue("hint", true);
    this.find(".show").onclick = () => this.show();
    this.find(".back_to").onclick = () => this.go(this.data.step);
    this.find(".leave").onclick = () => this.go(LEAVE);
    this.find(".back").onclick = () => this.go(this.data.step - 1);
    this.find(".next").onclick = () => this.go(this.data.step + 1);
    this.find(".all").onclick = () => this.go(TO_LIST);
    this.find(".onward").onclick = () => this.go(TO_NEXT);
    this.find(".pages").onclick = () => document.documentElement.classList.toggle("lesson_pages");
    this.find(".fold").onclick = () => this.fold(!/\b(folded|low)\b/.test(this.panel.className));
    this.find("footer .check").onclick = () => this.answer([...this.chosen]);
    this.find("form").onsubmit = (event) => this.estimate(event);
    this.find("textarea").oninput = ({ target }) => this.memory.note(this.data.key, target.value);
    this.listen(document, "keydown", (event) => this.key(event), true); // before the keys that open another page
    this.listen(document, "focusin", (event) => holdFocus(event.composedPath().includes(this.panel)), true);
    // An act of the visitor cancels scrolling and the pending report of stored attempts, whose run would interrupt it.
    const stop = () => [this.timer, this.seeking].forEach(clearTimeout);
    for (const act of ["pointerdown", "keydown", "wheel", "touchmove"]) this.listen(document, act, stop, true);
    // On a phone the sheet makes room while the page is what matters; not before the finger is up, for the page would
    // move below it, and its tap would be lost.
    for (const end of ["click", "pointercancel"]) {
      this.listen(document, end, (event) => this.lower(!event.composedPath().includes(this.panel)), true);
    }
    const page = document.documentElement;
    this.folding = new MutationObserver(() => this.dock());
    this.folding.observe(page, { attributes: true, attributeFilter: ["class"] });
    this.whenResized(this.panel, () => this.dock());
    this.ends.push(() => this.folding.disconnect(), () => page.style.removeProperty("--docked"));
    this.ends.push(() => [this.timer, this.giveUp, this.looking, this.seeking].forEach(clearTimeout));
    this.ends.push(() => page.classList.remove("lesson_pages"));
  }

  receive(data) {
    this.panel.hidden = Boolean(data.list);
    clearTimeout(this.timer);
    if (data.list) endMove();
    else this.step(data);
    const remembered = this.memory.all();
    if (!data.known && Object.keys(remembered).length) {
      this.timer = setTimeout(() => this.setTriggerValue("restore", remembered), ASK_AGAIN_AFTER);
    }
  }

  step(data) {
    const arrives = !data.alone && notesMove(data.turn);
    if (arrives) holdFocus(true);
    if (data.alone) endMove(); // there is no page to wait for
    this.wait(isMoving());
    if (isMoving()) whenAtRest(() => this.arrive());
    const moved = data.key !== this.data?.key;
    this.data = data;
    if (data.look && (moved || arrives)) whenAtRest(() => this.look());
    if (moved || !this.chosen) this.chosen = new Set([data.tried.choice ?? []].flat());
    if (data.tried.choice !== null || data.tried.hints || data.tried.shown) this.memory.keep(data.key, data.tried);
    const focused = this.focused();
    this.draw(moved);
    if (focused && (moved || !this.focused())) this.refocus(moved);
    whenAtRest(() => this.comeBack());
  }

  // Bring the part that the step is about into sight while figures above it grow, and a token in it,
  // "home_lines word 8", whose lines are marked once the answer is known.
  look(until = performance.now() + SETTLED) {
    clearTimeout(this.seeking);
    if (!this.data.look) return; // the sentence has changed
    const [key, ...token] = this.data.look.split(" "), place = document.querySelector(`.st-key-${CSS.escape(key)}`);
    const found = place && bringIntoSight(place, token.join(" ")), { tried } = this.data;
    if (found && (tried.right || tried.shown) && !found.matches(".pointed")) {
      found.dispatchEvent(new Event("point", { bubbles: true }));
      this.marked = found.closest(".row");
    }
    if (performance.now() < until) this.seeking = setTimeout(() => this.look(until), LOOK);
  }

  // The element of the panel that has the focus, null where none has it.
  focused() {
    const active = this.root.activeElement ?? document.activeElement;
    return active && this.panel.contains(active) ? active : null;
  }

  // Move the focus when its element is gone or another step has come.
  refocus(moved) {
    const { data } = this, over = data.tried.right || data.tried.shown;
    const text = data.ask?.length && data.step <= data.of ? ".ask" : ".say";
    this.find(over && !moved ? ".next" : text).focus({ preventScroll: true });
  }

  // A page that changes may take the focus away and give it to nothing, a little after it has come to rest.
  comeBack(until = performance.now() + SETTLED) {
    clearTimeout(this.looking);
    if (!holdsFocus() || this.panel.hidden) return;
    if (document.activeElement === document.body) this.refocus(false);
    if (performance.now() < until) this.looking = setTimeout(() => this.comeBack(until), LOOK);
  }

  draw(moved) {
    const { data } = this, over = data.tried.right || data.tried.shown, ended = data.step > data.of;
    const heading = [data.ask, data.note, data.say].find((text) => text?.length) ?? [];
    this.dock();
    this.write({
      ".line": `${ended ? "" : `${data.step}/${data.of} `}${plain(heading)}`, ".title": data.title,
      ".place": ended ? "" : say("place", { step: data.step, of: data.of }),
      ".next": say(data.last ? "finish" : "next"),
      ".back_to": say(data.away ? "back" : "other"),
      ".scale": data.scale ?? "", ".undecided": data.undecided ?? "",
      ".onward": data.next_lesson ? say("onward", { lesson: data.next_lesson }) : "",
      ".feedback": ended ? data.score ?? "" : feedback(data, over),
      ".hint": data.more_hints ? say("hint", { hints: data.more_hints }) : "",
    });
    const shown = {
      ".next": !ended, ".back_to": data.away || data.others, ".again": data.again,
      ".ways": ended && data.next_lesson !== undefined, ".onward": data.next_lesson, ".undecided": data.undecided,
      ".hint": data.more_hints, ".show": data.ask && !over,
    };
    for (const [selector, isShown] of Object.entries(shown)) this.find(selector).hidden = !isShown;
    Object.assign(this.find("progress"), { max: data.of, value: data.step });
    this.find(".back").disabled = data.step === 1;
    setWords(this.find(".say"), data.say.map(([style, text]) => [style, style ? text : invite(text)]));
    setWords(this.find(".ask"), data.ask ?? []);
    this.drawOptions(over);
    this.drawNote(moved);
    this.find(".feedback").classList.toggle("good", data.tried.right);
    this.find(".hints").replaceChildren(...(data.hints ?? []).map((hint) => element("li", "", hint)));
    if (moved) this.find(".body").scrollTop = 0;
    else if (data.tried.choice !== null || data.tried.hints) this.find(".help").scrollIntoView({ block: "nearest" });
    if (moved) this.fold(storage("sessionStorage").getItem(FOLDED) === "1");
    if (moved || over) this.lower(over && !ended);
  }

  // Without a list of pages the panel lies below the page, whose figures leave it room.
  dock() {
    const { classList, style } = document.documentElement;
    const docked = Boolean(this.data?.present) || (classList.contains("pages_folded") && window.innerWidth > NARROW);
    this.panel.classList.toggle("docked", docked);
    const height = docked ? `${this.panel.offsetHeight}px` : "";
    if (style.getPropertyValue("--docked") !== height) style.setProperty("--docked", height);
  }

  drawOptions(over) {
    const { data } = this, several = data.kind === "several", place = this.find(".options");
    const buttons = (data.kind === "one" || several ? data.options : []).map(([name, label]) => {
      const isPressed = this.chosen.has(name), isRight = data.right.includes(name);
      const isWrong = isPressed && data.tried.choice !== null && (over || !several) && !isRight;
      const node = button("", () => this.choose(name, several), isRight ? "right" : isWrong ? "wrong" : "");
      setWords(node, label);
      return Object.assign(node, { ariaPressed: String(isPressed), disabled: over });
    });
    const check = this.find("footer .check");
    if (over && this.focused() === check) this.find(".next").focus({ preventScroll: true });
    Object.assign(check, { hidden: !several || over, disabled: !this.chosen.size });
    if (data.kind === "do" && !over) buttons.push(button(say("check_work"), () => this.answer(true), "check"));
    buttons.push(...(data.open ?? []).map((step) => button(say("step", { step }), () => this.go(step))));
    const focused = [...place.children].indexOf(this.find(".options button:focus"));
    place.replaceChildren(...buttons);
    if (focused >= 0) (over ? this.find(".next") : buttons[focused])?.focus({ preventScroll: true });
    const form = this.find("form"), input = this.find("input");
    form.hidden = data.kind !== "number";
    input.disabled = over;
    if (document.activeElement !== input && !(this.root.activeElement === input)) input.value = data.tried.choice ?? "";
  }

  drawNote(moved) {
    const { data } = this, note = this.find(".note");
    note.hidden = !data.note.length;
    setWords(this.find(".note span"), data.note);
    this.find("textarea").value = this.memory.noteOf(data.key);
    const sample = this.find(".sample");
    sample.hidden = !data.sample?.length;
    if (moved) sample.open = false;
    setWords(sample.querySelector("p"), data.sample ?? []);
  }

  choose(name, several) {
    if (!several) return this.answer(name);
    if (!this.chosen.delete(name)) this.chosen.add(name);
    this.drawOptions(false);
  }

  answer(choice) {
    this.chosen = new Set([choice].flat());
    if (this.data.moves) asOneEntry(); // a right one may open its figure
    this.setTriggerValue("choice", choice);
  }

  estimate(event) {
    event.preventDefault();
    const value = Number(this.find("input").value.replace("−", "-").replace(",", ".").replace("%", "").trim() || NaN);
    if (Number.isFinite(value)) this.answer(value);
    else this.find(".feedback").textContent = say("no_number");
  }

  go(step) {
    if (isMoving()) {
      this.nextStep = step; // a key may come before the page has come to rest
      return;
    }
    this.marked?.dispatchEvent(new Event("pointerleave"));
    this.depart();
    document.documentElement.classList.remove("lesson_pages");
    if (step !== this.data.step) this.chosen = null;
    this.setTriggerValue("go", step);
  }

  // On the way to another step no other request is made: a report during a page's run may be lost.
  wait(moving) {
    this.panel.ariaBusy = String(moving);
    clearTimeout(this.giveUp);
    if (moving) this.giveUp = setTimeout(() => this.arrive(), LONGEST);
  }

  depart() {
    beginMove();
    this.wait(true);
  }

  arrive() {
    endMove();
    this.wait(false);
    const { nextStep } = this;
    this.nextStep = null;
    if (nextStep && nextStep !== this.data.step) this.go(nextStep);
  }

  show() {
    if (isMoving()) return;
    if (this.data.moves) this.depart();
    this.setTriggerValue("show", true);
  }

  // Reduce a phone's sheet to the options, the feedback and the way on.
  lower(low) {
    this.panel.classList.toggle("low", low && window.innerWidth <= NARROW);
  }

  fold(folded) {
    this.lower(false);
    this.panel.classList.toggle("folded", folded);
    this.find(".fold").ariaExpanded = String(!folded);
    storage("sessionStorage").setItem(FOLDED, folded ? "1" : "0");
  }

  // Keys that no other element uses.
  key(event) {
    const within = event.composedPath()[0];
    if (!this.data || event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    if (within.closest?.("input, textarea, select")) return;
    // Alone on a page, the panel takes keys without a focused element, too.
    const inside = event.composedPath().includes(this.panel) || (this.data.alone && within === document.body);
    const by = { PageDown: 1, PageUp: -1, ...(inside ? { ArrowRight: 1, ArrowLeft: -1 } : {}) }[event.key];
    if (!by || (!inside && within.closest?.(HAVE_ARROWS))) return;
    const step = this.data.step + by;
    if (step < 1 || step > this.data.of + 1) return; // one past the last is the end
    event.preventDefault();
    this.go(step);
  }
}

// Scroll to a part of the page, on a phone above the sheet, and to one of its tokens; return that, if it is there.
function bringIntoSight(place, token) {
  place.scrollIntoView({ block: window.innerWidth <= NARROW ? "start" : "nearest" });
  const roots = [place, ...place.querySelectorAll("*")].flatMap(({ shadowRoot }) => shadowRoot ?? []);
  const found = roots.map((root) => root.querySelector(`[data-at="${token}"]`)).find(Boolean);
  found?.scrollIntoView({ block: "nearest", inline: "center" });
  return found;
}

function whenAtRest(act) {
  const app = document.querySelector(APP); // none on a page of its own
  if (!app || app.dataset.testScriptState === "notRunning") act();
  else setTimeout(() => whenAtRest(act), LOOK);
}

function feedback({ feedback: words, tried }, over) {
  if (tried.right) return say("right", { words: words ?? "" });
  if (over) return words ?? "";
  return tried.choice === null ? "" : say("wrong", { words: words ?? "" });
}

const plain = (parts) => parts.map(([, text]) => text).join("");

export default mounted(LessonPanel);
