// Tables {header, rows} as CSV.

const FORMULA = /^'*[=+\-@\t\r]/; // what a cell begins with that spreadsheets take for a formula, behind apostrophes

// A text that a spreadsheet would calculate, a token such as "=1+1", gets an apostrophe before it, and such a text
// behind apostrophes another one, as in all tables of the app: who takes one off such cells has every text again.
export function csvOf({ header, rows }) {
  return [header, ...rows].map((row) => `${row.map(cellText).join(",")}\n`).join("");
}

function cellText(cell) {
  if (typeof cell === "number") return shortest(cell);
  const text = FORMULA.test(cell) ? `'${cell}` : String(cell);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

// As few digits as tell it from every other number of its precision: what travels is mostly float32.
function shortest(number) {
  if (Math.fround(number) !== number) return String(number);
  for (let digits = 1; digits < 9; digits++) {
    const text = number.toPrecision(digits);
    if (Math.fround(Number(text)) === number) return String(Number(text));
  }
  return String(Number(number.toPrecision(9)));
}

// Matrices {name, rows, columns, values} as one table, a row for each cell: its places, from 0, with their labels. What
// is blank, NaN, is left out. `names` says what rows, columns and values are.
export function tableOfMatrices(matrices, names) {
  const several = matrices.length > 1, header = ["row", names.row, "column", names.column, names.value];
  const rows = matrices.flatMap(({ name, rows: downs, columns: acrosses, values }) => {
    return values.flatMap((line, row) => Array.from(line).flatMap((value, column) => {
      if (Number.isNaN(value)) return [];
      const cells = [row, downs[row], column, acrosses[column], value];
      return [several ? [name, ...cells] : cells];
    }));
  });
  return { header: several ? ["matrix", ...header] : header, rows };
}
