// Attention maps of facts: { shape: [layers, heads, queries, keys], weights }.

// The map of a head, [queries x keys]; null for layer or head averages over all of them.
export function averageMap({ shape: [layers, heads, queries, keys], weights }, { layer, head }) {
  const cells = queries * keys, start = (at, one) => (at * heads + one) * cells;
  const of = (at, one) => weights.subarray(start(at, one), start(at, one) + cells);
  if (layer !== null && head !== null) return of(layer, head);
  const all = (count) => Array.from({ length: count }, (_, at) => at);
  const [chosenLayers, chosenHeads] = [layer === null ? all(layers) : [layer], head === null ? all(heads) : [head]];
  const sum = new Float32Array(cells), count = chosenLayers.length * chosenHeads.length;
  for (const at of chosenLayers) {
    for (const one of chosenHeads) of(at, one).forEach((weight, cell) => (sum[cell] += weight / count));
  }
  return sum;
}
