// The whole pass as a moving picture: one clock, one canvas, and over it a button for each part of the model.

import { button, isDark, isShortcut, prepare } from "../lib/canvas.js";
import { unpackFacts } from "../lib/facts.js";
import { isStill } from "../lib/motion.js";
import { Component, mounted } from "../lib/mount.js";
import { heightBelow, invite } from "../lib/screen.js";
import { inWords, spoken } from "../lib/tokens.js";
import { offerDownload } from "../export/menu.js";
import { widthOf } from "../export/pictures.js";
import { paint } from "./paint.js";
import { figureOf } from "./picture.js";
import { recordFilm } from "./film.js";
import { scene } from "./scene.js";
import { SECONDS, stationAt, stepAt, storyOf } from "./story.js";
import { chapterOf, chapterSentence, pageOf, partText, sentenceAt, stationName } from "./words.js";

const BELOW = 168, LEAST_HIGH = 380, MOST_HIGH = 640; // pixels of what stands below the canvas, and of the canvas
const PHONE = 640, PHONE_HIGH = 560;
const SECONDS_PER_STILL = 2.5; // where less motion is preferred
const INVITATION = "Point at a part for its name and numbers. Click on it for the page that explains it. ← → go from station to station.";

class WholePass extends Component {
  constructor(root) {
    super(root);
    for (const name of ["stage", "parts", "sentence", "slider", "place", "chapters", "readout", "film", "play"]) {
      this[name] = this.find(`.${name}`);
    }
    this.canvas = this.find("canvas");
    this.time = 0;
    this.chosen = {};
    this.controls();
    this.listen(this.stage, "pointermove", (event) => this.point(event));
    this.listen(this.stage, "pointerleave", () => this.choose({}));
    this.find(".more_controls").append(offerDownload("this moment", () => figureOf(this.story, this.time, this.size())));
    this.whenResized(this.find(".whole_pass"), () => this.width !== this.stage.clientWidth && this.fit());
    this.listen(window, "resize", () => this.fit());
    this.ends.push(() => cancelAnimationFrame(this.frame));
  }

  controls() {
    const act = (selector, label, go) => {
      this.find(selector).setAttribute("aria-label", label);
      this.find(selector).onclick = go;
    };
    act(".first", "To the beginning", () => this.goTo(0));
    act(".back", "One station back", () => this.stepBy(-1));
    act(".forward", "One station on", () => this.stepBy(1));
    act(".last", "To the end", () => this.goTo(this.story.stations.length - 1));
    this.play.onclick = () => (this.frame ? this.pause() : this.start());
    Object.assign(this.slider, { min: 0, max: SECONDS, step: 0.01 });
    this.slider.setAttribute("aria-label", "Time");
    this.slider.oninput = () => this.seek(Number(this.slider.value));
    this.find(".whole_pass").onkeydown = (event) => this.key(event);
    this.film.onclick = () => this.saveFilm();
  }

  // Facts as bytes: see story.js. `moment` is the number of a station, from 1.
  receive(data) {
    const facts = data instanceof Uint8Array ? unpackFacts(data) : data, id = facts.sourceText + facts.targetText;
    const isOther = id !== this.id;
    if (isOther) this.take(storyOf(facts), id);
    const { moment = "" } = facts, isNews = this.echo.isNews(moment);
    if (isNews && /^[1-9]\d{0,3}$/.test(moment)) this.goTo(Number(moment) - 1);
    else if (isOther) {
      this.time = isStill() ? this.story.stations[0].still : 0;
      this.fit();
      if (!isStill()) this.start();
    }
  }

  take(story, id) {
    this.pause();
    Object.assign(this, { story, id, chosen: {}, shownParts: "" });
    const firsts = story.stations.filter((station, at) => !at || chapterOf(station) !== chapterOf(story.stations[at - 1]));
    this.chapters.replaceChildren(...firsts.map((station) => {
      return button(chapterOf(station), () => this.goTo(story.stations.indexOf(station)));
    }));
  }

  // The clock

  start() {
    if (this.time >= SECONDS - 0.01) this.time = 0;
    let before = null;
    const tick = (now) => {
      const speed = Number(this.find("select").value);
      if (before !== null) this.advance(((now - before) / 1000) * speed);
      before = now;
      if (this.frame) this.frame = this.time >= SECONDS ? 0 : requestAnimationFrame(tick);
      if (!this.frame) this.pause();
    };
    this.frame = requestAnimationFrame(tick);
    this.showPlaying();
  }

  // Where less motion is preferred, from still to still.
  advance(seconds) {
    if (isStill()) {
      this.waited = (this.waited ?? 0) + seconds;
      if (this.waited < SECONDS_PER_STILL) return;
      this.waited = 0;
      const next = stationAt(this.story, this.time) + 1, { stations } = this.story;
      this.time = next < stations.length ? stations[next].still : SECONDS;
    } else this.time = Math.min(SECONDS, this.time + seconds);
    this.draw();
  }

  pause() {
    const wasPlaying = Boolean(this.frame);
    cancelAnimationFrame(this.frame);
    this.frame = 0;
    this.showPlaying();
    if (wasPlaying) this.draw();
    if (wasPlaying) this.report();
  }

  seek(time) {
    this.pause();
    this.time = time;
    this.draw();
    this.report();
  }

  goTo(station) {
    const { stations } = this.story;
    this.pause();
    this.time = stations[Math.max(0, Math.min(stations.length - 1, station))].still;
    this.fit();
    this.report();
  }

  // To the still of a neighbour; from within a station first to its own.
  stepBy(by) {
    const at = stationAt(this.story, this.time), { still } = this.story.stations[at];
    const isBefore = by > 0 ? this.time < still - 0.01 : this.time > still + 0.01;
    this.goTo(isBefore ? at : at + by);
  }

