// What the explorer says: numbers of a cell, of tokens and of a head, what is shown and what was done to it.

// how: "mean of ", "sum of ", or nothing where each is drawn apart.
function headsTitle(attention, name, heads, how) {
  const { layers, heads: each } = attention.kind(name), [{ layer, head }] = heads, title = WORDS.kinds[name];
  if (heads.length === 1) return `${title}: layer ${layer + 1}, head ${head + 1}`;
  if (heads.length === layers * each) return `${title}: ${how}all ${heads.length} heads`;
  if (heads.length === each && heads.every((one) => one.layer === layer)) return `${title}: ${how}the ${each} heads of layer ${layer + 1}`;
  if (heads.length === layers && heads.every((one) => one.head === head)) return `${title}: ${how}head ${head + 1} of all layers`;
  return `${title}: ${how}${heads.length} heads`;
}

function axesWords(shown, rows) {
  const steps = `decoder steps, named after the token each ${rows === "fed" ? "was fed" : "predicts"}`;
  return `Rows: ${shown.name === "encoder" ? "source tokens" : steps}. Columns: ${shown.name === "decoder" ? "target tokens as they were fed" : "source tokens"}.`;
}

// What was done to the weights, one sentence each; nothing where they are the model's own.
function notes(shown, { words, specials, top, together, view }) {
  const several = shown.heads.length > 1;
  return [
    words === "words" && "Pieces are merged into words: weights are summed over the pieces that are read and averaged over the pieces that read.",
    words === "first pieces" && "Pieces that continue a word are left out, and so is what they read and what went to them: a row may sum to less than 1.",
    specials === "hidden" && "Special tokens are left out and rows are not divided by what remains: each lacks what went there.",
    specials === "renormalised" && "Special tokens are left out and each row is divided by what remains, so that it sums to 1 again.",
    top < 100 && `Of each row only the largest weights that together hold ${top} % of it are kept.`,
    several && `${view === "lines" ? "The sentence’s colours and the numbers are" : "This is"} the ${together} of ${shown.heads.length} heads: ${together === "sum" ? `a row sums to ${shown.heads.length}` : "none of them need look like it"}.`,
  ].filter(Boolean);
}

function headWords(attention, { kind: name, layer, head }) {
  const kind = attention.kind(name), at = layer * kind.heads + head, label = kind.labels[at];
  const value = (measure) => measureText(measure, kind.measures[measure]?.[at]);
  const pattern = label ? `in ${value(label)} of its rows the largest weight is ${WORDS.patterns[label][1]}` : "no clear pattern";
  return `${WORDS.kinds[name]}, layer ${layer + 1}, head ${head + 1}: ${pattern}. Confidence ${value("confidence")}, mean entropy of its rows ${value("entropy")}.`;
}

function readerWords({ text, fed, predicts }) {
  return fed === undefined ? `“${text}”` : `The step fed “${fed}”, to predict “${predicts}”,`;
}

function cellWords(shown, row, column) {
  const reader = readerWords(shown.rows[row]), read = `“${shown.columns[column].text}”`;
  if (!shown.isOpen(row, column)) return `${reader} may not read ${read}, which comes later.`;
  return `${reader} reads ${read} with weight ${shown.at(row, column).toFixed(shown.digits)}.`;
}

// Tokens of a side: what they read most, or what reads them most, summed where they are several.
function tokensWords(shown, side, indexes) {
  const others = shown.side(side === "queries" ? "keys" : "queries"), sums = others.map((_, at) => shown.sumOf(side, indexes, at));
  const most = sums.indexOf(Math.max(...sums)), several = indexes.length > 1;
  const names = indexes.map((index) => `“${shown.side(side)[index].text}”`).join(", ");
  const weight = sums[most].toFixed(several ? 3 : shown.digits), all = sums.reduce((sum, each) => sum + each, 0).toFixed(2);
  if (side === "queries") return several ? `${names} together read “${others[most].text}” most: ${weight} in sum, of ${all}.` : `${readerWords(shown.rows[indexes[0]])} reads “${others[most].text}” most: ${weight}.`;
  return `${names} ${several ? "together are" : "is"} read most in the row “${others[most].text}”: ${weight}; over all rows ${all}.`;
}

// Names and values of the panel: of one row and one column.
function numbersOf(shown, row, column) {
  const { text, fed, predicts } = shown.rows[row], largest = shown.largestOfRow(row), digits = shown.digits;
  const steps = fed === undefined ? [["token that reads", text]] : [["fed", fed], ["predicts", predicts]];
  return [
    ...steps,
    ["reads", shown.columns[column].text],
    ["weight", shown.isOpen(row, column) ? shown.at(row, column).toFixed(digits) : "masked"],
    ["row’s largest", `${shown.at(row, largest).toFixed(digits)} on ${shown.columns[largest].text}`],
    ["row’s entropy", shown.most > 1 ? "– (of a sum)" : `${shown.entropy(row).toFixed(2)} nats`],
  ];
}
