// The whole pass as a moving picture: one clock, one canvas, and over it a button for each part of the model.

import { offerDownload } from "../export/menu.js";
import { widthOf } from "../export/pictures.js";
import { button, isDark, prepare } from "../lib/canvas.js";
import { unpackFacts } from "../lib/facts.js";
import { isStill } from "../lib/motion.js";
import { Component, mounted } from "../lib/mount.js";
import { heightBelow, press } from "../lib/screen.js";
import { inWords, spoken } from "../lib/tokens.js";
import { Clock } from "./clock.js";
import { recordFilm } from "./film.js";
import { paint } from "./paint.js";
import { figureOf } from "./picture.js";
import { scene } from "./scene.js";
import { stepAt, storyOf } from "./story.js";
import { say } from "./texts.toml";
import { chapterSentence, invitation, pageOf, partText, sentenceAt, stationName } from "./words.js";

const BELOW = 164, LEAST_HIGH = 380, MOST_HIGH = 640; // pixels of what stands below the canvas, and of the canvas
const PHONE = 640, PHONE_HIGH = 560;
const MILLISECONDS_PER_STILL = 2500; // where less motion is preferred

class WholePass extends Component {
  constructor(root) {
    super(root);
    for (const name of ["stage", "parts", "film", "readout"]) this[name] = this.find(`.${name}`);
    this.canvas = this.find("canvas");
    this.chosen = {};
    this.clock = new Clock(this.find, "station", 0, MILLISECONDS_PER_STILL, {
      draw: () => this.draw(), send: (value) => this.setTriggerValue("moment", value),
      valueOf: (at) => (at === this.clock.last ? "" : String(at + 1)), // so that it plays again when it is opened anew
    });
    this.stage.onpointermove = (event) => this.point(event);
    this.stage.onpointerleave = ({ pointerType }) => pointerType === "mouse" && this.choose({});
    this.parts.onkeydown = (event) => this.move(event);
    this.film.onclick = () => this.saveFilm();
    const figure = () => figureOf(this.story, this.clock.at, this.clock.time, this.size);
    this.find(".more_controls").append(offerDownload(say("moment"), figure));
    this.whenResized(this.stage, () => this.size?.width !== this.stage.clientWidth && this.fit());
    this.listen(window, "resize", () => this.fit());
    this.ends.push(() => this.clock.leave());
  }

  // Facts: see story.js, or these as bytes. `moment` is the number of a station, from 1.
  receive(data) {
    const facts = data instanceof Uint8Array ? unpackFacts(data) : data, { clock } = this, { moment = "" } = facts;
    const id = JSON.stringify([facts.sourceTokens, facts.targetTokens, facts.width]), isOther = id !== this.id;
    if (isOther) {
      Object.assign(this, { id, story: storyOf(facts), chosen: {} });
      clock.take(this.story);
    }
    const isStation = clock.isNews(moment) && /^[1-9]\d{0,3}$/.test(moment);
    if (isStation) clock.place(Number(moment) - 1);
    else if (isOther && !isStill()) clock.rewind();
    this.fit();
    if (isOther && !isStation && !isStill()) clock.play();
  }

  fit() {
    const width = this.stage.clientWidth, high = Math.min(MOST_HIGH, heightBelow(this.stage) - BELOW);
    if (!this.story || !width) return;
    this.size = { width, height: width < PHONE ? PHONE_HIGH : Math.max(LEAST_HIGH, high), measure: widthOf };
    this.pen = prepare(this.canvas, width, this.size.height);
    this.family = getComputedStyle(this.canvas).fontFamily;
    this.draw();
  }

  draw() {
    const { pen, story, chosen, family, size, clock: { time } } = this;
    if (!pen) return;
    pen.clearRect(0, 0, size.width, size.height);
    const { shapes, parts, layout } = scene(story, time, size, chosen);
    Object.assign(this, { layout, step: stepAt(story, time) });
    paint(pen, shapes, { family });
    this.showParts(parts);
    this.showWords();
  }

  showWords() {
    const { story, clock: { at, time, timer } } = this, station = story.stations[at], isMoving = timer && !isStill();
    const words = isMoving ? chapterSentence(story, station, time) : sentenceAt(story, station);
    if (words !== this.words) this.write({ ".sentence": inWords((this.words = words).replaceAll(" %", "\u00a0%")) });
    if (at === this.shownAt && !isMoving === this.stood) return;
    Object.assign(this, { shownAt: at, stood: !isMoving });
    const name = stationName(story, station);
    this.write({ ".place": inWords(name) });
    this.clock.show(spoken(name));
    this.describe();
  }

  // Buttons over the parts; the same ones as long as there are the same parts.
  showParts(parts) {
    const shape = JSON.stringify([parts, this.step]), { children } = this.parts;
    if (shape === this.shownParts) return;
    this.shownParts = shape;
    while (children.length > parts.length) this.parts.lastChild.remove();
    while (children.length < parts.length) this.parts.append(this.partButton());
    parts.forEach((part, at) => {
      const { x, y, wide, high } = part, node = children[at];
      Object.assign(node, { about: part, ariaLabel: spoken(partText(this.story, part, this.step)) });
      Object.assign(node.style, { left: `${x}px`, top: `${y}px`, width: `${wide}px`, height: `${high}px` });
    });
  }

  // All of them are one stop of the Tab key: the arrows go from part to part.
  partButton() {
    const node = button("", () => this.open(node.about));
    node.tabIndex = this.parts.children.length ? -1 : 0;
    node.onfocus = () => node.matches(":focus-visible") && this.choose(node.about);
    node.onblur = () => this.choose({});
    return node;
  }

  move(event) {
    const by = { ArrowUp: -1, ArrowDown: 1 }[event.key], all = [...this.parts.children];
    if (!by) return;
    all[(all.indexOf(event.target) + by + all.length) % all.length].focus();
    event.preventDefault();
  }

  point({ target: { about: part }, clientX, clientY }) {
    if (!part) return this.choose({});
    const zoom = this.stage.currentCSSZoom ?? 1, { left, top } = this.stage.getBoundingClientRect();
    const across = this.layout.tall ? clientX - left : clientY - top, { story, layout } = this;
    const isTarget = /^(decoder|cross|start|target)/.test(part.kind), tokens = isTarget ? story.fed : story.source;
    const side = isTarget ? "target" : "source";
    const token = Math.round((across / zoom - layout.slot(side, 0)) / layout.pitch);
    return this.choose({ ...part, ...(part.head === undefined && token in tokens && { token }) });
  }

  choose(chosen) {
    const { id, token } = chosen;
    if (id === this.chosen.id && token === this.chosen.token) return;
    this.chosen = chosen;
    this.describe();
    if (!this.clock.timer) this.draw();
  }

  describe() {
    const { chosen, story, step } = this;
    this.readout.textContent = chosen.id ? inWords(partText(story, chosen, step)) : invitation(press());
  }

  // A finger cannot hover: its first tap reads, its second one opens.
  open(part) {
    if (press() === "tap" && this.chosen.id !== part.id) return this.choose(part);
    return this.setTriggerValue("page", pageOf(this.story, this.chosen.id === part.id ? this.chosen : part, this.step));
  }

  async saveFilm() {
    const { story, family, canvas, film } = this, { textContent: name } = film;
    this.clock.pause();
    film.disabled = true;
    try {
      await recordFilm(story, { dark: isDark(canvas), family }, (percents) => {
        film.textContent = say("filming", { percents });
      });
      film.textContent = name;
    } catch {
      film.textContent = say("no_film");
    }
    film.disabled = false;
  }
}

export default mounted(WholePass);
