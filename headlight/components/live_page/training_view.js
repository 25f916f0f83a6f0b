// The view of the training's replay, where the page has one.

import { element } from "../lib/canvas.js";
import { decodeFacts } from "../lib/facts.js";
import { findingElement } from "../lib/finding.js";
import { headAddress } from "../lib/selection.js";
import { default as player } from "../replay_player/player.js";
import { mostChanged } from "../replay_player/story.js";
import { headIn } from "./address.js";
import { View } from "./views.js";

export class Training extends View {
  constructor(page) {
    super(page);
    const { facts, finding, notes } = this.words.replay;
    this.facts = decodeFacts(facts);
    this.find(".findings").replaceChildren(findingElement(finding), ...notes.map((note) => element("p", "", note)));
  }

  async show({ params }) {
    const { facts } = this, { shape: [, layers, heads] } = facts.attention;
    const shown = headIn(params, { [facts.kind]: [layers, heads] }) ?? mostChanged(facts);
    const step = /^\d{1,9}$/.test(params.snapshot ?? "") ? Number(params.snapshot) : facts.steps[0];
    this.give(player, { facts, layer: shown.layer, head: shown.head, step, following: false });
  }

  handle(name, value) {
    if (name === "step") this.navigate({ snapshot: value === this.facts.steps[0] ? "" : String(value) });
    const [layer, head] = name === "head" ? value : [];
    if (name === "head") this.navigate({ head: headAddress({ kind: this.facts.kind, layer, head }) });
  }
}
