// The caption of a picture of the diagram, and the parameters of its blocks.

// The figure for the download menu, without its picture.
export function figureOf({ encoder, decoder, output }, open) {
  const layer = (stack, name) => `layer ${open[name] + 1} of ${stack.layers.length}`;
  const of = ({ before, layers, after }) => [...before, ...layers.flat(), ...after];
  const rows = () => [...of(encoder), ...of(decoder), ...output].map(({ stack, layer, label, parameters, note }) => {
    return [stack, layer === null ? "" : layer + 1, label, parameters, parameters ? "" : note];
  });
  return {
    name: "architecture",
    label: "The model's blocks, from the bottom to the top",
    caption:
      "The model's blocks, from the bottom to the top, as in figure 1 of “Attention Is All You Need”. Left, the " +
      `encoder with ${layer(encoder, "encoder")} unfolded; right, the decoder with ${layer(decoder, "decoder")}. ` +
      "Under the name of a block stand its parameters and their share of all.",
    table: () => ({ header: ["stack", "layer", "block", "parameters", "note"], rows: rows() }),
  };
}
