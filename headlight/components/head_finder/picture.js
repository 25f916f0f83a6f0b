// The caption of a picture of the heads by two measures, and their numbers.

import { say } from "./texts.toml";

// The figure for the download menu, without its picture.
export function figureOf({ heads, values, measures }, { x, y }) {
  const [across, up] = [x, y].map((name) => measures.find((measure) => measure.name === name));
  const numbers = (name, at) => values[name][at] ?? ["", ""];
  return {
    name: "heads",
    label: say("label"),
    caption: say("caption", { across: across.label, across_says: across.says, up: up.label, up_says: up.says }),
    table: () => ({
      header: [say("kind"), say("layer"), say("head"), across.label, say("error"), up.label, say("error")],
      rows: heads.map(({ kind, layer, head }, at) => {
        return [kind, layer, head, ...[...numbers(x, at), ...numbers(y, at)].map((value) => value ?? "")];
      }),
    }),
  };
}
