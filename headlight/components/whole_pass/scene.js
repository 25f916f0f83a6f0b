// One moment of a whole pass as shapes: a pure function of the story, the time and the canvas.
//
// Shapes, in the order in which they are drawn, each with the name of its colour (paint.js) and `alpha`:
//   cells { x, y, wide, high, values, limit, upright }   some numbers of a vector
//   line { points, weight, wide }                        a cubic curve from a key to a query
//   box { x, y, wide, high, fill, stroke, round }
//   text { x, y, text, size, align, most, bold, turned, halo }
// Parts { id, kind, layer, head, x, y, wide, high } are what a visitor may point at.

import { chipText, isSpecial, shownToken } from "../lib/tokens.js";
import { columnsOf, headSquares, layOut, sentenceLines } from "./layout.js";
import { progressAt, stationAt, stepAt } from "./story.js";
import { headings, headsText, shortPercent } from "./words.js";

const LEAST_WEIGHT = 0.02; // of a line that is drawn
const FEW = 16; // keys whose lines are told apart; of more, small weights are fainter
const GHOST = 0.13; // of what is over
const MOST_HEADS = 16; // with squares of their own
const BELOW = 0.45; // of the distance of two tokens: how far a line goes around a word
const NAMES = 0.42; // of the width of the bars
const COLOURS = { encoder: "weight", cross: "weight", decoder: "prefix" };

const between = (from, until, share) => from + (until - from) * share;
const part = (share, from, until) => Math.min(1, Math.max(0, (share - from) / (until - from)));
const smooth = (share, from = 0, until = 1) => {
  const way = part(share, from, until);
  return way * way * (3 - 2 * way);
};

// The shapes and parts of a moment. chosen: the part that is pointed at, with the `token`.
export function scene(story, time, size, chosen = {}) {
  return new Scene(story, time, layOut(story, size), chosen).draw();
}

class Scene {
  constructor(story, time, layout, chosen) {
    Object.assign(this, { story, time, layout, chosen, shapes: [], parts: [] });
    this.station = story.stations[stationAt(story, time)];
    this.step = stepAt(story, time);
    this.ending = this.progress("end");
  }

  progress(id) {
    return progressAt(this.story, id, this.time);
  }

  draw() {
    this.frames();
    this.inputs();
    this.encoder();
    if (this.step >= 0) this.decoder();
    this.words();
    if (this.step >= 0) this.vocabulary();
    this.headings();
    this.squares();
    if (this.ending) this.sentences();
    return { shapes: this.shapes, parts: this.parts, layout: this.layout };
  }

  add(kind, look) {
    const { alpha = 1 } = look;
    if (alpha > 0.004) this.shapes.push({ kind, colour: "ink", ...look, alpha });
  }

  // A box over ranges of flow and across, in pixels of the canvas.
  box([from, until], [first, last]) {
    const [x, y] = this.layout.at(from, first), [right, bottom] = this.layout.at(until, last);
    return { x, y, wide: right - x, high: bottom - y };
  }

  // The two stacks, each in its frame, and what a visitor may point at.
  frames() {
    const { layout, story: { drawn } } = this, { source, memory, target, across } = layout;
    const put = (kind, range, layer = null) => {
      const id = layer === null ? kind : `${kind}.${layer}`;
      this.parts.push({ id, kind, layer, ...this.box(range, across) });
    };
    const stack = ({ columns }, side, layers, kindOf) => {
      const range = [columns[1].lines[0] - 2, columns.at(-1).strip[1] + 5];
      this.add("box", { ...this.box(range, across), colour: "room", fill: 0.06, stroke: 0.35, round: 8 });
      for (const layer of layout.folded ? [this.layerAtWork(side, layers)] : layers.keys()) {
        const { lines, to } = columnsOf(layout, side, layer);
        put(kindOf(layer), lines, layer);
        put(side === "source" ? "encoder mix" : "decoder mix", to, layer);
      }
    };
    put("words", source.words);
    put(this.progress("positions") ? "positions" : "embedding", source.columns[0].strip);
    stack(source, "source", drawn.encoder, () => "encoder");
    put("memory", memory);
    put("start", target.words);
    put("target numbers", target.columns[0].strip);
    const { kind, layer: now } = this.station;
    stack(target, "target", drawn.decoder, (layer) => (kind === "decoder" && layer === now ? "decoder" : "cross"));
  }

