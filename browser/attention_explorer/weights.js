// All attention of a sentence as it travelled, and what is shown of it: heads averaged, pieces merged, weights left out.

class Attention {
  // bytes: four for the header's length, the header, then weights as whole parts of `steps`.
  constructor(bytes) {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength), length = view.getUint32(0, true);
    this.header = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + length)));
    const start = bytes.byteOffset + 4 + length;
    const aligned = start % 2 ? bytes.slice(4 + length).buffer : bytes.buffer;
    this.weights = new Uint16Array(aligned, start % 2 ? 0 : start, (bytes.byteLength - 4 - length) / 2);
    this.steps = this.header.steps;
  }

  kind(name) {
    return this.header.kinds[name];
  }

  // What reads and what is read; a decoder row has the token it was fed and the one it predicts, and is named after one.
  sides(name, rows) {
    const { source, fed, predicted } = this.header.sides;
    return { queries: name === "encoder" ? source : rows === "fed" ? fed : predicted, keys: name === "decoder" ? fed : source };
  }

  // One head as it is, in parts of `steps`: [queries * keys], a view on the bytes.
  raw(name, { layer, head }) {
    const { offset, heads, queries, keys } = this.kind(name), start = offset + (layer * heads + head) * queries * keys;
    return this.weights.subarray(start, start + queries * keys);
  }

  // Some heads summed, weights from 0 to their number.
  sum(name, heads) {
    const { queries, keys } = this.kind(name), sum = new Float64Array(queries * keys);
    for (const each of heads) {
      const raw = this.raw(name, each);
      for (let cell = 0; cell < sum.length; cell++) sum[cell] += raw[cell];
    }
    for (let cell = 0; cell < sum.length; cell++) sum[cell] /= this.steps;
    return sum;
  }

  everyHead(name) {
    const { layers, heads } = this.kind(name);
    return Array.from({ length: layers * heads }, (_, number) => ({ layer: Math.floor(number / heads), head: number % heads }));
  }
}

// A matrix ready to be drawn: `rows` and `columns` are {text, places}, places the tokens behind them, rows of the
// decoder with what they were `fed` and `predict`.
class Shown {
  constructor(attention, name, heads, { rows, words, specials, top, together }) {
    Object.assign(this, { attention, name, heads });
    const sides = attention.sides(name, rows), { keys } = attention.kind(name);
    this.rows = grouped(sides.queries, words, specials);
    this.columns = grouped(sides.keys, words, specials);
    if (name === "decoder") this.rows = this.rows.filter(({ places }) => this.columns[0]?.places[0] <= places.at(-1)); // else nothing is left to read
    if (name !== "encoder") this.nameSteps();
    this.most = together === "sum" ? heads.length : 1; // what a row can sum to
    this.digits = heads.length > 1 || words === "words" || specials === "renormalised" ? 3 : 4; // a weight of the model itself is exact to four decimals
    const sum = attention.sum(name, heads), part = this.most / heads.length;
    this.values = new Float64Array(this.rows.length * this.columns.length);
    this.rows.forEach((row, r) => {
      this.columns.forEach((column, c) => {
        let weight = 0; // summed over the pieces of the word that is read, averaged over those of the word that reads
        for (const query of row.places) for (const key of column.places) weight += sum[query * keys + key];
        this.values[r * this.columns.length + c] = (part * weight) / row.places.length;
      });
    });
    if (specials === "renormalised") this.renormalise();
    this.kept = top < 100 ? kept(this.values, this.rows.length, this.columns.length, top / 100) : null;
  }

  nameSteps() {
    const { fed, predicted } = this.attention.header.sides;
    for (const row of this.rows) {
      row.fed = row.places.map((place) => fed.tokens[place]).join("");
      row.predicts = row.places.map((place) => predicted.tokens[place]).join("");
    }
  }

  // Rows divided by what is left of them, so that they sum to what they summed to before.
  renormalise() {
    const { values, columns, most } = this;
    for (let start = 0; start < values.length; start += columns.length) {
      const row = values.subarray(start, start + columns.length), sum = row.reduce((total, weight) => total + weight, 0);
      if (sum > 0) row.forEach((weight, at) => (row[at] = (most * weight) / sum));
    }
  }

  side(name) {
    return name === "queries" ? this.rows : this.columns;
  }

  at(row, column) {
    return this.values[row * this.columns.length + column];
  }

  isOpen(row, column) {
    return this.name !== "decoder" || this.columns[column].places[0] <= this.rows[row].places.at(-1);
  }

  isShown(row, column) {
    return this.isOpen(row, column) && (!this.kept || this.kept[row * this.columns.length + column] === 1);
  }

  // Of what is shown: weights that were left out count neither here nor there.
  sumOf(side, indexes, at) {
    let sum = 0;
    for (const index of indexes) {
      const [row, column] = side === "queries" ? [index, at] : [at, index];
      if (this.isShown(row, column)) sum += this.at(row, column);
    }
    return sum;
  }

  // −Σ w ln w in nats, of the row as it is shown.
  entropy(row) {
    let sum = 0;
    for (let column = 0; column < this.columns.length; column++) {
      const weight = this.at(row, column);
      if (weight > 0) sum -= weight * Math.log(weight);
    }
    return sum;
  }

  largestOfRow(row) {
    let best = 0;
    for (let column = 1; column < this.columns.length; column++) if (this.at(row, column) > this.at(row, best)) best = column;
    return best;
  }

  largestOfColumn(column) {
    let best = 0;
    for (let row = 1; row < this.rows.length; row++) if (this.at(row, column) > this.at(best, column)) best = row;
    return best;
  }

  get reach() {
    return this.values.reduce((most, value) => Math.max(most, value), 0);
  }

  // The weight that the strongest colour stands for.
  full(scale) {
    return scale === "per map" ? this.reach || 1 : this.most;
  }
}

// Tokens of a side as they are shown: single, merged into words, or a word's first piece alone; specials left out or not.
function grouped({ tokens, special, words }, as, specials) {
  const groups = [], hidden = new Set(specials !== "shown" ? special : []);
  tokens.forEach((token, place) => {
    if (hidden.has(place)) return;
    const before = groups.at(-1), inside = before && before.word === words[place];
    if (!inside || as === "pieces") groups.push({ text: token, word: words[place], places: [place] });
    else if (as === "words") {
      before.text += token;
      before.places.push(place);
    }
  });
  return groups;
}

// Of each row the largest weights that together hold this share of it: 1 where kept.
function kept(values, rows, columns, share) {
  const marks = new Uint8Array(rows * columns);
  for (let row = 0; row < rows; row++) {
    const order = Array.from({ length: columns }, (_, column) => row * columns + column).sort((one, other) => values[other] - values[one]);
    const total = order.reduce((sum, cell) => sum + values[cell], 0);
    let sum = 0;
    for (const cell of order) {
      if (sum >= share * total) break;
      marks[cell] = 1;
      sum += values[cell];
    }
  }
  return marks;
}
