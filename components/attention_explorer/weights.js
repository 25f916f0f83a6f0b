// All attention of a sentence as it travelled, and what is shown of it: heads averaged, pieces merged, weights left out.

class Attention {
  // bytes: four for the header's length, the header, then 65535ths.
  constructor(bytes) {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength), length = view.getUint32(0, true);
    this.header = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + length)));
    const start = bytes.byteOffset + 4 + length;
    const aligned = start % 2 ? bytes.slice(4 + length).buffer : bytes.buffer;
    this.weights = new Uint16Array(aligned, start % 2 ? 0 : start, (bytes.byteLength - 4 - length) / 2);
  }

  kind(name) {
    return this.header.kinds[name];
  }

  // The two sides of a kind: what reads, and what is read.
  sides(name) {
    const { source, target } = this.header;
    return { queries: name === "encoder" ? source : target, keys: name === "decoder" ? target : source };
  }

  start(name, layer, head) {
    const { offset, heads, queries, keys } = this.kind(name);
    return offset + (layer * heads + head) * queries * keys;
  }

  // One head as it is: 65535ths, [queries * keys], a view on the bytes.
  raw(name, layer, head) {
    const { queries, keys } = this.kind(name), start = this.start(name, layer, head);
    return this.weights.subarray(start, start + queries * keys);
  }

  // The mean of some heads, weights from 0 to 1.
  mean(name, heads) {
    const { queries, keys } = this.kind(name), sum = new Float32Array(queries * keys);
    for (const { layer, head } of heads) {
      const raw = this.raw(name, layer, head);
      for (let cell = 0; cell < sum.length; cell++) sum[cell] += raw[cell];
    }
    for (let cell = 0; cell < sum.length; cell++) sum[cell] /= 65535 * heads.length;
    return sum;
  }

  isOpen(name, row, column) {
    return name !== "decoder" || column <= row;
  }
}

// A matrix ready to be drawn: `rows` and `columns` are {text, predicts, places}, places the tokens behind them.
class Shown {
  constructor(attention, name, heads, { words, specials, top }) {
    Object.assign(this, { attention, name, heads });
    const sides = attention.sides(name), kind = attention.kind(name);
    this.rows = grouped(sides.queries, words, specials);
    this.columns = grouped(sides.keys, words, specials);
    const mean = attention.mean(name, heads);
    this.values = new Float32Array(this.rows.length * this.columns.length);
    this.rows.forEach((row, r) => {
      this.columns.forEach((column, c) => {
        let sum = 0; // over the pieces of the word that is read, averaged over those of the word that reads
        for (const query of row.places) for (const key of column.places) sum += mean[query * kind.keys + key];
        this.values[r * this.columns.length + c] = sum / row.places.length;
      });
    });
    this.kept = top < 100 ? kept(this.values, this.rows.length, this.columns.length, top / 100) : null;
  }

  at(row, column) {
    return this.values[row * this.columns.length + column];
  }

  isOpen(row, column) {
    const last = this.rows[row].places.at(-1), first = this.columns[column].places[0];
    return this.attention.isOpen(this.name, last, first);
  }

  isShown(row, column) {
    return this.isOpen(row, column) && (!this.kept || this.kept[row * this.columns.length + column] === 1);
  }

  entropy(row) {
    let sum = 0;
    for (let column = 0; column < this.columns.length; column++) {
      const weight = this.at(row, column);
      if (weight > 0) sum -= weight * Math.log(weight);
    }
    return sum;
  }

  largest(row) {
    let best = 0;
    for (let column = 1; column < this.columns.length; column++) if (this.at(row, column) > this.at(row, best)) best = column;
    return best;
  }

  get reach() {
    return this.values.reduce((most, value) => Math.max(most, value), 0);
  }
}

// Tokens of a side as they are shown: single or merged into words, specials left out or not.
function grouped({ tokens, special, words, predicts }, merged, specials) {
  const groups = [], hidden = new Set(specials === "hidden" ? special : []);
  tokens.forEach((token, place) => {
    if (hidden.has(place)) return;
    const before = groups.at(-1);
    if (merged === "words" && before && before.word === words[place] && before.places.at(-1) === place - 1) {
      before.text += token;
      before.places.push(place);
      before.predicts = predicts?.[place];
    } else groups.push({ text: token, word: words[place], places: [place], predicts: predicts?.[place] });
  });
  return groups;
}

// Of each row the largest weights that together hold this share of it: 1 where kept.
function kept(values, rows, columns, share) {
  const marks = new Uint8Array(rows * columns);
  for (let row = 0; row < rows; row++) {
    const order = Array.from({ length: columns }, (_, column) => row * columns + column).sort((a, b) => values[b] - values[a]);
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
