// One moment of a whole pass as shapes: a pure function of the story, the time and the canvas.
//
// Shapes, in the order in which they are drawn, with colours by name (paint.js):
//   cells { x, y, wide, high, values, limit, upright }   some numbers of a vector
//   line { points, weight, wide }                        a cubic curve from a key to a query
//   box { x, y, wide, high, fill, stroke, round }
//   text { x, y, text, size, align, most, bold, turned }
// each with `colour` and `alpha`. Parts { id, kind, layer, head, x, y, wide, high } are what a visitor may point at.

import { chipText, isSpecial } from "../lib/tokens.js";
import { columnsOf, headSquares, layOut } from "./layout.js";
import { progressAt, stationAt, stepAt } from "./story.js";
import { headings, shortPercent } from "./words.js";

const LEAST_WEIGHT = 0.02; // of a line that is drawn
const GHOST = 0.13; // of what is over
const MOST_HEADS = 16; // with squares of their own
const CONFIRMED = { encoder: "encoder mix", decoder: "decoder mix", cross: "decoder mix" };

const between = (from, until, share) => from + (until - from) * share;
const part = (share, from, until) => Math.min(1, Math.max(0, (share - from) / (until - from)));
const ease = (share) => share * share * (3 - 2 * share);

// The shapes and parts of a moment. chosen: { id, token, head } of the part that is pointed at.
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
    this.encoder();
    this.decoder();
    this.words();
    this.writtenWords();
    if (this.step >= 0) this.vocabulary();
    this.headings();
    this.squares();
    if (this.ending) this.sentences();
    return { shapes: this.shapes, parts: this.parts, layout: this.layout };
  }

  add(kind, look) {
    const { alpha = 1 } = look;
    if (alpha > 0.004) this.shapes.push({ kind, alpha: 1, colour: "ink", ...look });
  }

  // A box over ranges of flow and across, in pixels of the canvas.
  box([from, until], [first, last]) {
    const [x, y] = this.layout.at(from, first), [right, bottom] = this.layout.at(until, last);
    return { x, y, wide: right - x, high: bottom - y };
  }

  // The two stacks, each in its frame, and what a visitor may point at.
  frames() {
    const { layout, story } = this, { source, memory, target, across } = layout;
    for (const side of [source, target]) {
      const range = [side.columns[1].lines[0] - 2, side.columns.at(-1).strip[1] + 5];
      this.add("box", { ...this.box(range, across), colour: "grey", fill: 0.06, stroke: 0.35, round: 8 });
    }
    const all = (id, kind, range, layer = null) => this.parts.push({ id, kind, layer, ...this.box(range, across) });
    const numbered = (count) => (layout.folded ? [this.layerNow(count)] : [...count.keys()]);
    all("words", "words", source.words);
    all("embedding", story.facts.positioned && this.time >= story.byId.get("positions").from ? "positions" : "embedding",
      source.columns[0].strip);
    for (const layer of numbered(story.drawn.encoder)) {
      const { lines, to } = columnsOf(layout, "source", layer);
      all(`encoder.${layer}`, "encoder", lines, layer);
      all(`encoder mix.${layer}`, "encoder mix", to, layer);
    }
    all("memory", "memory", memory);
    all("start", "start", target.words);
    all("target numbers", "target numbers", target.columns[0].strip);
    for (const layer of numbered(story.drawn.decoder)) {
      const { lines, to } = columnsOf(layout, "target", layer), kind = this.kindIn(layer);
      all(`${kind}.${layer}`, kind, lines, layer);
      all(`decoder mix.${layer}`, "decoder mix", to, layer);
    }
  }

  // Of a folded stack, the drawn layer that is at work, the last one after all.
  layerNow(drawn) {
    const { layer, kind } = this.station, isHere = (drawn === this.story.drawn.encoder) === kind.startsWith("encoder");
    if (layer !== null && isHere) return layer;
    return drawn === this.story.drawn.decoder && this.step < 0 ? 0 : drawn.length - 1;
  }

  // The attention of a decoder layer that the lines before its column show.
  kindIn(layer) {
    return this.station.layer === layer && this.station.kind === "decoder" ? "decoder" : "cross";
  }

  strip(side, column, token, point, look = {}) {
    const { layout, story } = this, { thick } = layout, { columns } = story, across = layout.slot(side, token);
    const { grown = 1, alpha = 1, moved = 0 } = look, [from, until] = column;
    const range = [from + moved, between(from, until, grown) + moved];
    this.add("cells", {
      ...this.box(range, [across - thick / 2, across + thick / 2]), alpha, upright: layout.tall,
      values: columns[side].at(point, token), limit: columns[side].limit(point), about: { side, point, token },
    });
  }

  // Lines from the keys to one query, as far as they have grown.
  fan({ kind, layer, query, from, to, grown, alpha, keySide, querySide, colour }) {
    const { story, layout, chosen } = this, { head = null } = chosen;
    const isChosen = chosen.id === `${kind}.${layer}`, mine = isChosen || this.isActive(kind, layer);
    const row = story.maps[kind].row(layer, mine && story.hasHeads ? head : null, query);
    const dims = isChosen && chosen.token !== undefined && chosen.token !== query ? GHOST : 1;
    const widest = Math.max(1.5, Math.min(5, 0.25 * layout.pitch)), end = layout.slot(querySide, query);
    row.forEach((weight, key) => {
      if (weight < LEAST_WEIGHT) return;
      const curve = [[from, 0], [between(from, to, 0.5), 0], [between(from, to, 0.5), 1], [to, 1]];
      const begin = layout.slot(keySide, key);
      const points = cut(curve.map(([flow, share]) => layout.at(flow, between(begin, end, share))), grown);
      this.add("line", {
        points, weight, wide: 0.7 + Math.min(1, 1.6 * weight) * widest, colour,
        alpha: alpha * dims * Math.min(1, 0.16 + 1.3 * weight),
        about: { kind, layer, head: mine ? head : null, query, key },
      });
    });
  }

  isActive(kind, layer) {
    return this.station.kind === kind && this.station.layer === layer;
  }

  // Of a layer: full while it is at work, then faint.
  presence(kind, layer) {
    const end = this.story.byId.get(`${CONFIRMED[kind]}.${layer}`).until;
    const over = part(this.time, end - 0.15, end + 0.35);
    return this.chosen.id === `${kind}.${layer}` ? 1 : between(1, GHOST, over);
  }

  encoder() {
    const { story, layout } = this, tokens = [...story.source.keys()], { folded } = layout;
    this.inputs(tokens);
    story.drawn.encoder.forEach((_, layer) => {
      const attention = this.progress(`encoder.${layer}`), mixed = this.progress(`encoder mix.${layer}`);
      const isLast = layer === story.drawn.encoder.length - 1, after = this.progress(`encoder.${layer + 1}`) > 0;
      if (!attention || (folded && after)) return;
      const { from, to } = columnsOf(layout, "source", layer), point = 3 + 2 * layer;
      if (folded && layer) {
        const moved = (1 - ease(part(attention, 0, 0.2))) * (to[0] - from[0]);
        for (const token of tokens) this.strip("source", from, token, point - 1, { moved });
      }
      const ends = { from: from[1] + 2, to: to[0] - 2, grown: ease(part(attention, folded && layer ? 0.2 : 0, 0.7)) };
      const alpha = this.presence("encoder", layer), sides = { keySide: "source", querySide: "source", colour: "weight" };
      for (const query of tokens) this.fan({ kind: "encoder", layer, query, ...ends, alpha, ...sides });
      this.hidden(to, tokens.map((token) => layout.slot("source", token)), mixed);
      const now = mixed < 0.5 ? point : isLast && this.progress("memory") ? story.columns.source.last : point + 1;
      const grown = ease(part(attention, 0.55, 0.95));
      if (grown) for (const token of tokens) this.strip("source", to, token, now, { grown });
    });
    const kept = ease(part(this.progress("memory"), 0, 0.4)), [from, until] = layout.source.columns.at(-1).strip;
    const ends = [layout.slot("source", 0), layout.slot("source", tokens.length - 1)], margin = layout.thick / 2 + 4;
    const box = this.box([from - 3, until + 3], [ends[0] - margin, ends[1] + margin]);
    this.add("box", { ...box, colour: "weight", fill: 0, stroke: 1, round: 4, alpha: kept });
  }

  // The embeddings, and the positions that slide into them.
  inputs(tokens) {
    const { story, layout } = this, first = layout.source.columns[0].strip, added = this.progress("positions");
    const embedded = this.progress("embedding"), isOver = layout.folded && this.progress("encoder.1");
    if (isOver) return;
    tokens.forEach((token, at) => {
      const own = ease(part(embedded, (0.5 * at) / tokens.length, (0.5 * at) / tokens.length + 0.5));
      if (own) this.strip("source", first, token, added > 0.85 || this.progress("encoder.0") ? 2 : 0, { grown: own });
      if (!added || added >= 0.85) return;
      const away = (first[1] - first[0] + 16) * (1 - ease(part(added, 0.6, 0.85)));
      this.strip("source", first, token, 1, { moved: away, alpha: part(added, 0, 0.15) });
      if (added > 0.6) return;
      const [x, y] = layout.at(first[1] + 8, layout.slot("source", token));
      const size = Math.min(14, 0.8 * layout.pitch);
      this.add("text", { x, y: y + 0.35 * size, text: "+", size, align: "center", alpha: part(added, 0.05, 0.2) });
    });
  }

  // The feed-forward: each column for itself, wider on its way.
  hidden([from, until], slots, mixed) {
    const wide = Math.sin(Math.PI * mixed), { thick, pitch } = this.layout, more = 0.35 * (until - from) * wide;
    if (!mixed || mixed === 1) return;
    const high = Math.min(pitch - 3, thick * (1 + 0.5 * wide)) / 2;
    for (const across of slots) {
      const box = this.box([from - more, until + more], [across - high, across + high]);
      this.add("box", { ...box, colour: "mix", fill: 0.25, stroke: 0.8, round: 6, alpha: wide });
    }
  }

  decoder() {
    const { story, layout, step } = this, last = story.columns.target.last, { columns } = layout.target;
    if (step < 0) return;
    const before = step + (this.ending ? 1 : 0);
    for (let row = 0; row < before; row++) {
      columns.forEach(({ strip }, at) => {
        const point = at === 0 ? 2 : at === columns.length - 1 ? last : 2 + 3 * at;
        this.strip("target", strip, row, point, { alpha: 0.55 });
      });
    }
    if (this.ending) return;
    if (step === 0) this.firstStep();
    else this.laterStep();
  }

  // The first output token, layer by layer.
  firstStep() {
    const { story, layout } = this, input = layout.target.columns[0].strip, { folded } = layout;
    const start = ease(part(this.progress("start"), 0.5, 1));
    if (!(folded && this.progress("decoder.1"))) this.strip("target", input, 0, 2, { grown: start });
    story.drawn.decoder.forEach((_, layer) => {
      const self = this.progress(`decoder.${layer}`), cross = this.progress(`cross.${layer}`);
      const mixed = this.progress(`decoder mix.${layer}`), isLast = layer === story.drawn.decoder.length - 1;
      if (!self || (folded && this.progress(`decoder.${layer + 1}`))) return;
      const { from, to } = columnsOf(layout, "target", layer), point = 3 + 3 * layer;
      if (folded && layer) this.strip("target", from, 0, point - 1);
      const common = { layer, query: 0, to: to[0] - 2, querySide: "target" };
      this.fan({
        ...common, kind: "decoder", from: from[1] + 2, grown: ease(part(self, 0, 0.7)), keySide: "target", colour: "prefix",
        alpha: this.presence("decoder", layer),
      });
      if (cross) {
        const from = layout.source.columns.at(-1).strip[1] + 4, alpha = this.presence("cross", layer);
        this.fan({ ...common, kind: "cross", from, grown: ease(part(cross, 0, 0.7)), keySide: "source", colour: "weight", alpha });
      }
      this.hidden(to, [layout.slot("target", 0)], mixed);
      const now = mixed >= 0.5 ? (isLast ? story.columns.target.last : point + 2) : cross > 0.7 ? point + 1 : point;
      this.strip("target", to, 0, now, { grown: ease(part(self, 0.55, 0.95)) });
    });
  }

  // A later token: all layers at once, with their mean weights.
  laterStep() {
    const { layout, story, step } = this, done = this.progress(this.station.id), { columns } = layout.target;
    columns.forEach(({ strip }, at) => {
      const begin = at ? 0.28 + (0.25 * at) / columns.length : 0, grown = ease(part(done, begin, begin + 0.15));
      const point = at === 0 ? 2 : at === columns.length - 1 ? story.columns.target.last : 2 + 3 * at;
      if (grown) this.strip("target", strip, step, point, { grown });
    });
    const to = columns[1].strip[0] - 2, common = { layer: null, query: step, to, querySide: "target" };
    const alpha = between(1, 0.35, part(done, 0.8, 1));
    const grown = ease(part(done, 0.08, 0.35)), from = layout.source.columns.at(-1).strip[1] + 4;
    const own = { kind: "decoder", from: columns[0].strip[1] + 2, keySide: "target", colour: "prefix" };
    for (const kind of [own, { kind: "cross", from, keySide: "source", colour: "weight" }]) {
      this.fan({ ...common, ...kind, grown, alpha });
    }
  }

  label(text, [flow, across], look = {}) {
    const { layout } = this, { size = layout.letters } = look, { tall } = layout;
    const [x, y] = layout.at(flow, across), room = layout.source.words[1] - layout.source.words[0];
    const place = tall ? { x: x + 0.35 * size, y } : { x, y: y + 0.35 * size };
    this.add("text", { ...place, text, size, align: tall ? "left" : "right", most: room, turned: tall, ...look });
  }

  // The source: first a sentence, then tokens in their places.
  words() {
    const { story, layout } = this, gone = this.progress("words"), flow = layout.source.words[1], { letters } = layout;
    const tokens = story.names.source, start = sentenceLines(tokens, layout, 0.4);
    story.source.forEach((text, token) => {
      const begin = 0.4 + (0.25 * token) / tokens.length, share = ease(part(gone, begin, begin + 0.35));
      const across = layout.slot("source", token), alpha = isSpecial(tokens[token]) ? share : 1;
      if (share >= 1 || alpha < 1) return this.label(text, [flow, across], { alpha });
      const { x, y, size } = start[token], now = between(size, letters, share), [toX, toY] = layout.at(flow, across);
      const left = layout.tall ? toX : toX - layout.measure(text, letters), room = layout.width - 4;
      const most = Math.max(1, Math.min(room - x, layout.measure(text, now) * 1.2));
      this.add("text", {
        x: between(x, left, share), y: between(y, toY, share) + 0.35 * now, text: chipText(tokens[token]), size: now,
        align: "left", most,
      });
      return undefined;
    });
  }

  writtenWords() {
    const { story, layout, step } = this, flow = layout.target.words[1];
    if (step < 0) return;
    const alpha = ease(part(this.progress("start"), 0, 0.4));
    for (let row = 0; row <= step; row++) {
      this.label(story.fed[row], [flow, layout.slot("target", row)], { alpha: row ? 1 : alpha, halo: true });
    }
  }

  // The candidates of the step, and the winner on its way to its place.
  vocabulary() {
    const { story, layout, step } = this, isFirst = step === 0, { kind } = this.station;
    if (isFirst && !["vocabulary", "winner"].includes(kind) && !this.ending) return;
    const done = kind === "step" ? this.progress(this.station.id) : 0;
    const shown = this.ending ? 1 : isFirst ? this.progress("vocabulary") : part(done, 0.45, 0.7);
    if (!shown) return;
    const box = this.barsBox(step), { rows } = story.steps[step], high = box.high / (rows.length + 0.4);
    const column = layout.target.columns.at(-1).strip, from = layout.at(column[1] + 2, layout.slot("target", step));
    const names = 0.42 * box.wide, room = 0.58 * box.wide - 46, size = Math.min(13, 0.62 * high);
    rows.forEach(({ token, probability, isTaken }, at) => {
      const y = box.y + (at + 0.2) * high, left = box.x + names + 4, middle = y + high / 2;
      const target = layout.tall ? [left, y] : [box.x, middle], bend = between(from[0], target[0], 0.5);
      const curve = [from, [bend, from[1]], [bend, target[1]], target];
      if (!layout.tall) {
        this.add("line", {
          points: cut(curve, ease(part(shown, 0, 0.4))), wide: 0.6 + 3 * probability, colour: "probability",
          alpha: 0.15 + 0.6 * probability, weight: probability, about: { step, candidate: at },
        });
      }
      const grown = ease(part(shown, 0.3, 0.8)), most = names - 2, text = chipText(token);
      const look = { size, bold: isTaken, alpha: part(shown, 0.15, 0.4), y: middle + 0.35 * size };
      this.add("text", { ...look, x: box.x + names, text, align: "right", most });
      const bar = { x: left, y: y + 0.14 * high, wide: Math.max(1, room * probability * grown), high: 0.72 * high };
      this.add("box", { ...bar, colour: "probability", fill: isTaken ? 0.9 : 0.4, round: 2, alpha: part(shown, 0.2, 0.4) });
      this.add("text", { ...look, x: left + bar.wide + 4, text: shortPercent(probability), align: "left", most: 42 });
    });
    this.parts.push({ id: "vocabulary", kind: "vocabulary", layer: null, ...box });
    if (!this.ending) this.flight(box, high, rows, isFirst ? this.progress("winner") : part(done, 0.78, 1));
  }

  barsBox(step) {
    const { bars, tall, slot, head, height } = this.layout;
    if (tall) return bars;
    const y = slot("target", step) - bars.high / 2;
    return { ...bars, y: Math.min(Math.max(y, head), height - bars.high - 4) };
  }

  flight(box, high, rows, done) {
    const { layout, step, story } = this, next = step + 1;
    if (!done || done === 1 || next >= story.fed.length) return;
    const at = rows.findIndex(({ isTaken }) => isTaken), share = ease(done), size = layout.letters;
    const [x, y] = layout.at(layout.target.words[1], layout.slot("target", next));
    const from = [box.x + 0.42 * box.wide, box.y + (at + 0.7) * high];
    const lift = 4 * share * (1 - share) * (layout.tall ? 0 : -Math.min(26, from[1] - layout.head));
    const text = story.fed[next];
    this.add("text", {
      x: between(from[0], x, share), y: between(from[1], y, share) + lift + 0.35 * size, text, size, align: "right",
      bold: true, colour: "probability", most: Math.min(110, between(from[0], x, share) - 2), halo: true,
    });
  }

  headings() {
    const { layout, story } = this, { tall } = layout, faded = 1 - 0.85 * part(this.ending, 0, 0.3);
    for (const { text, range, bold, level } of headings(story, layout, this)) {
      const size = bold ? 13 : 12, line = level ?? (bold ? 0 : 1);
      const look = { text, size, bold, alpha: faded, colour: bold ? "ink" : "faint" };
      if (tall) this.add("text", { ...look, x: 2, y: range[0] + 11 + 14 * line, align: "left", most: layout.head - 8 });
      else {
        const x = between(range[0], range[1], 0.5), most = Math.min(2 * Math.min(x, layout.width - x) - 4, range[2] ?? 200);
        this.add("text", { ...look, x, y: 15 + 16 * line, align: "center", most });
      }
    }
  }

  // The heads of the layer at work, each a square to point at.
  squares() {
    const { story, layout, chosen } = this, { kind, layer } = this.station;
    if (!["encoder", "decoder", "cross"].includes(kind) || !story.hasHeads || story.heads > MOST_HEADS) return;
    const { lines } = columnsOf(layout, kind === "encoder" ? "source" : "target", layer);
    headSquares(layout, lines, story.heads).forEach((box, head) => {
      const isChosen = chosen.head === head;
      this.add("box", { ...box, colour: kind === "decoder" ? "prefix" : "weight", fill: isChosen ? 1 : 0.3, stroke: 1, round: 2 });
      this.parts.push({ id: `head ${head}`, kind, layer, head, ...box });
    });
  }

  // Both sentences over the whole, which steps back.
  sentences() {
    const { story, layout } = this, shown = ease(part(this.ending, 0.15, 0.6)), { width, height } = layout;
    this.add("box", { x: 0, y: 0, wide: width, high: height, colour: "paper", fill: 0.86, round: 0, alpha: shown });
    const put = (all, share, look) => {
      const tokens = all.filter((token) => !isSpecial(token)), lines = sentenceLines(tokens, layout, share, look.bold);
      lines.forEach(({ x, y, size, most }, at) => {
        const text = chipText(tokens[at]);
        this.add("text", { x, y: y + 0.35 * size, text, size, align: "left", most, alpha: shown, ...look });
      });
    };
    put(story.names.source, 0.32, { colour: "faint" });
    put(story.names.next, 0.58, { bold: true, colour: "probability" });
  }
}

