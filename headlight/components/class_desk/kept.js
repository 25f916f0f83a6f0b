// The classes whose secrets this browser has: a teacher can resume one after closing the window.

import { button } from "../lib/canvas.js";
import { Component, mounted } from "../lib/mount.js";
import { Rights } from "./rights.js";
import { say } from "./texts.toml";

class KeptClasses extends Component {
  receive({ ended }) {
    const rights = new Rights();
    for (const code of ended) rights.forget(code);
    const classes = Object.entries(rights.all()).sort(([, one], [, other]) => other.at - one.at);
    this.find("p").hidden = !classes.length;
    this.find(".buttons").replaceChildren(...classes.map(([code, { at }]) => {
      const time = new Date(at).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
      return button(say("resume", { code, time }), () => this.setTriggerValue("choice", code));
    }));
  }
}

export default mounted(KeptClasses);
