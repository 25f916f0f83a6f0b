// Participants of a class by their signs: the teacher removes one, or empties the room. Each takes a second press.

import { button } from "../lib/canvas.js";
import { say } from "./texts.toml";

export class Room {
  // act("remove", sign) or act("empty").
  constructor(dialog, act) {
    Object.assign(this, { dialog, act, signs: [] });
    this.find = (selector) => dialog.querySelector(selector);
    this.find(".empty").onclick = () => this.press("");
  }

  open() {
    this.press();
    this.dialog.showModal();
  }

  draw(signs) {
    if (signs.join() === this.signs.join()) return;
    this.signs = signs;
    this.find(".signs").replaceChildren(...signs.map((sign) => button(sign, () => this.press(sign))));
  }

  // The second press of the same button acts; "" is the whole room, undefined nothing.
  press(sign) {
    const isSure = sign !== undefined && sign === this.chosen;
    this.chosen = isSure ? undefined : sign;
    const question = sign ? say("sure", { sign }) : say("sure_all");
    this.find(".sure").textContent = this.chosen === undefined ? "" : question;
    if (!isSure) return;
    this.act(...(sign ? ["remove", sign] : ["empty"]));
    this.dialog.close();
  }
}
