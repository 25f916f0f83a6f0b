// Looking into what a picture is drawn from: shapes as headlight/components/export/svg.js has them.

export const measure = (text, size) => 0.5 * size * [...text].length; // every letter half as wide as it is high

// All shapes of a tag, the outer ones first.
export function every(parts, tag) {
  return parts.flatMap((part) => {
    if (typeof part === "string") return [];
    return [...(part.tag === tag ? [part] : []), ...every(part.children, tag)];
  });
}

// What a shape says, with all that is in it.
export const textOf = (part) => (typeof part === "string" ? part : part.children.map(textOf).join(""));

export const textsOf = (parts, tag = "text") => every(parts, tag).map(textOf);

// The shapes of the group of a class.
export const within = (parts, name) => every(parts, "g").find(({ attributes }) => attributes.class === name).children;

export const numbersOf = (shapes, name) => shapes.map(({ attributes }) => Number(attributes[name]));