// The beginning of a cubic curve, as far as a share of it.
function cut(points, share) {
  if (share >= 1) return points;
  const mix = (list) => list.slice(1).map((to, at) => to.map((value, axis) => between(list[at][axis], value, share)));
  const once = mix(points), twice = mix(once), [end] = mix(twice);
  return [points[0], once[0], twice[0], end];
}

// Tokens as a sentence in the middle of the canvas, in lines: { x, y, size, most } of each, the first line at a share of
// the height.
export function sentenceLines(tokens, { width, height, measure }, share, bold = false) {
  const room = width - 32, words = [];
  tokens.forEach((token, at) => {
    if (!at || token.startsWith("▁") || isSpecial(token)) words.push([at]);
    else words.at(-1).push(at);
  });
  const linesAt = (size) => {
    const lines = [[]];
    let used = 0;
    for (const word of words) {
      const parts = word.map((at) => ({ at, wide: measure(chipText(tokens[at]), size, bold ? 600 : 400) }));
      const wide = parts.reduce((sum, each) => sum + each.wide, 0);
      if (used && used + wide > room) {
        lines.push([]);
        used = 0;
      }
      for (const each of parts) {
        lines.at(-1).push({ ...each, x: used });
        used += each.wide;
      }
      used += 0.27 * size;
    }
    return lines;
  };
  let size = 26;
  while (size > 8 && linesAt(size).length * size * 1.35 > 0.2 * height) size -= 1;
  const placed = [];
  linesAt(size).forEach((line, row) => {
    const { x, wide } = line.at(-1), left = Math.max(16, (width - x - wide) / 2);
    for (const word of line) {
      placed[word.at] = { x: left + word.x, y: share * height + row * size * 1.35, size, most: Math.min(word.wide * 1.3, width - 4 - left - word.x) };
    }
  });
  return placed;
}
