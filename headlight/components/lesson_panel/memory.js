// What a learner tried, by the question, in this browser: the newest so many questions.

const NAME = "headlight-lessons", NOTES = "headlight-notes";
const MOST = 400;

export class Memory {
  constructor(storage = globalThis.localStorage) {
    this.storage = storage;
  }

  all() {
    return this.read(NAME);
  }

  keep(key, tried) {
    this.put(NAME, key, tried);
  }

  noteOf(key) {
    return this.read(NOTES)[key] ?? "";
  }

  note(key, text) {
    this.put(NOTES, key, text);
  }

  // A browser may forbid it, or another page may have written something else there.
  read(name) {
    try {
      const found = JSON.parse(this.storage.getItem(name) ?? "{}");
      return found && typeof found === "object" && !Array.isArray(found) ? found : {};
    } catch {
      return {};
    }
  }

  put(name, key, value) {
    const found = this.read(name);
    delete found[key]; // the newest comes last
    found[key] = value;
    const kept = Object.fromEntries(Object.entries(found).slice(-MOST));
    try {
      this.storage.setItem(name, JSON.stringify(kept));
    } catch {
      // full, or forbidden: then this visit alone knows
    }
  }
}