  report() {
    this.echo.later(() => {
      const moment = String(stationAt(this.story, this.time) + 1);
      if (!this.frame && this.echo.isWorthReporting(moment)) this.setTriggerValue("moment", moment);
    });
  }

  key(event) {
    if (isShortcut(event) || event.target.matches("select, .menu *")) return;
    if (event.key === "ArrowLeft") this.stepBy(-1);
    else if (event.key === "ArrowRight") this.stepBy(1);
    else if (event.key === "Home") this.goTo(0);
    else if (event.key === "End") this.goTo(Infinity);
    else if (event.key === " " && !event.target.matches("button")) this.play.click();
    else return;
    event.preventDefault();
  }

  showPlaying() {
    const playing = Boolean(this.frame);
    this.find(".play span").textContent = playing ? "Pause" : "Play";
    this.find(".play path").setAttribute("d", playing ? "M5 4h4v12H5zM11 4h4v12h-4z" : "M6 4v12l9-6z");
    for (const place of [this.sentence, this.readout]) place.setAttribute("aria-live", playing ? "off" : "polite");
  }

  // The picture

  size() {
    const width = this.stage.clientWidth, isPhone = width < PHONE;
    const high = Math.max(LEAST_HIGH, Math.min(MOST_HIGH, heightBelow(this.stage) - BELOW));
    return { width, height: isPhone ? PHONE_HIGH : high, measure: widthOf };
  }

  fit() {
    this.width = this.stage.clientWidth;
    if (!this.story || !this.width) return;
    const { width, height } = this.size();
    this.pen = prepare(this.canvas, width, height);
    this.family = getComputedStyle(this.canvas).fontFamily;
    this.shownSize = this.size();
    this.draw();
  }

  draw() {
    const { pen, story, time, chosen, family, shownSize } = this;
    if (!pen) return;
    pen.clearRect(0, 0, shownSize.width, shownSize.height);
    const { shapes, parts, layout } = scene(story, time, shownSize, chosen);
    this.layout = layout;
    paint(pen, shapes, { family });
    this.showParts(parts);
    this.showWords();
  }

  showWords() {
    const { story, time } = this, at = stationAt(story, time), station = story.stations[at];
    const words = this.frame && !isStill() ? chapterSentence(story, station, time) : sentenceAt(story, station), name = stationName(story, station);
    if (words !== this.words) this.sentence.textContent = inWords((this.words = words));
    this.slider.value = time;
    if (name !== this.name) {
      this.name = name;
      this.place.textContent = inWords(name);
      this.slider.setAttribute("aria-valuetext", spoken(name));
      for (const each of this.chapters.children) {
        if (each.textContent === chapterOf(station)) each.setAttribute("aria-current", "step");
        else each.removeAttribute("aria-current");
      }
      this.find(".back").disabled = this.find(".first").disabled = at === 0;
      this.find(".forward").disabled = this.find(".last").disabled = at === story.stations.length - 1;
      this.describe();
    }
  }

  // Buttons over the parts; the same ones as long as there are the same parts.
  showParts(parts) {
    const shape = JSON.stringify(parts);
    if (shape === this.shownParts) return;
    this.shownParts = shape;
    const buttons = [...this.parts.children];
    while (buttons.length > parts.length) buttons.pop().remove();
    parts.forEach((part, at) => {
      const made = buttons[at] ?? this.parts.appendChild(button("", () => this.open(made.part)));
      if (!buttons[at]) made.onfocus = () => made.matches(":focus-visible") && this.choose({ ...made.part });
      if (!buttons[at]) made.onblur = () => this.choose({});
      made.part = part;
      made.setAttribute("aria-label", spoken(partText(this.story, part, stepAt(this.story, this.time))));
      Object.assign(made.style, { left: `${part.x}px`, top: `${part.y}px`, width: `${part.wide}px`, height: `${part.high}px` });
    });
  }

  point(event) {
    const found = event.target.part;
    if (!found) return this.choose({});
    const zoom = this.stage.currentCSSZoom ?? 1, { left, top } = this.stage.getBoundingClientRect();
    const [x, y] = [(event.clientX - left) / zoom, (event.clientY - top) / zoom], { layout } = this;
    const isTarget = /decoder|cross|start|target/.test(found.kind), side = isTarget ? "target" : "source";
    const token = Math.round(((layout.tall ? x : y) - layout.slot(side, 0)) / layout.pitch);
    const count = (isTarget ? this.story.fed : this.story.source).length;
    const isOne = found.head === undefined && token >= 0 && token < count;
    return this.choose({ ...found, ...(isOne && { token }) });
  }

  choose({ id, kind, layer = null, head, token }) {
    const chosen = id ? { id, kind, layer, head, token } : {};
    if (JSON.stringify(chosen) === JSON.stringify(this.chosen)) return;
    this.chosen = chosen;
    this.describe();
    if (!this.frame) this.draw();
  }

  describe() {
    const { chosen, story, time } = this;
    this.readout.textContent = chosen.id ? inWords(partText(story, chosen, stepAt(story, time))) : invite(INVITATION);
  }

  open(part) {
    const chosen = this.chosen.id === part.id ? this.chosen : part;
    this.setTriggerValue("page", pageOf(this.story, chosen, stepAt(this.story, this.time)));
  }

  async saveFilm() {
    this.pause();
    this.film.disabled = true;
    const progress = (share) => (this.film.textContent = `Filming: ${Math.round(100 * share)} %`);
    try {
      await recordFilm(this.story, { dark: isDark(this.canvas), family: this.family }, progress);
    } catch {
      this.readout.textContent = "This browser cannot make films.";
    }
    Object.assign(this.film, { disabled: false, textContent: "Save as film" });
  }
}

export default mounted(WholePass);
