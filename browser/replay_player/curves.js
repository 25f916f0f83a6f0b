// A curve over the training with a marker at the moment shown. Its numbers, ticks and words come from Python.

const SVG = "http://www.w3.org/2000/svg";
const LEFT = 34, RIGHT = 16, TOP = 8, BOTTOM = 20, HEIGHT = 112; // pixels around the curve, and in all

function drawn(tag, attributes, text) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

class Curve {
  // seek(moment) is told where the pointer went down or was dragged.
  constructor(seek) {
    this.figure = element("figure");
    this.title = element("span");
    this.said = element("b");
    const caption = element("figcaption");
    caption.append(this.title, this.said);
    this.picture = drawn("svg", { role: "img" });
    this.picture.onpointerdown = this.picture.onpointermove = (event) => {
      if (event.buttons & 1) seek(Math.round(this.moment(event.clientX - this.picture.getBoundingClientRect().left)));
    };
    this.figure.append(caption, this.picture);
  }

  x(place) {
    return LEFT + (place / this.length) * (this.width - LEFT - RIGHT);
  }

  y(value) {
    return TOP + (1 - Math.min(1, value / this.curve.high)) * (HEIGHT - TOP - BOTTOM);
  }

  moment(x) {
    return ((x - LEFT) / (this.width - LEFT - RIGHT)) * this.length;
  }

  receive(curve, data) {
    Object.assign(this, { curve, length: data.length, steps: data.ticks });
    this.title.textContent = curve.title;
  }

  // Draw what does not change from moment to moment into this width.
  layOut(width) {
    this.width = width;
    const { picture, curve } = this;
    picture.setAttribute("viewBox", `0 0 ${width} ${HEIGHT}`);
    picture.setAttribute("width", width);
    picture.setAttribute("height", HEIGHT);
    const parts = curve.ticks.flatMap(([value, label]) => [
      drawn("line", { class: "grid", x1: LEFT, x2: width - RIGHT, y1: this.y(value), y2: this.y(value) }),
      drawn("text", { x: LEFT - 6, y: this.y(value) + 4, "text-anchor": "end" }, label),
    ]);
    const every = (width - LEFT - RIGHT) / this.steps.length < ROOM_FOR_A_STEP ? 2 : 1;
    this.steps.forEach(([place, label], index) => {
      if (index % every) return;
      parts.push(drawn("text", { x: this.x(place), y: HEIGHT - 4, "text-anchor": "middle" }, label));
    });
    this.marker = drawn("line", { class: "marker", y1: TOP, y2: HEIGHT - BOTTOM });
    this.dot = drawn("circle", { class: "dot", r: 4.5 });
    picture.replaceChildren(...parts, ...curve.lines.flatMap((line) => this.line(line)), this.marker, this.dot);
  }

  line({ x, y, faint, dots }) {
    const points = x.map((place, index) => [this.x(place), this.y(y[index])]);
    const path = drawn("polyline", { class: faint ? "faint" : "main", points: points.join(" ") });
    return [path, ...(dots ? points.map(([cx, cy]) => drawn("circle", { class: "point", cx, cy, r: 2.5 })) : [])];
  }

  show(moment) {
    const at = this.curve.at[moment], said = this.curve.said[moment];
    this.said.textContent = said || "–";
    this.picture.setAttribute("aria-label", `${this.curve.title}: ${said || "not yet known"}`);
    this.marker.setAttribute("x1", this.x(moment));
    this.marker.setAttribute("x2", this.x(moment));
    this.dot.setAttribute("visibility", at ? "visible" : "hidden");
    if (!at) return;
    this.dot.setAttribute("cx", this.x(at[0]));
    this.dot.setAttribute("cy", this.y(at[1]));
  }
}

