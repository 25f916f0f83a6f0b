// The selection and its text in addresses, as Selection of headlight/app/selection.py and Head of
// transformer/model/heads.py. A head is { kind, layer, head }, counted from 0; in addresses "cross.3.4", counted
// from 1. null stands for every layer or head: "cross.all.all".

const EVERY = "all";
const TEXT = /^(encoder|decoder|cross)\.([1-9]\d{0,3}|all)\.([1-9]\d{0,3}|all)$/;

export function headAddress({ kind, layer, head }) {
  const text = (number) => (number === null ? EVERY : number + 1);
  return `${kind}.${text(layer)}.${text(head)}`;
}

// The head of an address, null for any other text.
export function parseHead(text) {
  const [, kind, ...numbers] = TEXT.exec(text ?? "") ?? [], isHead = kind !== undefined;
  const [layer, head] = numbers.map((number) => (number === EVERY ? null : Number(number) - 1));
  return isHead ? { kind, layer, head } : null;
}

export const headsAddress = (heads) => heads.map(headAddress).join("-");

// The single heads of an address that a model has, each once. shapes: { kind: [layers, heads] }.
export function parseHeads(text, shapes) {
  const isThere = ({ kind, layer, head }) => {
    return layer !== null && head !== null && layer < shapes[kind]?.[0] && head < shapes[kind]?.[1];
  };
  const addresses = new Set((text ?? "").split("-"));
  return [...addresses].map(parseHead).filter((each) => each && isThere(each));
}

export const isSameHead = (one, other) => headAddress(one) === headAddress(other);

// The numbers from 0 below `count` that a text such as "2.5" names, which counts from 1.
export function parseNumbers(text, count = Infinity) {
  const numbers = /^\d{1,4}(\.\d{1,4})*$/.test(text ?? "") ? text.split(".").map((each) => Number(each) - 1) : [];
  return [...new Set(numbers)].filter((each) => each >= 0 && each < count).sort((one, other) => one - other);
}

export const numbersAddress = (numbers) => numbers.map((number) => number + 1).join(".");

// The selection { heads, queries, keys } of an address: heads of one kind, those of `start` where they are invalid.
// sizes: { kind: [layers, heads, queries, keys] }.
export function parseSelection({ head = "", query, key }, sizes, start) {
  const parsed = head.split("-").map(parseHead), kind = parsed[0]?.kind;
  const isThere = (each) => each?.kind === kind && each.layer < sizes[kind][0] && each.head < sizes[kind][1];
  const heads = kind && parsed.every(isThere) ? expand(parsed, sizes[kind]) : [start];
  const [, , queries, keys] = sizes[heads[0].kind];
  return Object.freeze({ heads, queries: parseNumbers(query, queries), keys: parseNumbers(key, keys) });
}

// The single heads that these stand for, each once.
function expand(heads, [layers, perLayer]) {
  const range = (number, count) => (number === null ? Array.from({ length: count }, (_, at) => at) : [number]);
  const ofLayer = (kind, layer, heads) => heads.map((head) => ({ kind, layer, head }));
  const single = heads.flatMap(({ kind, layer, head }) => {
    return range(layer, layers).flatMap((each) => ofLayer(kind, each, range(head, perLayer)));
  });
  return single.filter((each, at) => single.findIndex((other) => isSameHead(each, other)) === at);
}

export const selectionAddress = ({ heads, queries, keys }) => ({
  head: headsAddress(heads), query: numbersAddress(queries), key: numbersAddress(keys),
});
