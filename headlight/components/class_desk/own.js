// A question of the teacher's own on the spot: yes or no, one of the sentence's tokens, or one of four.

import { element } from "../lib/canvas.js";

const MOST = 8, FOUR = 4;
const KINDS = { yes: "Yes or no", token: "One of the tokens", four: "One of four" };

export class OwnQuestion {
  // ask: gets {text, options, right}, right as an index or null.
  constructor(dialog, ask) {
    this.dialog = dialog;
    this.find = (selector) => dialog.querySelector(selector);
    this.kind = "yes";
    this.find(".kinds").replaceChildren(...Object.entries(KINDS).map(([kind, words]) => {
      const button = element("button", "", words);
      Object.assign(button, { type: "button", onclick: () => this.choose(kind) });
      button.dataset.kind = kind;
      return button;
    }));
    this.find(".shut").onclick = () => dialog.close();
    this.find("form").onsubmit = (event) => {
      event.preventDefault();
      const asked = this.asked();
      this.tell(problemOf(asked));
      if (problemOf(asked)) return;
      dialog.close();
      ask(asked);
    };
  }

  open(tokens) {
    this.tokens = tokens;
    this.tell("");
    this.choose(this.kind);
    this.dialog.showModal();
    this.find("[name=text]").focus();
  }

  choose(kind) {
    this.kind = kind;
    for (const button of this.find(".kinds").children) button.ariaPressed = String(button.dataset.kind === kind);
    this.find("[name=text]").placeholder = kind === "token" ? "Which token … ?" : "What do you think: … ?";
    const rows = kind === "yes" ? ["Yes", "No"] : kind === "token" ? this.tokens : Array(FOUR).fill("");
    this.find(".choices").replaceChildren(...rows.map((label, at) => this.row(label, at, rows.length)));
    const most = kind === "token" && rows.length > MOST ? `Up to ${MOST} tokens are offered: tick which. ` : "";
    this.find(".hint").textContent = `${most}The wall shows what you mark as right, too; you need not.`;
  }

  // Whether it is offered, what it says, and whether it is the right one.
  row(label, at, of) {
    const row = element("div", "choice"), offered = element("input", ""), words = element("input", "");
    const mark = element("label", "", "right "), right = element("input", "");
    Object.assign(offered, { type: "checkbox", checked: of <= MOST || at < MOST, hidden: this.kind !== "token" });
    offered.ariaLabel = `Offer ${label}`;
    Object.assign(words, { type: "text", value: label, maxLength: 200, readOnly: this.kind !== "four" });
    words.ariaLabel = `Option ${at + 1}`;
    Object.assign(right, { type: "checkbox" });
    right.onchange = () => {
      for (const other of this.find(".choices").querySelectorAll(".mark input")) other.checked &&= other === right;
    };
    mark.className = "mark";
    mark.append(right);
    row.append(offered, words, mark);
    return row;
  }

  asked() {
    const rows = [...this.find(".choices").children].map((row) => {
      const [offered, words, right] = row.querySelectorAll("input");
      return { offered: offered.checked, label: words.value.trim(), right: right.checked };
    }).filter(({ offered, label }) => offered && label);
    const right = rows.findIndex((row) => row.right);
    const options = rows.map(({ label }) => label);
    return { text: this.find("[name=text]").value.trim(), options: apart(options), right: right < 0 ? null : right };
  }

  tell(problem) {
    this.find(".problem").textContent = problem;
  }
}

// Tokens that stand twice in a sentence are told apart by their number.
export function apart(options) {
  const counts = {};
  return options.map((label) => {
    counts[label] = (counts[label] ?? 0) + 1;
    return counts[label] === 1 ? label : `${label} (${counts[label]}.)`;
  });
}

export function problemOf({ text, options }) {
  if (!text) return "Write the question first.";
  if (options.length < 2 || options.length > MOST) return `A question has two to ${MOST} options.`;
  return "";
}
