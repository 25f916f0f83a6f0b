// Copies the page's address. A page that is not served over https or from this machine has no clipboard of its own:
// there the text is selected and copied as by hand.

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
    const copied = await toClipboard(address);
    this.words.textContent = copied ? "Copied" : "Copy the address above";
    clearTimeout(this.timer);
    this.timer = setTimeout(() => (this.words.textContent = this.saying), SAID_FOR);
  }

  leave() {
    clearTimeout(this.timer);
  }
}

async function toClipboard(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return bySelection(text);
  }
}

function bySelection(text) {
  const field = document.createElement("textarea");
  field.value = text;
  document.body.append(field);
  field.select();
  const copied = document.execCommand("copy");
  field.remove();
  return copied;
}

export default mounted(CopyLink);
