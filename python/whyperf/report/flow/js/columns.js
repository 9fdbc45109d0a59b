// A track: its tiles as far as they are loaded, and what of them falls into each pixel column.

const MOST_POINTS = 3000; // rows in view that are still drawn one by one
const KEPT_TILES = 48;

class Columns {
  constructor(width) {
    this.width = width;
    this.rows = new Uint32Array(width);
    this.again = new Uint32Array(width);
    this.unacked = { last: new Float64Array(width), low: new Float64Array(width).fill(Infinity), high: new Float64Array(width).fill(-1), before: null };
    this.announced = { last: new Float64Array(width), low: new Float64Array(width).fill(Infinity), high: new Float64Array(width).fill(-1), before: null };
    this.sent = new Uint32Array(2 * width);
    this.arrived = new Uint32Array(2 * width);
    this.points = []; // [tile, from, to] of rows in view, where there are few
    this.inView = 0;
    this.exact = true; // whether every row in view was taken from a tile of rows
    this.missing = []; // what is still loading
  }

  static step(series, x, last, low, high) {
    series.last[x] = last;
    if (low < series.low[x]) series.low[x] = low;
    if (high > series.high[x]) series.high[x] = high;
  }
}

class Track {
  constructor(number, about) {
    this.number = number;
    this.about = about;
    this.start = about.tiles[0][0];
    this.end = about.tiles.at(-1)[1];
    this.raw = new Map(); // tile -> rows, in the order of their last use
    this.bins = new Map(); // group, or "top" -> bins
    this.pending = new Map();
    this.failed = null;
    this.bit = new Uint8Array((about.sizes.at(-1)?.[1] ?? 0) + 1);
    about.sizes.forEach(([low, high], bit) => this.bit.fill(bit, low, high + 1));
  }

