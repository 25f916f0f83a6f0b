// One head: what it does in a sentence, its numbers, the reader's own sentence and examples of a corpus as token lines,
// histograms, and the tokens that it joins most.

import { offerPicture } from "../export/capture.js";
import { element } from "../lib/canvas.js";
import { Component, mounted } from "../lib/mount.js";
import { invite } from "../lib/screen.js";
import { inWords } from "../lib/tokens.js";
import { histogram } from "./histogram.js";
import { ExampleLines } from "./lines.js";
import { figureOf } from "./picture.js";

const OWN = "own";

class HeadCard extends Component {
  constructor(root) {
    super(root);
    const { find } = this;
    Object.assign(this, { frame: find(".head_card"), own: find(".own"), examples: find(".examples") });
    Object.assign(this, { readout: find(".readout"), select: find(".choose select"), drawn: [] });
    this.select.onchange = () => {
      this.group = this.select.value;
      this.draw();
    };
    const figure = () => figureOf(this.data, this.drawn.map(({ example }) => example));
    const label = "examples of this head";
    find(".under").append(offerPicture(label, figure, this.frame, () => [this.own, this.examples]));
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
    const texts = { headline: data.headline, sure: data.sure, rows_named: data.rows, of: data.of };
    for (const [place, words] of Object.entries(texts)) {
      find(`.${place}`).textContent = words;
    }
    find(".name").textContent = `${data.name[0].toUpperCase()}${data.name.slice(1)}`;
    find(".facts").replaceChildren(...data.facts.map(({ name, value, says }) => {
      return Object.assign(element("div", "", element("dt", "", name), element("dd", "", value)), { title: says });
    }));
    find(".says").hidden = !data.facts.length;
    find(".says dl").replaceChildren(...data.facts.flatMap(({ name, says }) => {
      return [element("dt", "", name), element("dd", "", says)];
    }));
    const like = data.nearest.map((head) => this.headButton(head));
    const named = like.flatMap((each) => [each, " "]);
    find(".nearest").replaceChildren(...(like.length ? ["Most like it: ", ...named] : []));
    find(".more").replaceChildren(...data.histograms.map((each) => this.figure(each)), ...data.joins.map(tableOf));
    this.select.replaceChildren(...data.groups.map(([value, name]) => {
      return Object.assign(element("option", "", name), { value });
    }));
    find(".choose label").hidden = !data.groups.length;
  }

  headButton({ kind, layer, head, name, cosine }) {
    const button = element("button", "", `${name} (${cosine})`);
    Object.assign(button, { type: "button", title: `The cosine between the weights of both is ${cosine}` });
    button.onclick = () => this.setTriggerValue("head", `${kind}.${layer + 1}.${head + 1}`);
    return button;
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
      const tell = (words) => this.tell(words), lines = (example) => new ExampleLines(example, tell);
      const own = examples.filter(({ group }) => group === OWN).map(lines);
      const others = examples.filter(({ group }) => group === this.group).map(lines);
      this.own.replaceChildren(...own.map((each) => each.element));
      this.examples.replaceChildren(...others.map((each) => each.element));
      this.drawn = [...own, ...others];
      this.shown = shown;
      this.tell(null);
    }
    this.place();
  }

  place() {
    for (const each of this.drawn) each.place();
  }

  tell(words) {
    const invitation = invite("Below each word: its largest weight in percent. Hover over a word for the others.");
    this.readout.textContent = inWords(words ?? invitation);
  }
}

function tableOf({ title, header, rows }) {
  const cells = (row, tag) => row.map((text, at) => {
    const cell = element(at && tag === "td" ? "td" : "th", "", text);
    cell.scope = tag === "th" ? "col" : "row";
    return cell;
  });
  const body = rows.map((row) => element("tr", "", ...cells(row, "td")));
  const head = element("tr", "", ...cells(header, "th"));
  return element("table", "", element("caption", "", title), element("thead", "", head), element("tbody", "", ...body));
}

export default mounted(HeadCard);