  // Of a folded stack, the drawn layer at work: the first one before it begins, the last one afterwards.
  layerAtWork(side, { length }) {
    const { layer, kind } = this.station, isHere = (side === "source") === kind.startsWith("encoder");
    if (layer !== null && isHere) return layer;
    return this.progress(side === "source" ? "encoder.0" : "decoder.0") ? length - 1 : 0;
  }

  // Some numbers of a token at a point, as far as they have grown, moved along the flow.
  strip(side, [from, until], token, point, { grown = 1, alpha = 1, moved = 0 } = {}) {
    if (!grown) return;
    const { layout: { thick, slot, tall }, story: { columns } } = this, across = slot(side, token);
    const range = [from + moved, between(from, until, grown) + moved];
    const values = columns[side].at(point, token), limit = columns[side].limit(point);
    const box = this.box(range, [across - thick / 2, across + thick / 2]);
    this.add("cells", { ...box, alpha, upright: tall, values, limit, about: { side, point, token } });
  }

  // Lines from all keys to one query, as far as they have grown; layer null stands for the mean of all.
  fan(kind, layer, query, { from, to, grown, alpha = this.presence(kind, layer) }) {
    const { story, layout, chosen } = this, sides = kind === "encoder" ? ["source", "source"] : ["target", "target"];
    const { station } = this, isAtWork = station.kind === kind && station.layer === layer;
    const head = isAtWork && story.hasHeads ? chosen.head ?? null : null;
    const { id, token = query } = chosen, isFaint = id === `${kind}.${layer}` && token !== query;
    const widest = Math.max(1.5, Math.min(5, 0.25 * layout.pitch)), middle = between(from, to, 0.5);
    const end = layout.slot(sides[0], query), least = 0.16 * Math.min(1, FEW / story.maps[kind].keys) ** 1.5;
    story.maps[kind].row(layer, head, query).forEach((weight, key) => {
      if (weight < LEAST_WEIGHT) return;
      const begin = layout.slot(kind === "cross" ? "source" : sides[1], key);
      // A straight line from the memory would strike the written token through.
      const bow = kind === "cross" && begin === end ? BELOW * layout.pitch : 0;
      const way = [[from, begin], [middle, begin + bow], [middle, end + bow], [to, end]];
      const points = way.map((place) => layout.at(...place));
      this.add("line", {
        points: cut(points, grown), weight, wide: 0.7 + Math.min(1, 1.6 * weight) * widest, colour: COLOURS[kind],
        alpha: alpha * (isFaint ? GHOST : 1) * Math.min(1, least + 1.3 * weight),
        about: { kind, layer, head, query, key },
      });
    });
  }

  // Of the lines of a layer: full while it is at work, then faint.
  presence(kind, layer) {
    if (this.chosen.id === `${kind}.${layer}`) return 1;
    const { until } = this.story.byId.get(`${kind === "encoder" ? "encoder" : "decoder"} mix.${layer}`);
    return between(1, GHOST, part(this.time, until - 0.15, until + 0.35));
  }

  // The embeddings, and the positions that slide into them.
  inputs() {
    const { story, layout } = this, first = layout.source.columns[0].strip, added = this.progress("positions");
    const embedded = this.progress("embedding"), count = story.source.length, size = Math.min(14, 0.8 * layout.pitch);
    if (layout.folded && this.progress("encoder.1")) return;
    for (let token = 0; token < count; token++) {
      const begin = (0.5 * token) / count, isSum = added > 0.85 || this.progress("encoder.0");
      this.strip("source", first, token, isSum ? 2 : 0, { grown: smooth(embedded, begin, begin + 0.5) });
      if (!added || isSum) continue;
      const moved = (first[1] - first[0] + 16) * (1 - smooth(added, 0.6, 0.85)), alpha = part(added, 0, 0.15);
      this.strip("source", first, token, 1, { moved, alpha });
      const [x, y] = layout.at(first[1] + 8, layout.slot("source", token));
      if (added < 0.6) this.add("text", { x, y: y + 0.35 * size, text: "+", size, align: "center", alpha });
    }
  }

