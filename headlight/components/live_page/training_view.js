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
  constructor(given) {
    super(given);
    const { facts, finding: found, notes } = this.words.replay;
    this.facts = decodeFacts(facts);
    this.find(".findings").replaceChildren(findingElement(found), ...notes.map((note) => element("p", "", note)));
  }

  async show({ said }) {
    const { facts } = this, { shape: [, layers, heads] } = facts.attention;
    const shown = headIn(said, { [facts.kind]: [layers, heads] }) ?? mostChanged(facts);
    const step = /^\d{1,9}$/.test(said.snapshot ?? "") ? Number(said.snapshot) : facts.steps[0];
    this.give(player, { facts, layer: shown.layer, head: shown.head, step, following: false });
  }

  hear(name, value) {
    if (name === "step") this.say({ snapshot: value === this.facts.steps[0] ? "" : String(value) });
    if (name === "head") this.say({ head: headAddress({ kind: this.facts.kind, layer: value[0], head: value[1] }) });
  }
}
