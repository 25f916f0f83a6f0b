// The classes whose secrets this browser has: a teacher whose window was closed goes on with hers.

import { element } from "../lib/canvas.js";
import { Component, mounted } from "../lib/mount.js";
import { Rights } from "./rights.js";

class KeptClasses extends Component {
  receive({ ended }) {
    const rights = new Rights();
    for (const code of ended) rights.forget(code);
    const found = Object.entries(rights.all()).sort(([, one], [, other]) => other.at - one.at);
    this.find("p").hidden = !found.length;
    this.find(".buttons").replaceChildren(...found.map(([code, { at }]) => {
      const since = new Date(at).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
      const button = element("button", "", `Go on with ${code} (since ${since})`);
      button.onclick = () => this.setTriggerValue("choice", code);
      return button;
    }));
  }
}

export default mounted(KeptClasses);
