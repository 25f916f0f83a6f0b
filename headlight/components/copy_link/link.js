// Copies the page's address.

import { copyText } from "../lib/clipboard.js";
import { Component, mounted } from "../lib/mount.js";
import { shared } from "../lib/sharing.js";
import { say } from "./texts.toml";

const SHOWN_FOR = 2000; // ms for the confirmation

class CopyLink extends Component {
  constructor(root) {
    super(root);
    this.words = this.find(".copied");
    this.find("button").onclick = () => this.copy(shared(location.href));
    this.ends.push(() => clearTimeout(this.timer));
  }

  async copy(address) {
    const copied = await copyText(address);
    this.words.textContent = say(copied ? "copied" : "not_copied");
    clearTimeout(this.timer);
    this.timer = setTimeout(() => (this.words.textContent = ""), SHOWN_FOR);
  }
}

export default mounted(CopyLink);
