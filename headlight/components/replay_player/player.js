// The training replay, one snapshot at a time, drawn from the facts of a training (see story.js).
// Token text is hostile until it is set as text.

import { offerPicture } from "../export/capture.js";
import { element } from "../lib/canvas.js";
import { decodeFacts } from "../lib/facts.js";
import { Component, mounted } from "../lib/mount.js";
import { Playhead } from "../lib/playback.js";
import { Overview, everyHead } from "../lib/thumbnails.js";
import { chipRow, inWords } from "../lib/tokens.js";
import { percentInCell } from "../lib/words.js";
import { Curve } from "./curves.js";
import { HeadMap } from "./head_map.js";
import { replayFigure, headFigure } from "./picture.js";
import { Snapshots, SnapshotStrip } from "./snapshots.js";
import { mostChanged, storyOf } from "./story.js";
import { say } from "./texts.toml";

const MILLISECONDS_PER_SNAPSHOT = 700;
const NEWEST = -1; // in the address: the end of a replay that grows, as in show.py
const HALF_A_THUMB = 8; // of the slider
const CURVE_HEIGHT = 112, LOW_CURVE_HEIGHT = 82; // pixels, beside one another and below one another

class Player extends Component {
  constructor(root) {
    super(root);
    this.playhead = new Playhead(this.find, "snapshot", 0, MILLISECONDS_PER_SNAPSHOT, {
      draw: () => this.show(),
      valueOf: (at) => (this.data.following && at === this.playhead.last ? NEWEST : this.data.steps[at]),
      send: (step) => this.setTriggerValue("step", step),
    });
    this.playhead.startAnew();
    this.find(".timeline").prepend(this.find(".slider"));
    this.find(".slider").setAttribute("aria-label", say("slider"));
    this.seek = (snapshot) => this.playhead.seek(snapshot);
    this.strip = new SnapshotStrip(this.find(".strip"), this.seek);
    this.overview = new Overview(this.find(".all"), {
      look: (tile, cell) => this.look(cell && { layer: tile.layer, head: tile.head, ...cell }),
      choose: (_, heads) => heads.length === 1 && this.setTriggerValue("head", [heads[0].layer, heads[0].head]),
    });
    this.map = new HeadMap(this.find(".large"), (text) => (this.find(".head .readout").textContent = inWords(text)));
    const offer = (place, label, figure, element, draw) => {
      const elements = () => [this.find(element)];
      this.find(place).append(offerPicture(label, figure, this.find(".player"), elements, draw));
    };
    const replay = () => replayFigure(this.data, this.snapshots);
    const map = () => headFigure(this.data, this.snapshots, this.playhead.at);
    offer(".controls", say("download_all"), replay, ".strip", () => this.drawStrip());
    offer(".head .title", say("download"), map, "table.map", () => this.drawMap());
    this.curves = [];
    this.whenResized(this.find(".player"), () => this.data && this.arrange());
    this.ends.push(() => this.playhead.leave());
  }

  // { facts, layer, head, best, step, following, autoplay }: see story.js.
  receive({ facts, layer, head, ...state }) {
    const decoded = decodeFacts(facts);
    const most = layer === undefined ? mostChanged(decoded) : { layer, head };
    const data = { ...storyOf(decoded, most.layer, most.head), ...state };
    // The update at hand: in a replay that grows, snapshots may be dropped.
    const step = this.data?.steps[this.playhead.at];
    const atTheEnd = this.data?.following && this.playhead.at === this.playhead.last;
    this.data = data;
    this.snapshots = new Snapshots(data);
    this.playhead.last = data.steps.length - 1;
    const stay = atTheEnd ? NEWEST : step;
    this.playhead.place(this.nearest(this.playhead.isNews(data.step) ? data.step : stay));
    this.layOut();
    this.arrange();
    if (data.autoplay && step === undefined) this.playhead.playOnArrival();
  }

  nearest(step) {
    if (step === NEWEST) return this.playhead.last;
    const distances = this.data.steps.map((other) => Math.abs(other - step));
    return distances.indexOf(Math.min(...distances));
  }

  // The same for all snapshots

  layOut() {
    const { data } = this;
    this.write({
      ".source": data.sourceText, ".target span": data.targetText, ".head h2": `${data.kindName}, ${data.name}`,
      ".axes": data.axes, ".asks": data.best ? `● ${data.best.words}` : say("choose"),
    });
    this.find(".stage").classList.toggle("live", data.following);
    const { chips, items } = chipRow(data.targetTokens, () => element("span", "bar", element("i")));
    this.chips = chips;
    this.find(".chips").replaceChildren(...items);
    this.curves = data.curves.map((_, index) => this.curves[index] ?? new Curve(this.seek));
    this.curves.forEach((curve, index) => curve.receive(data.curves[index], data));
    this.find(".curves").replaceChildren(...this.curves.map((curve) => curve.figure));
  }

  // Fit everything to the room there is.
  arrange() {
    const height = this.data.following ? LOW_CURVE_HEIGHT : CURVE_HEIGHT;
    for (const curve of this.curves) curve.layOut(curve.figure.clientWidth, height);
    this.show();
  }

  // One snapshot

  show() {
    const { data } = this, current = this.playhead.at, now = data.texts[current];
    this.playhead.show(now.spoken);
    this.write({
      ".place": now.place, ".text": now.wrote, ".more": now.more, ".target b": now.right ? say("exactly") : "",
      ".now": `${now.head} ${data.course}`.trimEnd(),
    });
    this.showChances();
    this.curves.forEach((curve) => curve.show(current));
    this.drawStrip();
    const slider = this.find(".slider").style, margin = this.strip.edge - HALF_A_THUMB;
    slider.marginInline = `${margin}px`; // so that the thumb stands above its frame
    slider.width = `calc(100% - ${2 * margin}px)`;
    this.drawOverview();
    this.drawMap();
  }

  drawStrip() {
    this.strip.draw(this.data, this.snapshots, this.playhead.at, Math.floor(this.find(".timeline").clientWidth));
  }

  drawMap() {
    this.map.draw(this.data, this.snapshots, this.playhead.at, this.find(".large").clientWidth);
  }

  drawOverview() {
    const { data, snapshots } = this, current = this.playhead.at, { layers, heads } = data;
    const group = {
      layers, heads, rows: snapshots.rows, columns: snapshots.columns,
      members: everyHead(data), sorted: false, captions: 0,
      mapOf: (tile) => snapshots.map(current, tile),
    };
    const isIn = (one) => ({ layer, head }) => layer === one?.layer && head === one?.head;
    const label = say("heads", { layers, heads, place: data.texts[current].place });
    const marks = { isChosen: isIn(data), isBest: isIn(data.best) };
    this.overview.draw({ groups: [group], ...marks, label }, this.find(".heads").clientWidth);
    this.look(this.looked);
  }

  // Read out the cell under the pointer, {layer, head, row, column} or null.
  look(cell) {
    this.looked = cell;
    this.find(".heads .readout").textContent = cell ? inWords(this.snapshots.cellText(this.playhead.at, cell)) : "";
  }

  showChances() {
    const { shape: [, count], weights } = this.data.probabilities, from = this.playhead.at * count;
    this.chips.forEach((chip, position) => {
      const chance = weights[from + position];
      chip.querySelector("i").style.width = `${(chance * 100).toFixed(1)}%`;
      chip.lastChild.textContent = percentInCell(chance);
    });
  }
}

export default mounted(Player);
