// What a component told the server and what the address says: an echo of one's own words must not move anything.

class Said {
  constructor() {
    this.forget();
  }

  forget() {
    this.sent = []; // what was reported and has not come back yet
    this.address = undefined;
  }

  // Whether the address says something that was not said from here: then it decides what is shown.
  isNews(words) {
    const echo = this.sent.indexOf(words);
    const news = echo < 0 && words !== this.address;
    this.sent = this.sent.slice(echo + 1);
    this.address = words;
    return news;
  }

  // Whether it is worth telling; then it counts as told.
  tell(words) {
    if (words === (this.sent.at(-1) ?? this.address)) return false;
    this.sent.push(words);
    return true;
  }
}

