// One head: its role in a sentence, its numbers, the visitor's sentence and examples of a corpus as token lines,
// histograms, and the tokens that it joins most.

import { offerPicture } from "../export/capture.js";
import { button, element } from "../lib/canvas.js";
import { Component, mounted } from "../lib/mount.js";
import { invite } from "../lib/screen.js";
import { tableRow } from "../lib/table.js";
import { headAddress } from "../lib/selection.js";
import { inWords } from "../lib/tokens.js";
import { sentenceCase } from "../lib/words.js";
import { histogram } from "./histogram.js";
import { ExampleLines } from "./lines.js";
import { figureOf } from "./picture.js";
import { say } from "./texts.toml";

const OWN = "own";

class HeadCard extends Component {
  constructor(root) {
    super(root);
    const { find } = this;
    Object.assign(this, { frame: find(".head_card"), sentence: find(".own"), examples: find(".examples") });
    Object.assign(this, { readout: find(".readout"), select: find(".choose select"), drawn: [] });
    this.select.onchange = () => {
      this.group = this.select.value;
      this.draw();
    };
    const figure = () => figureOf(this.data, this.drawn.map(({ example }) => example));
    find(".under").append(offerPicture(say("download"), figure, this.frame, () => [this.sentence, this.examples]));
    this.whenResized(this.frame, () => this.place());
  }

  receive(data) {
    const text = JSON.stringify(data), isNew = text !== this.text;
    Object.assign(this, { data, text });
    if (isNew) this.describe();
    this.draw();
  }

  // All but the examples.
  describe() {
    const { data, find } = this;
    const { headline, sure, rows, of } = data;
    const texts = { name: sentenceCase(data.name), headline, sure, rows_named: rows, of };
    for (const [name, words] of Object.entries(texts)) find(`.${name}`).textContent = words;
    find(".says").hidden = !data.facts.length;
    find(".says dl").replaceChildren(...data.facts.flatMap(({ name, value, says }) => {
      return [element("dt", "", `${name} ${value}`), element("dd", "", says)];
    }));
    const like = data.nearest.flatMap((head) => [this.headButton(head), " "]);
    find(".nearest").replaceChildren(...(like.length ? [say("nearest"), ...like] : []));
    find(".more").replaceChildren(...data.histograms.map((each) => this.figure(each)), ...data.joins.map(tableOf));
    this.select.replaceChildren(...data.groups.map(([value, name]) => new Option(name, value)));
    find(".choose label").hidden = !data.groups.length;
  }

  headButton(head) {
    const node = button(`${head.name} (${head.cosine})`, () => this.setTriggerValue("head", headAddress(head)));
    return Object.assign(node, { title: say("cosine", { cosine: head.cosine }) });
  }

  figure(data) {
    return element("figure", "", element("figcaption", "", data.title), histogram(data), element("p", "", data.says));
  }

  draw() {
    const { examples, groups } = this.data;
    if (!groups.some(([name]) => name === this.group)) this.group = groups[0]?.[0] ?? "";
    this.select.value = this.group;
    const shown = JSON.stringify([this.text, this.group]);
    if (shown !== this.shown) {
      const describe = (words) => this.readOut(words);
      this.drawn = [[OWN, this.sentence], [this.group, this.examples]].flatMap(([name, place]) => {
        const lines = examples.filter(({ group }) => group === name).map((each) => new ExampleLines(each, describe));
        place.replaceChildren(...lines.map((each) => each.element));
        return lines;
      });
      this.shown = shown;
      this.readOut(null);
    }
    this.place();
  }

  place() {
    for (const each of this.drawn) each.place();
  }

  readOut(words) {
    this.readout.textContent = inWords(words ?? invite(say("invitation")));
  }
}

function tableOf({ title, header, rows }) {
  const body = element("tbody", "", ...rows.map((row) => tableRow(row)));
  return element("table", "", element("caption", "", title), element("thead", "", tableRow(header, "col")), body);
}

export default mounted(HeadCard);
