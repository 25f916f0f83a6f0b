// Attempts and notes of a learner in this browser, by question: those of the newest questions.

const NAME = "headlight-lessons", NOTES = "headlight-notes";
const MOST = 400;
const entries = new Map();
const standIn = { getItem: (key) => entries.get(key) ?? null, setItem: (key, text) => entries.set(key, text) };

// The browser's storage of a name; where it is forbidden, as in a preview of a mail, one that ends with the page.
export function storage(name) {
  try {
    return globalThis[name] ?? standIn;
  } catch {
    return standIn;
  }
}

// An object in a storage; empty where a browser forbids it, or another page has written something else there.
export function readObject(store, name) {
  try {
    const stored = JSON.parse(store.getItem(name) ?? "{}");
    return stored && typeof stored === "object" && !Array.isArray(stored) ? stored : {};
  } catch {
    return {};
  }
}

export function writeObject(store, name, value) {
  try {
    store.setItem(name, JSON.stringify(value));
  } catch {
    // full, or forbidden: then this visit alone has it
  }
}

export class Memory {
  constructor(store = storage("localStorage")) {
    this.storage = store;
  }

  all() {
    return readObject(this.storage, NAME);
  }

  keep(key, tried) {
    this.put(NAME, key, tried);
  }

  noteOf(key) {
    return readObject(this.storage, NOTES)[key] ?? "";
  }

  note(key, text) {
    this.put(NOTES, key, text);
  }

  put(name, key, value) {
    const others = Object.entries(readObject(this.storage, name)).filter(([other]) => other !== key);
    writeObject(this.storage, name, Object.fromEntries([...others, [key, value]].slice(-MOST)));
  }
}
