// Copies the page's address.

import { copyText } from "../lib/clipboard.js";
import { mounted } from "../lib/mount.js";

const SAID_FOR = 2000; // ms that the button says that it is done

class CopyLink {
  constructor(root) {
    this.words = root.querySelector("span");
    this.saying = this.words.textContent;
    root.querySelector("button").onclick = () => this.copy(location.href);
  }

  receive() {}

  async copy(address) {
    const copied = await copyText(address);
    this.words.textContent = copied ? "Copied" : "Copy the address above";
    clearTimeout(this.timer);
    this.timer = setTimeout(() => (this.words.textContent = this.saying), SAID_FOR);
  }

  leave() {
    clearTimeout(this.timer);
  }
}

export default mounted(CopyLink);
