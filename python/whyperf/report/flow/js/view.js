// The time range in view, which all figures share, and its drawing.

const MIN_SPAN = 200; // ns

class View {
  constructor(place) {
    this.place = place;
    this.hidden = new Set();
    this.fit = false;
    this.track = null;
    this.columns = null;
    this.listeners = [];
    this.map = new Panel(place.querySelector(".flow-map"), 44);
    this.ruler = new Panel(place.querySelector(".flow-ruler"), 22);
    this.panels = [...place.querySelectorAll(".flow-panel")].map((element) => {
      const panel = new Panel(element, +element.dataset.height);
      panel.figure = element.dataset.figure;
      return panel;
    });
    this.style = readStyle();
    const restyle = () => {
      this.style = readStyle();
      this.requestDraw();
    };
    new ResizeObserver(() => this.requestDraw()).observe(place);
    new MutationObserver(restyle).observe(document.documentElement, { attributeFilter: ["data-theme"] });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", restyle);
  }

  // The time range of the whole track, with a small margin.
  get whole() {
    const margin = Math.max(100, (this.track.end - this.track.start) * 0.004);
    return { start: this.track.start - margin, end: this.track.end + margin };
  }

  showTrack(track) {
    const before = this.track;
    this.track = track;
    const { start, end } = this.whole;
    if (!before || this.start >= end || this.end <= start || this.isWhole) this.show(start, end);
    else this.show(this.start, this.end);
  }

  show(start, end) {
    const whole = this.whole;
    const length = Math.min(Math.max(end - start, MIN_SPAN), whole.end - whole.start);
    const center = (start + end) / 2;
    this.start = Math.min(Math.max(center - length / 2, whole.start), whole.end - length);
    this.end = this.start + length;
    this.isWhole = length >= (whole.end - whole.start) * 0.999;
    this.requestDraw();
  }

  zoom(factor, around = (this.start + this.end) / 2) {
    this.show(around - (around - this.start) * factor, around + (this.end - around) * factor);
  }

  pan(part) {
    const by = (this.end - this.start) * part;
    this.show(this.start + by, this.end + by);
  }

  requestDraw() {
    if (this.drawRequested || !this.track) return;
    this.drawRequested = true;
    requestAnimationFrame(() => {
      this.drawRequested = false;
      this.draw();
    });
  }

  // Where a time lies, in device pixels right of the data's left edge; and back.
  x = (time) => (time - this.start) * this.scale;

  timeAt = (cssX) => this.start + ((cssX - this.left) * this.ratio) / this.scale;

  draw() {
    const began = performance.now();
    this.ratio = devicePixelRatio || 1;
    this.left = this.place.clientWidth < 560 ? 54 : 64;
    for (const panel of [this.map, this.ruler, ...this.panels]) panel.resize(this.style, this.left);
    this.width = this.map.right - this.map.left;
    if (this.width < 10) return;
    this.scale = this.width / (this.end - this.start);
    this.until = Math.max(0, Math.ceil(this.x(this.track.end)) + 1);
    Object.assign(this, timeTicks(this.start, this.end, this.width / this.ratio / 96));
    const changed = () => this.requestDraw();
    this.columns = this.track.columns(this.start, this.end, this.width, changed);
    const whole = this.whole;
    const map = this.isWhole ? this.columns : this.track.columns(whole.start, whole.end, this.width, changed);
    drawOverview(this.map, map, this, whole);
    drawTimeAxis(this.ruler, this);
    for (const panel of this.panels) FIGURES[panel.figure](panel, this.columns, this);
    this.drawnIn = performance.now() - began;
    for (const listener of this.listeners) listener();
  }

  // Waits until everything in view is loaded and drawn; for tests and other scripts.
  async settled() {
    do {
      await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
      if (this.columns?.missing.length) await Promise.all(this.columns.missing);
    } while (this.drawRequested || this.columns?.missing.length);
  }
}

function readStyle() {
  const style = getComputedStyle(document.querySelector(".flow"));
  const names = ["page", "raised", "ink", "faint", "accent", "grid", "shade", "sent", "arrived", "window", "again", "bar", "font"];
  return Object.fromEntries(names.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
}
