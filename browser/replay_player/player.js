// The film player. All numbers and sentences come from Python; here they are only shown, one moment at a time.
// Token text is hostile until it is set as text. Python puts drawing.js, playhead.js and the other files before it.

const MILLISECONDS_A_MOMENT = 700;
const NEWEST = -1; // what the address says of the end of a film that grows, as in __init__.py
const HALF_A_THUMB = 8; // of the slider

class Player {
  constructor(root) {
    this.find = (selector) => root.querySelector(selector);
    this.playhead = new Playhead(this.find, 0, MILLISECONDS_A_MOMENT, {
      draw: () => this.show(),
      words: (moment) => (this.data.following && moment === this.playhead.last ? NEWEST : this.data.steps[moment]),
      send: (step) => this.setTriggerValue("step", step),
    });
    this.playhead.startAnew();
    const seek = (moment) => this.playhead.seek(moment);
    const tell = (selector) => (text) => (this.find(`${selector} .readout`).textContent = text);
    this.strip = new FilmStrip(this.find(".strip"), seek);
    const choose = (layer, head) => this.setTriggerValue("head", [layer, head]);
    this.overview = new Overview(this.find(".all"), tell(".heads"), choose);
    this.map = new HeadMap(this.find(".large"), tell(".head"));
    this.curves = [];
    this.newCurve = () => new Curve(seek);
    this.resized = new ResizeObserver(() => this.data && this.arrange());
    this.resized.observe(this.find(".player"));
  }

  get moment() {
    return this.playhead.at;
  }

  receive(data) {
    const step = this.data?.steps[this.moment]; // where it stands; in a film that grows, moments may be thinned out
    const atTheEnd = this.data?.following && this.moment === this.playhead.last;
    this.data = data;
    this.maps = new Maps(data);
    this.playhead.last = data.steps.length - 1;
    if (this.playhead.isNews(data.step)) this.playhead.place(this.nearest(data.step));
    else this.playhead.place(this.nearest(atTheEnd ? NEWEST : step));
    this.layOut();
    this.arrange();
  }

  leave() {
    this.playhead.leave();
    this.resized.disconnect();
  }

  nearest(step) {
    if (step === NEWEST) return this.playhead.last;
    const distances = this.data.steps.map((other) => Math.abs(other - step));
    return distances.indexOf(Math.min(...distances));
  }

  // What does not change from moment to moment

  layOut() {
    const { data } = this;
    this.find(".source").textContent = data.source;
    this.find(".target span").textContent = data.target;
    this.find(".head h2").textContent = `${data.kind}, ${data.name}`;
    this.find(".axes").textContent = data.axes;
    this.find(".chips").replaceChildren(
      ...data.next.map((token) => {
        const item = element("li"), bar = element("span", "bar");
        bar.append(element("i"));
        item.append(element("span", "token", token), bar, element("span", "note"));
        return item;
      }),
    );
    while (this.curves.length < data.curves.length) this.curves.push(this.newCurve());
    this.curves.length = data.curves.length;
    this.curves.forEach((curve, index) => curve.receive(data.curves[index], data));
    this.find(".curves").replaceChildren(...this.curves.map((curve) => curve.figure));
  }

  // Fit everything to the room there is.
  arrange() {
    for (const curve of this.curves) curve.layOut(curve.figure.clientWidth);
    this.show();
  }

  // One moment

  show() {
    const { data, moment, maps } = this, now = data.moments[moment];
    this.playhead.show(now.spoken);
    this.find(".place").textContent = now.place;
    this.find(".text").textContent = now.wrote;
    this.find(".more").textContent = now.more;
    this.find(".target b").textContent = now.right ? "✓ exactly" : "";
    this.find(".now").textContent = now.head;
    this.showChances();
    this.curves.forEach((curve) => curve.show(moment));
    this.strip.draw(data, maps, moment, Math.floor(this.find(".reel").clientWidth));
    const slider = this.find(".slider").style, margin = this.strip.edge - HALF_A_THUMB;
    slider.marginInline = `${margin}px`; // so that the thumb stands above its frame
    slider.width = `calc(100% - ${2 * margin}px)`;
    this.overview.draw(data, maps, moment, this.find(".heads").clientWidth);
    this.map.draw(data, maps, moment, this.find(".large").clientWidth);
  }

  showChances() {
    const chips = this.find(".chips").children;
    this.data.chances[this.moment].forEach(([chance, words], place) => {
      chips[place].querySelector("i").style.width = `${(chance * 100).toFixed(1)}%`;
      chips[place].lastChild.textContent = words;
    });
  }
}

export default mounted(Player);
