// The secrets of a teacher's classes in this browser, by code: for as long as a class may last.

import { storage } from "../lesson_panel/memory.js";

const NAME = "headlight-teacher", LASTS = 12 * 3600 * 1000; // ms

export class Rights {
  constructor(kept = storage("localStorage"), now = Date.now) {
    Object.assign(this, { storage: kept, now });
  }

  all() {
    let found;
    try {
      found = JSON.parse(this.storage.getItem(NAME) ?? "{}");
    } catch {
      found = {};
    }
    const entries = found && typeof found === "object" ? Object.entries(found) : [];
    return Object.fromEntries(entries.filter(([, kept]) => {
      return typeof kept?.secret === "string" && this.now() - kept.at < LASTS;
    }));
  }

  of(code) {
    return this.all()[code]?.secret;
  }

  keep(code, secret) {
    if (this.of(code) !== secret) this.write({ ...this.all(), [code]: { secret, at: this.now() } });
  }

  forget(code) {
    const { [code]: gone, ...left } = this.all();
    if (gone) this.write(left);
  }

  write(all) {
    try {
      this.storage.setItem(NAME, JSON.stringify(all));
    } catch {
      // full, or forbidden: then her teacher link alone has it
    }
  }
}