  encoder() {
    const { story, layout } = this, { folded } = layout, last = story.drawn.encoder.length - 1;
    const tokens = [...story.source.keys()];
    story.drawn.encoder.forEach((_, layer) => {
      const attention = this.progress(`encoder.${layer}`), mixed = this.progress(`encoder mix.${layer}`);
      if (!attention || (folded && this.progress(`encoder.${layer + 1}`))) return;
      const { from, to } = columnsOf(layout, "source", layer), slides = folded && layer > 0, before = slides ? 0.2 : 0;
      const moved = (1 - smooth(attention, 0, 0.2)) * (to[0] - from[0]), after = 3 + 2 * layer;
      const grown = smooth(attention, before, 0.7), now = mixed < 0.5 ? after : after + 1;
      const point = layer === last && this.progress("memory") ? story.columns.source.last : now;
      for (const token of tokens) {
        if (slides) this.strip("source", from, token, after - 1, { moved });
        this.fan("encoder", layer, token, { from: from[1] + 2, to: to[0] - 2, grown });
        this.hidden(to, layout.slot("source", token), mixed);
        this.strip("source", to, token, point, { grown: smooth(attention, 0.55, 0.95) });
      }
    });
    const alpha = smooth(this.progress("memory"), 0, 0.4), [from, until] = layout.source.columns.at(-1).strip;
    const margin = layout.thick / 2 + 4, ends = [layout.slot("source", 0), layout.slot("source", tokens.length - 1)];
    const box = this.box([from - 3, until + 3], [ends[0] - margin, ends[1] + margin]);
    this.add("box", { ...box, colour: "weight", fill: 0, stroke: 1, round: 4, alpha });
  }

  // The feed-forward: each column for itself, wider on its way.
  hidden([from, until], across, mixed) {
    const wide = mixed === 1 ? 0 : Math.sin(Math.PI * mixed), more = 0.35 * (until - from) * wide;
    const { thick, pitch } = this.layout, high = Math.min(pitch - 3, thick * (1 + 0.5 * wide)) / 2;
    const box = this.box([from - more, until + more], [across - high, across + high]);
    this.add("box", { ...box, colour: "mix", fill: 0.25, stroke: 0.8, round: 6, alpha: wide });
  }

  // The tokens that are written, and the one that is being computed.
  decoder() {
    const { story, layout, step } = this, { columns } = layout.target, { last } = story.columns.target;
    const pointAt = (at) => (at === 0 ? 2 : at === columns.length - 1 ? last : 2 + 3 * at);
    for (let row = 0; row < (this.ending ? step + 1 : step); row++) {
      columns.forEach(({ strip }, at) => this.strip("target", strip, row, pointAt(at), { alpha: 0.55 }));
    }
    if (this.ending) return;
    if (step === 0) return void this.firstStep();
    const done = this.progress(this.station.id), layers = layout.folded ? [null] : story.drawn.decoder.keys();
    columns.forEach(({ strip }, at) => {
      const begin = at ? 0.28 + (0.25 * at) / columns.length : 0;
      this.strip("target", strip, step, pointAt(at), { grown: smooth(done, begin, begin + 0.15) });
    });
    const grown = smooth(done, 0.08, 0.35), alpha = between(1, 0.35, part(done, 0.8, 1));
    for (const layer of layers) {
      const { from: before, to } = columnsOf(layout, "target", layer ?? 0), from = this.fansFrom(before);
      for (const kind of ["decoder", "cross"]) {
        this.fan(kind, layer, step, { from: from[kind], to: to[0] - 2, grown, alpha });
      }
    }
  }

  // Where the lines to a column of the decoder begin: at the column before it, and at the memory.
  fansFrom(before) {
    return { decoder: before[1] + 2, cross: this.layout.source.columns.at(-1).strip[1] + 4 };
  }

