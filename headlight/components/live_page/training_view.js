// The view of the training's replay, where the page has one.

import { element } from "../lib/canvas.js";
import { default as player } from "../replay_player/player.js";
import { placeIn } from "./address.js";
import { replayPayload, replayStory, weightsOf } from "./payloads/replay.js";
import { View, finding } from "./views.js";

export class Training extends View {
  constructor(given) {
    super(given);
    this.told = this.words.replay;
    this.weights = weightsOf(this.told);
  }

  async show({ said }) {
    const { told } = this, [layer, head] = [placeIn(said.layer, told.layers), placeIn(said.head, told.heads)];
    const place = layer === null || head === null ? { layer: told.layer, head: told.head } : { layer, head };
    const step = /^\d{1,9}$/.test(said.snapshot ?? "") ? Number(said.snapshot) : told.steps[0];
    this.give(player, { ...replayPayload(told, this.weights, place, this.words.law), step, following: false });
    const notes = told.notes.map((note) => element("p", "", note));
    this.find(".findings").replaceChildren(finding(replayStory(told, place)), ...notes);
  }

  hear(name, value) {
    if (name === "step") this.say({ snapshot: value === this.told.steps[0] ? "" : String(value) });
    if (name === "head") this.say({ layer: String(value[0] + 1), head: String(value[1] + 1) });
  }
}
