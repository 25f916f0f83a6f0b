// Weights that sum to 1, one of them moved.

// One weight set, the others scaled to the rest; where they are all 0 they share it alike.
export function redistributed(weights, index, weight) {
  const others = weights.reduce((sum, each, at) => (at === index ? sum : sum + each), 0), rest = 1 - weight;
  if (weights.length === 1) return [1];
  return weights.map((each, at) => {
    if (at === index) return weight;
    return others > 0 ? (each * rest) / others : rest / (weights.length - 1);
  });
}

// As an address has them: "0.5-0.25-0.25".
export const written = (weights) => weights.map((each) => String(Math.round(each * 1e4) / 1e4)).join("-");
