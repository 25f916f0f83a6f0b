// What our components share: the colour of a weight, numbers that travelled as bytes, elements with text, canvases.

const FRAME = "rgba(128, 128, 128, 0.55)";
const blue = (weight) => `rgba(31, 119, 224, ${(0.03 + 0.69 * weight).toFixed(3)})`;
const floats = (text) => new Float32Array(bytes(text).buffer);
const sixteenBits = (text) => new Uint16Array(bytes(text).buffer);
function bytes(text) {
  const raw = atob(text), made = new Uint8Array(raw.length);
  for (let index = 0; index < raw.length; index++) made[index] = raw.charCodeAt(index);
  return made;
}

function element(tag, className, text) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}

function shortened(token) {
  return token.length > 12 ? `${token.slice(0, 11)}…` : token;
}

// A canvas of this size in the page's pixels, ready to draw text and maps in the page's own colour.
function prepare(canvas, width, height) {
  const ratio = window.devicePixelRatio || 1, style = getComputedStyle(canvas);
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  const pen = canvas.getContext("2d");
  pen.scale(ratio, ratio);
  pen.imageSmoothingEnabled = false;
  pen.font = `12px ${style.fontFamily}`;
  pen.fillStyle = style.color;
  pen.textAlign = "center";
  return pen;
}

