// A player's position: buttons, slider, keys and a clock move it through its steps, and where it rests is reported.

import { isShortcut } from "./canvas.js";
import { isStill } from "./motion.js";
import { Echo } from "./mount.js";
import { say } from "./texts.toml";

export class Playhead {
  // Steps are numbered from `first` on, and one is a `name`. draw(): shows the step at `at`; valueOf(at): its value in
  // the address; send(value): reports it to the server.
  constructor(find, name, first, millisecondsPerStep, { draw, valueOf, send }) {
    Object.assign(this, { find, first, last: first, at: first, millisecondsPerStep, draw, valueOf, send });
    Object.assign(this, { timer: null, echo: new Echo() });
    const button = (selector, label, target) => {
      find(selector).setAttribute("aria-label", label);
      find(selector).onclick = () => this.seek(target());
    };
    button(".first", say(`first_${name}`), () => this.first);
    button(".back", say(`back_${name}`), () => this.at - 1);
    button(".forward", say(`forward_${name}`), () => this.at + 1);
    button(".last", say(`last_${name}`), () => this.last);
    find(".play").onclick = () => this.toggle();
    find(".slider").oninput = () => this.seek(Number(find(".slider").value));
    find(".player").onkeydown = (event) => this.key(event);
    find("select").onchange = () => this.timer && this.schedule();
  }

  // Stop, and forget the reports: another sequence is shown from here on.
  startAnew() {
    this.pause(false);
    this.echo.forget();
  }

  // Return whether the value of the address was not reported from here: then it decides the position.
  isNews(value) {
    return this.echo.isNews(value);
  }

  place(at) {
    this.at = Math.min(Math.max(this.first, at), this.last);
  }

  move(at) {
    this.place(at);
    this.draw();
  }

  seek(at) {
    this.pause(false);
    this.move(at);
    this.report();
  }

  toggle() {
    if (this.timer) this.pause();
    else this.play();
  }

  play() {
    if (this.at === this.last) this.move(this.first);
    this.schedule();
    this.showPlaying();
  }

  // Play from the first step to the last, then stand at `rest` if given, unless the visitor prefers less motion. Any
  // use of the controls ends it.
  playOnArrival(rest = null) {
    if (isStill() || this.first === this.last) return;
    const showRest = () => {
      this.pause(false);
      this.move(rest);
    };
    this.move(this.first);
    this.schedule(rest === null ? undefined : () => this.wait(showRest));
    this.showPlaying();
  }

  schedule(end = () => this.pause()) {
    this.wait(() => {
      this.move(this.at + 1);
      if (this.at === this.last) end();
      else this.schedule(end);
    });
  }

  // Do something after the time of one step, unless it is paused before.
  wait(act) {
    clearTimeout(this.timer);
    this.timer = setTimeout(act, this.millisecondsPerStep / Number(this.find("select").value));
  }

  // Without a report, one that is due is not made either.
  pause(report = true) {
    const playing = this.timer !== null;
    clearTimeout(this.timer);
    this.timer = null;
    this.showPlaying();
    if (!report) this.echo.cancel();
    else if (playing) this.report();
  }

  report() {
    this.echo.later(() => {
      const value = this.valueOf(this.at);
      if (!this.timer && this.echo.isWorthReporting(value)) this.send(value);
    });
  }

  key(event) {
    if (isShortcut(event)) return;
    if (["select", ".chips"].some((each) => event.target.matches(each))) return;
    if (event.target.matches(".slider") && event.key !== " ") return;
    const moves = { ArrowLeft: this.at - 1, ArrowRight: this.at + 1, Home: this.first, End: this.last };
    if (event.key in moves) this.seek(moves[event.key]);
    else if (event.key === " " && !event.target.matches("button")) this.toggle();
    else return;
    event.preventDefault();
  }

  // Update the controls; `spoken` is the slider's text for screen readers.
  show(spoken) {
    const { first: min, last: max, at: value } = this, slider = this.find(".slider");
    Object.assign(slider, { min, max, value, disabled: min === max });
    slider.setAttribute("aria-valuetext", spoken);
    this.find(".back").disabled = this.find(".first").disabled = this.at === this.first;
    this.find(".forward").disabled = this.find(".last").disabled = this.at === this.last;
  }

  showPlaying() {
    const playing = this.timer !== null;
    this.find(".play span").textContent = say(playing ? "pause" : "play");
    this.find(".play path").setAttribute("d", playing ? "M5 4h4v12H5zM11 4h4v12h-4z" : "M6 4v12l9-6z");
    this.find("[aria-live]").setAttribute("aria-live", playing ? "off" : "polite");
  }

  leave() {
    clearTimeout(this.timer);
    this.echo.cancel();
  }
}
