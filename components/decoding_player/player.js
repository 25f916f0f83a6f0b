// The decoding player. All numbers and sentences come from Python; here they are only shown, one step at a time.
// Token text is hostile until it is set as text. Python puts strips.js before this file.

const MILLISECONDS_A_STEP = 1000;
const REPORT_AFTER = 350; // after the last key or click, so that stepping quickly asks the server once
const GAP = 24; // pixels between the two pictures of all heads, as in player.css
const WIDEST_BAR = 60; // per cent of the column; the rest is for the number
const players = new WeakMap();

export default function ({ parentElement, data, setTriggerValue }) {
  let player = players.get(parentElement);
  if (!player) {
    player = new Player(parentElement);
    players.set(parentElement, player);
  }
  player.setTriggerValue = setTriggerValue;
  player.receive(data);
  return () => {
    player.leave();
    players.delete(parentElement);
  };
}

class Player {
  constructor(root) {
    this.root = root;
    this.timer = null;
    this.reporting = null;
    this.sent = []; // steps that were reported and have not come back yet
    this.find = (selector) => root.querySelector(selector);
    const go = (target) => () => this.seek(target());
    this.find(".first").onclick = go(() => 1);
    this.find(".back").onclick = go(() => this.step - 1);
    this.find(".forward").onclick = go(() => this.step + 1);
    this.find(".last").onclick = go(() => this.count);
    this.find(".play").onclick = () => (this.timer ? this.pause() : this.play());
    this.find(".slider").oninput = go(() => Number(this.find(".slider").value));
    this.find(".player").onkeydown = (event) => this.key(event);
    this.find("select").onchange = () => this.timer && this.schedule();
    const choose = (layer, head) => this.setTriggerValue("head", [layer, head]);
    const tell = (text) => (this.find(".readout").textContent = text);
    this.strips = ["cross", "decoder"].map((kind) => new Strip(this.find(`.all_${kind}`), tell, choose));
    this.resized = new ResizeObserver(() => this.data && this.drawStrips());
    this.resized.observe(this.find(".heads"));
  }

  receive(data) {
    const other = this.data?.id !== data.id;
    this.data = data;
    this.count = data.steps.length;
    this.maps = { cross: floats(data.cross), decoder: floats(data.decoder) };
    this.strips[0].receive(data, data.source, data.all_cross);
    this.strips[1].receive(data, data.fed, data.all_decoder);
    for (const name of this.root.querySelectorAll(".name")) name.textContent = `(${data.name})`;
    if (other) {
      this.pause(false);
      this.layOut();
    }
    // The address decides where to stand when it says something new that was not said from here.
    const echo = other ? -1 : this.sent.indexOf(data.step);
    if (other || (echo < 0 && data.step !== this.address)) this.step = Math.min(Math.max(1, data.step), this.count);
    this.sent = other ? [] : this.sent.slice(echo + 1);
    this.address = data.step;
    this.show();
  }

  leave() {
    clearTimeout(this.timer);
    clearTimeout(this.reporting);
    this.resized.disconnect();
  }

  // Moving through the steps

  seek(step) {
    this.pause(false);
    this.move(step);
    this.report();
  }

  move(step) {
    this.step = Math.min(Math.max(1, step), this.count);
    this.show();
  }

  play() {
    if (this.step === this.count) this.move(1);
    this.schedule();
    this.showPlaying();
  }

