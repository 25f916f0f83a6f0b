// The secrets of a teacher's classes in this browser, by code, for the longest duration of a class.

import { readObject, storage, writeObject } from "../lesson_panel/memory.js";

const NAME = "headlight-teacher", LASTS = 12 * 3600 * 1000; // ms

export class Rights {
  constructor(store = storage("localStorage"), now = Date.now) {
    Object.assign(this, { storage: store, now });
  }

  all() {
    const entries = Object.entries(readObject(this.storage, NAME));
    return Object.fromEntries(entries.filter(([, entry]) => {
      return typeof entry?.secret === "string" && this.now() - entry.at < LASTS;
    }));
  }

  of(code) {
    return this.all()[code]?.secret;
  }

  keep(code, secret) {
    if (this.of(code) === secret) return;
    writeObject(this.storage, NAME, { ...this.all(), [code]: { secret, at: this.now() } });
  }

  forget(code) {
    const { [code]: gone, ...left } = this.all();
    if (gone) writeObject(this.storage, NAME, left);
  }
}
