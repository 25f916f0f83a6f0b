// The matrices of a step, those that Python names and those that belong to the chosen query: the neuron view.

// What a step's panels are with their arrays.
function panelsOf(step, data, grids) {
  return step.panels.map((panel) => ({
    ...panel,
    grid: grids[panel.array],
    closed: panel.recipe?.kind === "masked" || panel.scale === "weights" ? (row, column) => !grids.open.at(row, column) : null,
    frame: panel.columns === "model" && FRAMED.has(panel.array) ? [data.head * data.d_k, data.d_k] : null,
    start: panel.columns === "head" ? data.head * data.d_k + 1 : 1,
  }));
}

const FRAMED = new Set(["query", "key", "value", "concatenated"]);

// Query against every key, or every value by its weight, one dimension a column, one under the other.
function neuronsOf(name, data, grids, query) {
  if (name === "products") return queryAgainstKeys(data, grids, query);
  if (name === "values") return valuesByWeight(data, grids, query);
  return [];
}

function grid(rows, columns, value) {
  const made = new Float32Array(rows * columns);
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++) made[row * columns + column] = value(row, column);
  }
  return new Grid(rows, columns, made);
}

function strip(grid, index) {
  return new Grid(1, grid.columns, grid.row(index));
}

function queryAgainstKeys(data, { head_query, head_key, products }, query) {
  const start = data.head * data.d_k + 1, token = `“${shortened(data.queries[query])}”`;
  const left = (_, column) => head_query.at(query, column), right = (row, column) => head_key.at(row, column);
  const terms = grid(head_key.rows, head_key.columns, (row, column) => left(row, column) * right(row, column));
  const shared = { columns: "head", scale: "signed", start };
  return [
    { ...shared, text: `q of ${token}`, rows: "query", grid: strip(head_query, query), recipe: null },
    { ...shared, text: "k of every key", rows: "keys", grid: head_key, recipe: null },
    {
      ...shared, text: `q of ${token} times k, dimension by dimension; on the right their sum, the product`, rows: "keys",
      grid: terms, recipe: { kind: "term", left, right }, notes: (key) => `Σ ${number(products.at(query, key), 2)}`,
    },
  ];
}

function valuesByWeight(data, { head_value, head_output, weights }, query) {
  const start = data.head * data.d_k + 1, token = `“${shortened(data.queries[query])}”`;
  const left = (row) => weights.at(query, row), right = (row, column) => head_value.at(row, column);
  const terms = grid(head_value.rows, head_value.columns, (row, column) => left(row) * right(row, column));
  const shared = { columns: "head", scale: "signed", start, reach: head_value.reach };
  return [
    { ...shared, text: `v of every key, and the weight ${token} gives it`, rows: "keys", grid: head_value, recipe: null, notes: (key) => `× ${number(left(key), 4)}` },
    { ...shared, text: "v times its weight", rows: "keys", grid: terms, recipe: { kind: "term", left, right } },
    { ...shared, text: `their sum: what ${token} gets from this head`, rows: "query", grid: strip(head_output, query), recipe: null },
  ];
}