  schedule() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      this.move(this.step + 1);
      if (this.step === this.count) this.pause();
      else this.schedule();
    }, MILLISECONDS_A_STEP / Number(this.find("select").value));
  }

  pause(report = true) {
    const playing = this.timer !== null;
    clearTimeout(this.timer);
    this.timer = null;
    this.showPlaying();
    if (playing && report) this.report();
  }

  report() {
    clearTimeout(this.reporting);
    this.reporting = setTimeout(() => {
      if (this.timer || this.step === (this.sent.at(-1) ?? this.address)) return;
      this.sent.push(this.step);
      this.setTriggerValue("step", this.step);
    }, REPORT_AFTER);
  }

  key(event) {
    if (event.altKey || event.ctrlKey || event.metaKey) return; // the browser's: Alt and left is Back
    if (event.target.matches("select") || (event.target.matches(".slider") && event.key !== " ")) return;
    const moves = { ArrowLeft: this.step - 1, ArrowRight: this.step + 1, Home: 1, End: this.count };
    if (event.key in moves) this.seek(moves[event.key]);
    else if (event.key === " " && !event.target.matches("button")) this.timer ? this.pause() : this.play();
    else return;
    event.preventDefault();
  }

  // What does not change from step to step

  layOut() {
    const { source, fed, next } = this.data;
    const chip = (token) => {
      const item = element("li");
      item.append(element("span", "token", token), element("span", "note"));
      return item;
    };
    this.find(".source").replaceChildren(...source.map(chip));
    // One place more than was fed: the last is for the piece that the last step predicts.
    this.find(".target").replaceChildren(...[...fed, next.at(-1)].map(chip));
    const slider = this.find(".slider");
    slider.max = this.count;
    slider.disabled = this.count === 1;
  }

  // One step

  show() {
    const step = this.data.steps[this.step - 1];
    this.find(".place").textContent = `Step ${this.step} of ${this.count}`;
    const slider = this.find(".slider");
    slider.value = this.step;
    slider.setAttribute("aria-valuetext", `Step ${this.step} of ${this.count}: ${this.data.next[this.step - 1]}`);
    this.find(".sentence").textContent = step.sentence;
    this.find(".back").disabled = this.find(".first").disabled = this.step === 1;
    this.find(".forward").disabled = this.find(".last").disabled = this.step === this.count;
    this.showRow(".source", this.maps.cross, this.data.source.length, this.data.source.length);
    this.showRow(".target", this.maps.decoder, this.count, this.step);
    this.showNext(step);
    this.showCandidates(step);
    this.drawStrips();
  }

  showPlaying() {
    const playing = this.timer !== null;
    this.find(".play span").textContent = playing ? "Pause" : "Play";
    this.find(".play path").setAttribute("d", playing ? "M5 4h4v12H5zM11 4h4v12h-4z" : "M6 4v12l9-6z");
    this.find(".sentence").setAttribute("aria-live", playing ? "off" : "polite");
  }

  showRow(selector, map, columns, read) {
    const chips = this.find(selector).children;
    for (let key = 0; key < read; key++) {
      const weight = map[(this.step - 1) * columns + key];
      chips[key].className = "";
      chips[key].style.backgroundColor = blue(weight);
      chips[key].title = `weight ${weight.toFixed(4)}`;
      chips[key].lastChild.textContent = weight.toFixed(2);
    }
  }

  showNext(step) {
    const chips = this.find(".target").children;
    for (let place = this.step; place < chips.length; place++) {
      const next = place === this.step;
      chips[place].className = next ? (step.forced ? "next forced" : "next") : "later";
      chips[place].style.backgroundColor = "";
      chips[place].title = next ? "the piece that follows; it is fed in the next step" : "";
      // A placeholder of the usual width, so that nothing moves when the weight takes its place.
      chips[place].lastChild.textContent = next ? step.chance : "0.00";
    }
  }

  showCandidates(step) {
    this.find("caption").textContent = `Softmax over all pieces. Entropy ${step.entropy}.`;
    this.find(".rest").textContent = step.rest_words;
    const body = this.find("tbody");
    while (body.children.length > step.candidates.length) body.lastChild.remove();
    while (body.children.length < step.candidates.length) body.append(this.candidateRow());
    step.candidates.forEach((candidate, index) => {
      const row = body.children[index];
      const button = row.querySelector("button");
      row.className = candidate.taken ? "taken" : "";
      row.querySelector(".rank").textContent = candidate.rank;
      button.textContent = candidate.token;
      const takable = step.takable && !candidate.special;
      button.setAttribute("aria-label", candidate.taken ? `${candidate.token}, taken` : `Take ${candidate.token} instead`);
      button.title = candidate.taken ? "taken in this translation" : "take this piece instead and decode on";
      button.disabled = !candidate.taken && !takable;
      button.onclick = () => {
        if (candidate.taken) return;
        this.pause(false);
        clearTimeout(this.reporting);
        this.setTriggerValue("take", [this.step, candidate.id]);
      };
      row.querySelector("i").style.width = `${(candidate.probability * WIDEST_BAR).toFixed(2)}%`;
      row.querySelector(".bar span").textContent = candidate.words + (candidate.taken ? " ✓" : "");
    });
  }

  candidateRow() {
    const row = element("tr"), piece = element("td", "piece"), bar = element("td", "bar"), inside = element("div");
    piece.append(element("button"));
    piece.firstChild.type = "button";
    inside.append(element("i"), element("span"));
    bar.append(inside);
    row.append(element("td", "rank"), piece, bar);
    return row;
  }

  drawStrips() {
    const width = this.find(".heads").clientWidth, half = (width - GAP) / 2;
    const both = this.strips.every((strip) => strip.comfortable <= half);
    this.find(".strips").classList.toggle("side_by_side", both);
    this.strips[0].draw(this.step, this.data.source.length, both ? half : width);
    this.strips[1].draw(this.step, this.step, both ? half : width);
  }
}