  // Loads a block once; `changed` is called when it is there.
  #want(name, file, read, keep, columns, changed) {
    if (!this.pending.has(name)) {
      const loading = store.get(`${this.number}${name}`, file)
        .then((buffer) => { keep(read(buffer)); })
        .catch((error) => { this.failed = error.message; })
        .finally(() => { this.pending.delete(name); changed(); });
      this.pending.set(name, loading);
    }
    columns.missing.push(this.pending.get(name));
  }

  #can(name) {
    return !this.failed && store.has(`${this.number}${name}`);
  }

  #top(columns, changed) {
    if (this.bins.has("top") || !this.#can("t0")) return this.bins.get("top");
    const spans = [[this.start, this.end]];
    this.#want("t0", `${this.number}`, (buffer) => readBins(buffer, spans, flow.topBins), (made) => this.bins.set("top", made), columns, changed);
    return undefined;
  }

  #group(tile, columns, changed) {
    const group = Math.floor(tile / flow.group);
    if (this.bins.has(group) || !this.#can(`m${group}`)) return this.bins.get(group);
    const spans = this.about.tiles.slice(group * flow.group, (group + 1) * flow.group);
    this.#want(`m${group}`, `${this.number}`, (buffer) => readBins(buffer, spans, flow.tileBins), (made) => this.bins.set(group, made), columns, changed);
    return undefined;
  }

  #tile(tile, columns, changed) {
    const known = this.raw.get(tile);
    if (known) {
      this.raw.delete(tile);
      this.raw.set(tile, known);
      return known;
    }
    if (!this.#can(`r${tile}`)) return undefined;
    const file = this.about.tiles.length > 1 ? `${this.number}-${tile}` : `${this.number}`;
    const keep = (made) => {
      this.raw.set(tile, made);
      for (const old of this.raw.keys()) {
        if (this.raw.size <= KEPT_TILES) break;
        this.raw.delete(old);
      }
    };
    this.#want(`r${tile}`, file, (buffer) => readTile(buffer, this.about.role === "sender"), keep, columns, changed);
    return undefined;
  }

  // Reads all bins beforehand, one group after another while nothing else is to be done: the first zoom need not wait.
  async warm() {
    const unseen = { missing: [] };
    const groups = this.about.tiles.length > 1 ? Math.ceil(this.about.tiles.length / flow.group) : 0;
    for (let group = 0; group < groups; group += 1) {
      await idle();
      unseen.missing.length = 0;
      this.#group(group * flow.group, unseen, () => {});
      await Promise.all(unseen.missing);
    }
  }

  // The tile in which an instant lies, or the last one before it.
  tileAt(time) {
    let [low, high] = [0, this.about.tiles.length - 1];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.about.tiles[middle][0] <= time) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  // What falls into each of `width` columns between two instants, from the best that is loaded; `changed` is called when better came.
  columns(start, end, width, changed) {
    const made = new Columns(width);
    const scale = width / (end - start);
    const { tiles } = this.about;
    const single = tiles.length === 1;
    const [first, last] = [this.tileAt(start), this.tileAt(end)];
    const topWidth = ((this.end - this.start) / flow.topBins) * scale;
    if (this.start < start) {
      made.unacked.before = tiles[first][3];
      made.announced.before = tiles[first][4];
    }
    if (!single && topWidth <= 1) {
      const top = this.#top(made, changed);
      if (top) this.#addBins(made, top, top.stretches[0], start, scale);
      made.exact = false;
      return made;
    }
    for (let tile = first; tile <= last; tile += 1) {
      const [from, to] = tiles[tile];
      if (to < start) {
        // Only its last row matters: it holds until the view begins.
        this.#hold(made, tile, start, changed);
        continue;
      }
      const rows = single || (to - from) * scale > flow.tileBins
        ? this.#tile(tile, made, changed) : this.raw.get(tile);
      if (rows) {
        this.#addRows(made, rows, start, end, scale);
        continue;
      }
      made.exact = false;
      if (single) continue;
      const bins = this.#group(tile, made, changed);
      if (bins) this.#addBins(made, bins, bins.stretches[tile % flow.group], start, scale);
      else {
        const top = this.#top(made, changed);
        if (top) this.#addBins(made, top, top.stretches[0], start, scale, from, to);
      }
    }
    if (!made.exact || made.inView > MOST_POINTS) made.points = [];
    return made;
  }

  #hold(made, tile, start, changed) {
    const next = this.about.tiles[tile + 1];
    if (next) {
      made.unacked.before = next[3];
      made.announced.before = next[4];
      return;
    }
    made.unacked.before = made.announced.before = null; // the connection is over
  }

  #addRows(made, rows, start, end, scale) {
    let from = lowerBound(rows.time, start);
    const to = lowerBound(rows.time, end);
    if (from > 0) {
      made.unacked.before ??= 0;
      if (!made.inView) {
        made.unacked.before = rows.unacked[from - 1];
        made.announced.before = rows.announced[from - 1];
      }
    }
    made.points.push([rows, from, to]);
    made.inView += to - from;
    for (; from < to; from += 1) {
      const x = Math.min(made.width - 1, Math.floor((rows.time[from] - start) * scale));
      made.rows[x] += 1;
      if (rows.reason[from] >= 16) made.again[x] += 1;
      Columns.step(made.unacked, x, rows.unacked[from], rows.unacked[from], rows.unacked[from]);
      Columns.step(made.announced, x, rows.announced[from], rows.announced[from], rows.announced[from]);
      if (rows.payload[from]) {
        const bit = this.bit[rows.payload[from]];
        (rows.out[from] ? made.sent : made.arrived)[2 * x + (bit >> 5)] |= 1 << (bit & 31);
      }
    }
  }

  #addBins(made, bins, stretch, start, scale, from = -Infinity, to = Infinity) {
    for (let i = stretch.first; i < stretch.stop; i += 1) {
      const middle = stretch.start + (bins.number[i] + 0.5) * stretch.width;
      if (middle < from || middle > to) continue;
      const x = Math.floor((middle - start) * scale);
      if (x < 0) {
        made.unacked.before = bins.unacked.last[i];
        made.announced.before = bins.announced.last[i];
        continue;
      }
      if (x >= made.width) break;
      made.rows[x] += bins.rows[i];
      made.inView += bins.rows[i];
      made.again[x] += bins.again[i];
      for (const name of ["unacked", "announced"]) {
        Columns.step(made[name], x, bins[name].last[i], bins[name].low[i], bins[name].high[i]);
      }
      for (const name of ["sent", "arrived"]) {
        made[name][2 * x] |= bins[name][2 * i];
        made[name][2 * x + 1] |= bins[name][2 * i + 1];
      }
    }
  }
}

const idle = () => new Promise((done) => {
  if (window.requestIdleCallback) requestIdleCallback(done, { timeout: 300 });
  else setTimeout(done, 20);
});

function lowerBound(sorted, value) {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle] < value) low = middle + 1;
    else high = middle;
  }
  return low;
}
