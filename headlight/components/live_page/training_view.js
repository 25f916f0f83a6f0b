// The view of the training's replay, where the page has one.

import { element } from "../lib/canvas.js";
import { decodeFacts } from "../lib/facts.js";
import { findingElement } from "../lib/finding.js";
import { default as player } from "../replay_player/player.js";
import { mostChanged } from "../replay_player/story.js";
import { placeIn } from "./address.js";
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
    const [layer, head] = [placeIn(said.layer, layers), placeIn(said.head, heads)];
    const shown = layer === null || head === null ? mostChanged(facts) : { layer, head };
    const step = /^\d{1,9}$/.test(said.snapshot ?? "") ? Number(said.snapshot) : facts.steps[0];
    this.give(player, { facts, layer: shown.layer, head: shown.head, step, following: false });
  }

  hear(name, value) {
    if (name === "step") this.say({ snapshot: value === this.facts.steps[0] ? "" : String(value) });
    if (name === "head") this.say({ layer: String(value[0] + 1), head: String(value[1] + 1) });
  }
}