  // The first output token, layer by layer.
  firstStep() {
    const { story, layout } = this, { folded } = layout, last = story.drawn.decoder.length - 1;
    const grown = smooth(this.progress("start"), 0.5, 1);
    if (!folded || !this.progress("decoder.1")) this.strip("target", layout.target.columns[0].strip, 0, 2, { grown });
    story.drawn.decoder.forEach((_, layer) => {
      const [self, cross, mixed] = ["decoder", "cross", "decoder mix"].map((kind) => this.progress(`${kind}.${layer}`));
      if (!self || (folded && this.progress(`decoder.${layer + 1}`))) return;
      const { from, to } = columnsOf(layout, "target", layer), after = 3 + 3 * layer, begin = this.fansFrom(from);
      if (folded && layer) this.strip("target", from, 0, after - 1);
      const looks = [["decoder", self], ["cross", cross]].filter(([, done]) => done);
      for (const [kind, done] of looks) {
        this.fan(kind, layer, 0, { from: begin[kind], to: to[0] - 2, grown: smooth(done, 0, 0.7) });
      }
      this.hidden(to, layout.slot("target", 0), mixed);
      const isMixed = mixed >= 0.5, now = isMixed ? after + 2 : cross > 0.7 ? after + 1 : after;
      const point = isMixed && layer === last ? story.columns.target.last : now;
      this.strip("target", to, 0, point, { grown: smooth(self, 0.55, 0.95) });
    });
  }

  // The source, first as a sentence, then as tokens in their places; and what is written.
  words() {
    const { story, layout, step } = this, gone = this.progress("words"), tokens = story.names.source;
    const { letters } = layout;
    const start = sentenceLines(tokens, layout, 0.4), flow = layout.source.words[1];
    tokens.forEach((token, at) => {
      const begin = 0.4 + (0.25 * at) / tokens.length, share = smooth(gone, begin, begin + 0.35);
      const alpha = isSpecial(token) ? share : 1, text = chipText(token);
      const across = layout.slot("source", at), [toX, toY] = layout.at(flow, across);
      if (share === 1 || alpha < 1) return this.label(story.source[at], [flow, across], { alpha });
      const { x, y, size } = start[at], now = between(size, letters, share);
      const left = layout.tall ? toX : toX - layout.measure(text, letters);
      const most = Math.min(layout.width - 4 - Math.max(x, left), 1.2 * layout.measure(text, now));
      const place = { x: between(x, left, share), y: between(y, toY, share) + 0.35 * now };
      return this.add("text", { ...place, text, size: now, align: "left", most });
    });
    for (let row = 0; row <= step; row++) {
      const alpha = row ? 1 : smooth(this.progress("start"), 0, 0.4);
      this.label(story.fed[row], [layout.target.words[1], layout.slot("target", row)], { alpha, halo: true });
    }
  }

  label(text, place, look) {
    const { tall, letters: size, at, source: { words: [from, until] } } = this.layout, [x, y] = at(...place);
    const where = tall ? { x: x + 0.35 * size, y, align: "left" } : { x, y: y + 0.35 * size, align: "right" };
    this.add("text", { ...where, text, size, most: until - from, turned: tall, ...look });
  }

  // The candidates of the step, and the winner on its way to its place.
  vocabulary() {
    const { story, layout, step } = this, { tall } = layout, isFirst = step === 0;
    const done = this.progress(this.station.id);
    const later = this.station.kind === "step" ? part(done, 0.45, 0.7) : 1;
    const shown = isFirst && !this.ending ? this.progress("vocabulary") : later;
    if (!shown) return;
    const box = this.barsBox(step), { rows } = story.steps[step], high = box.high / (rows.length + 0.4);
    const names = NAMES * box.wide, room = box.wide - names - 46, size = Math.min(13, 0.62 * high);
    const from = layout.at(layout.target.columns.at(-1).strip[1] + 2, layout.slot("target", step));
    const bend = between(from[0], box.x, 0.5), alpha = part(shown, 0.15, 0.4);
    rows.forEach(({ token, probability, isTaken }, at) => {
      const top = box.y + (at + 0.2) * high, middle = top + high / 2, left = box.x + names + 4;
      const points = cut([from, [bend, from[1]], [bend, middle], [box.x, middle]], smooth(shown, 0, 0.4));
      const look = { weight: probability, wide: 0.6 + 3 * probability, alpha: 0.15 + 0.6 * probability };
      if (!tall) this.add("line", { ...look, points, colour: "probability", about: { step, candidate: at } });
      const words = { size, bold: isTaken, alpha, y: middle + 0.35 * size };
      const wide = Math.max(1, room * probability * smooth(shown, 0.3, 0.8));
      this.add("text", { ...words, x: box.x + 2, text: shownToken(token), align: "left", most: names - 2 });
      const bar = { x: left, y: top + 0.14 * high, wide, high: 0.72 * high, round: 2 };
      this.add("box", { ...bar, colour: "probability", fill: isTaken ? 0.9 : 0.4, alpha });
      this.add("text", { ...words, x: left + wide + 4, text: shortPercent(probability), align: "left", most: 42 });
    });
    this.parts.push({ id: "vocabulary", kind: "vocabulary", layer: null, ...box });
    const taken = rows.findIndex(({ isTaken }) => isTaken), begin = [box.x + names, box.y + (taken + 0.7) * high];
    this.flight(begin, isFirst ? this.progress("winner") : part(done, 0.78, 1));
  }

