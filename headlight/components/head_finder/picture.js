// The caption of a picture of the heads by two measures, and their numbers.

// The figure for the download menu, without its picture.
export function figureOf({ heads, values, measures }, { x, y }) {
  const [across, up] = [x, y].map((name) => measures.find((measure) => measure.name === name));
  const numbers = (name, at) => values[name][at] ?? ["", ""];
  return {
    name: "heads",
    label: "Heads by two measures",
    caption: `Every head of the model: from left to right ${across.label} (${across.says}), from below ${up.label} ` +
      `(${up.says}). Colours are kinds of attention, shapes are layers.`,
    table: () => ({
      header: ["kind", "layer", "head", across.label, "standard error", up.label, "standard error"],
      rows: heads.map(({ kind, layer, head }, at) => {
        return [kind, layer, head, ...[...numbers(x, at), ...numbers(y, at)].map((value) => value ?? "")];
      }),
    }),
  };
}
