// What a learner tried, by the question, in this browser: the newest so many questions.

const NAME = "headlight-lessons", NOTES = "headlight-notes";
const MOST = 400;
const held = new Map();
const standIn = { getItem: (key) => held.get(key) ?? null, setItem: (key, text) => held.set(key, text) };

// The browser's storage of a name; where it is forbidden, as in a preview of a mail, one that ends with the page.
export function storage(name) {
  try {
    return globalThis[name] ?? standIn;
  } catch {
    return standIn;
  }
}

export class Memory {
  constructor(store = storage("localStorage")) {
    this.storage = store;
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
    const newest = Object.fromEntries(Object.entries(found).slice(-MOST));
    try {
      this.storage.setItem(name, JSON.stringify(newest));
    } catch {
      // full, or forbidden: then this visit alone knows
    }
  }
}