  barsBox(step) {
    const { bars, tall, slot, head, height } = this.layout, y = slot("target", step) - bars.high / 2;
    return tall ? bars : { ...bars, y: Math.min(Math.max(y, head), height - bars.high - 4) };
  }

  flight([fromX, fromY], done) {
    const { layout, step, story } = this, text = story.fed[step + 1], size = layout.letters, share = smooth(done);
    if (!done || done === 1 || text === undefined || this.ending) return;
    const [toX, toY] = layout.at(layout.target.words[1], layout.slot("target", step + 1));
    const lift = layout.tall ? 0 : 4 * share * (1 - share) * Math.min(26, fromY - layout.head);
    const x = between(fromX, toX, share), y = between(fromY, toY, share) - lift + 0.35 * size;
    const most = Math.min(110, x - 2);
    this.add("text", { x, y, text, size, align: "right", bold: true, colour: "probability", most, halo: true });
  }

  headings() {
    const { layout, story } = this, alpha = 1 - 0.85 * part(this.ending, 0, 0.3);
    for (const { text, range: [from, until], bold, line } of headings(story, layout, this)) {
      const look = { text, size: bold ? 13 : 12, bold, alpha, colour: bold ? "ink" : "faint" };
      const x = between(from, until, 0.5), most = Math.min(until - from + 50, 2 * Math.min(x, layout.width - x) - 4);
      if (!layout.tall) this.add("text", { ...look, x, y: 15 + 16 * line, align: "center", most });
      else this.add("text", { ...look, x: 2, y: from + 11 + 14 * line, align: "left", most: layout.head - 8 });
    }
  }

  // The heads of the layer at work, each a square to point at.
  squares() {
    const { story, layout, chosen, station: { kind, layer } } = this, colour = COLOURS[kind];
    if (!colour || !story.hasHeads || story.heads > MOST_HEADS) return;
    const { lines } = columnsOf(layout, kind === "encoder" ? "source" : "target", layer);
    headSquares(layout, lines, story.heads).forEach((box, head) => {
      this.add("box", { ...box, colour, fill: chosen.head === head ? 1 : 0.3, stroke: 1, round: 2 });
      this.parts.push({ id: `head ${head}`, kind, layer, head, ...box });
    });
    const { x, y, wide, high } = this.parts.at(-1);
    const look = { text: headsText(story), size: 11, colour: "faint", align: "left", most: 60 };
    if (!layout.tall) this.add("text", { ...look, x: x + wide + 4, y: y + high });
  }

  // Both sentences over the whole, which steps back.
  sentences() {
    const { story: { names }, layout } = this, alpha = smooth(this.ending, 0.15, 0.6);
    for (const shape of this.shapes) shape.alpha *= 1 - 0.95 * alpha;
    const both = [[names.source, 0.32, false, "faint"], [names.next, 0.58, true, "probability"]];
    for (const [all, share, bold, colour] of both) {
      const tokens = all.filter((token) => !isSpecial(token));
      sentenceLines(tokens, layout, share, bold).forEach(({ x, y, size, most }, at) => {
        const text = chipText(tokens[at]);
        this.add("text", { x, y: y + 0.35 * size, text, size, align: "left", most, alpha, bold, colour });
      });
    }
  }
}

// The beginning of a cubic curve, as far as a share of it.
function cut(points, share) {
  if (share >= 1) return points;
  const mix = (list) => list.slice(1).map((to, at) => to.map((value, axis) => between(list[at][axis], value, share)));
  const once = mix(points), twice = mix(once), [end] = mix(twice);
  return [points[0], once[0], twice[0], end];
}
