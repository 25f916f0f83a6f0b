// What our players share: the colour of a weight, numbers that travelled as bytes, elements with text.

const blue = (weight) => `rgba(31, 119, 224, ${(0.03 + 0.69 * weight).toFixed(3)})`;
const floats = (text) => new Float32Array(bytes(text).buffer);
const sixteenBits = (text) => new Uint16Array(bytes(text).buffer);
const bytes = (text) => Uint8Array.from(atob(text), (character) => character.charCodeAt(0));

function element(tag, className, text) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}

function shortened(token) {
  return token.length > 12 ? `${token.slice(0, 11)}…` : token;
}

