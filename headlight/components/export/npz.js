// NumPy's .npz: a zip archive, nothing compressed, of one .npy file for each array. Nothing in it is pickled.

const ALIGNED = 64; // bytes: an array's numbers begin at a multiple of it
const encoder = new TextEncoder();

// Numbers as an array of two or more dimensions, the last one's places side by side, as .npy with float64.
export function arrayFile(numbers, shape) {
  return file("<f8", `(${shape.join(", ")})`, new Uint8Array(Float64Array.from(numbers).buffer));
}

// Texts as .npy: an array of Unicode strings, all as long as the longest.
export function textFile(texts) {
  const letters = texts.map((text) => Array.from(text, (letter) => letter.codePointAt(0)));
  const longest = Math.max(1, ...letters.map(({ length }) => length)), data = new Uint32Array(texts.length * longest);
  letters.forEach((codes, at) => data.set(codes, at * longest));
  return file(`<U${longest}`, `(${texts.length},)`, new Uint8Array(data.buffer));
}

function file(kind, shape, data) {
  const header = `{'descr': '${kind}', 'fortran_order': False, 'shape': ${shape}, }`;
  const start = 10, filled = header.padEnd(ALIGNED * Math.ceil((start + header.length + 1) / ALIGNED) - start - 1);
  const length = filled.length + 1, magic = [0x93, ...encoder.encode("NUMPY"), 1, 0, length & 255, length >> 8];
  return joined([Uint8Array.from(magic), encoder.encode(`${filled}\n`), data]);
}

// The files of matrices {values, rows, columns}, with the labels of rows and columns: "values", "rows" and "columns",
// of several with their `name`, or with a number where they have none.
export function filesOf(matrices) {
  const files = {};
  matrices.forEach(({ name, values, rows, columns }, at) => {
    const which = matrices.length > 1 ? `_${name ?? at + 1}` : "";
    files[`values${which}`] = arrayFile(values.flatMap((row) => [...row]), [rows.length, columns.length]);
    files[`rows${which}`] = textFile(rows);
    files[`columns${which}`] = textFile(columns);
  });
  return files;
}

// The archive of files, {name: bytes}.
export function archive(files) {
  const parts = [], directory = [];
  let at = 0;
  for (const [name, data] of Object.entries(files)) {
    const called = encoder.encode(`${name}.npy`);
    // Version 2.0, no flags, stored; 1 January 1980; its checksum; its size, compressed and not; the name's length.
    const about = [[20, 2], [0, 2], [0, 2], [0, 2], [33, 2], [checksum(data), 4], [data.length, 4], [data.length, 4]];
    const head = numbers([[0x04034b50, 4], ...about, [called.length, 2], [0, 2]]);
    directory.push(
      numbers([[0x02014b50, 4], [20, 2], ...about, [called.length, 2], [0, 8], [0, 4], [at, 4]]),
      called,
    );
    parts.push(head, called, data);
    at += head.length + called.length + data.length;
  }
  const listed = joined(directory), count = Object.keys(files).length;
  const end = [[0x06054b50, 4], [0, 2], [0, 2], [count, 2], [count, 2], [listed.length, 4], [at, 4], [0, 2]];
  return joined([...parts, listed, numbers(end)]);
}

// Numbers of so many bytes each, the lowest first.
function numbers(pairs) {
  return Uint8Array.from(pairs.flatMap(([value, size]) => {
    return Array.from({ length: size }, (_, at) => Math.floor(value / 256 ** at) & 255);
  }));
}

function joined(parts) {
  const all = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

const TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let code = byte;
  for (let bit = 0; bit < 8; bit++) code = code & 1 ? (code >>> 1) ^ 0xedb88320 : code >>> 1;
  return code;
});

// CRC-32, as zip has it.
function checksum(bytes) {
  let code = 0xffffffff;
  for (const byte of bytes) code = (code >>> 8) ^ TABLE[(code ^ byte) & 255];
  return (code ^ 0xffffffff) >>> 0;
}
