// The teacher's question on the spot: yes or no, one of the sentence's tokens, or one of four.

import { button, element } from "../lib/canvas.js";
import { say } from "./texts.toml";

const MOST = 8, FOUR = 4;
const KINDS = { yes: say("kind_yes"), token: say("kind_token"), four: say("kind_four") };

export class OwnQuestion {
  // ask({ text, options, right }): right is an index or null.
  constructor(dialog, ask) {
    Object.assign(this, { dialog, kind: "yes" });
    this.find = (selector) => dialog.querySelector(selector);
    this.find(".kinds").replaceChildren(...Object.entries(KINDS).map(([kind, words]) => {
      const choice = button(words, () => this.choose(kind));
      choice.dataset.kind = kind;
      return choice;
    }));
    this.find(".shut").onclick = () => dialog.close();
    this.find("form").onsubmit = (event) => {
      event.preventDefault();
      const question = this.question, problem = problemOf(question);
      this.find(".problem").textContent = problem;
      if (problem) return;
      dialog.close();
      ask(question);
    };
  }

  open(tokens) {
    this.tokens = tokens;
    this.find(".problem").textContent = "";
    this.choose(this.kind);
    this.dialog.showModal();
    this.find("[name=text]").focus();
  }

  choose(kind) {
    this.kind = kind;
    for (const choice of this.find(".kinds").children) choice.ariaPressed = String(choice.dataset.kind === kind);
    this.find("[name=text]").placeholder = say(kind === "token" ? "which" : "think");
    const rows = kind === "yes" ? [say("yes"), say("no")] : kind === "token" ? this.tokens : Array(FOUR).fill("");
    this.find(".choices").replaceChildren(...rows.map((label, at) => this.row(label, at, rows.length)));
    const isMany = kind === "token" && rows.length > MOST;
    this.find(".hint").textContent = say(isMany ? "hint_many" : "hint", { most: MOST });
  }

  // An option: whether it is offered, its text, and whether it is the right one.
  row(label, at, count) {
    const input = (look) => Object.assign(element("input"), look), isOffered = count <= MOST || at < MOST;
    const offered = input({ type: "checkbox", checked: isOffered, hidden: this.kind !== "token" });
    const words = input({ type: "text", value: label, maxLength: 200, readOnly: this.kind !== "four" });
    const right = input({ type: "checkbox" });
    Object.assign(offered, { ariaLabel: say("offer", { label }) });
    Object.assign(words, { ariaLabel: say("option", { number: at + 1 }) });
    right.onchange = () => {
      for (const other of this.find(".choices").querySelectorAll(".mark input")) other.checked &&= other === right;
    };
    return element("div", "choice", offered, words, element("label", "mark", say("right"), right));
  }

  get question() {
    const rows = Array.from(this.find(".choices").children, (row) => {
      const [offered, words, right] = row.querySelectorAll("input");
      return { offered: offered.checked, label: words.value.trim(), right: right.checked };
    }).filter(({ offered, label }) => offered && label);
    const right = rows.findIndex((row) => row.right), options = apart(rows.map(({ label }) => label));
    return { text: this.find("[name=text]").value.trim(), options, right: right < 0 ? null : right };
  }
}

// Options of which equal ones have a number.
export function apart(options) {
  const counts = {};
  return options.map((label) => {
    counts[label] = (counts[label] ?? 0) + 1;
    return counts[label] === 1 ? label : `${label} (${counts[label]}.)`;
  });
}

export function problemOf({ text, options }) {
  if (!text) return say("no_question");
  return options.length < 2 || options.length > MOST ? say("no_options", { most: MOST }) : "";
}
