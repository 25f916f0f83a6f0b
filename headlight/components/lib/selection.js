// A head { kind, layer, head }, counted from 0, and its text in addresses, "cross.3.4", counted from 1; as HeadRef of
// transformer/model/head_ref.py. null stands for every layer or head: "cross.all.all".

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
