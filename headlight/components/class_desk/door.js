// The door of a class: code, QR code and link, as large as the last row needs, and the same small in a corner.
//
// This browser alone knows whether it is open: no answer of the server opens or closes it, however late.

import { storage } from "../lesson_panel/memory.js";
import { svgElement } from "../lib/canvas.js";
import { say } from "./texts.toml";

const QUIET = 4; // modules of white around a QR code
const NAME = "headlight-door-"; // and the class's code: "1" where the door is open

export class Door {
  constructor(dialog, corner, session = storage("sessionStorage")) {
    Object.assign(this, { dialog, corner, session });
    this.find = (selector) => dialog.querySelector(selector);
    corner.onclick = () => this.toggle();
    this.find(".shut").onclick = () => this.toggle(false);
    dialog.oncancel = (event) => {
      event.preventDefault();
      this.toggle(false);
    };
  }

  get isOpen() {
    return this.dialog.open;
  }

  // It opens for a new class, and where it was open before the page was left. A hotspot brings another link.
  draw(data) {
    const isNew = this.code !== data.code, way = [data.code, data.link, data.problem, ...data.others].join(" ");
    this.code = data.code;
    if (this.way !== way) this.write(data);
    this.way = way;
    this.find(".here").textContent = say("here", { here: data.here });
    this.find(".locked").hidden = !data.locked;
    if (!isNew) return;
    const before = this.session.getItem(NAME + data.code);
    this.toggle(before ? before === "1" : !data.rounds && data.phase === "lobby");
  }

  write({ code, link, others, problem, qr }) {
    this.find(".code").textContent = code;
    this.corner.querySelector("span").textContent = code;
    for (const place of [this.find(".qr"), this.corner.querySelector(".qr")]) {
      place.replaceChildren(...(qr.length ? [picture(qr, link)] : []));
      place.hidden = !qr.length;
    }
    for (const place of [this.find(".link"), this.corner.querySelector(".address")]) {
      place.textContent = link.replace(/^https?:\/\//, "");
    }
    this.find(".join").hidden = !link;
    this.find(".problem").textContent = problem;
    const help = others.length ? say("others_link", { links: others }) : say("others");
    this.find(".others").textContent = link ? help : "";
  }

  toggle(open = !this.dialog.open) {
    this.session.setItem(NAME + this.code, open ? "1" : "0");
    if (open === this.dialog.open) return;
    if (open) this.dialog.showModal();
    else this.dialog.close();
  }
}

// A QR code, black on white in a dark theme too: not every phone reads it the other way round.
function picture(rows, link) {
  const size = rows.length + 2 * QUIET, viewBox = `0 0 ${size} ${size}`;
  const look = { viewBox, "shape-rendering": "crispEdges", role: "img", "aria-label": say("code", { link }) };
  return svgElement("svg", look, svgElement("path", { d: pathOf(rows) }));
}

// Each run of dark modules as one rectangle.
export function pathOf(rows) {
  return rows.flatMap((row, y) => {
    return Array.from(row.matchAll(/1+/g), ({ 0: { length }, index }) => {
      return `M${index + QUIET} ${y + QUIET}h${length}v1h-${length}z`;
    });
  }).join("");
}
