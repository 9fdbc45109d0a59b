// A track: its loaded tiles and bins, and their values in each pixel column.

const MAX_POINTS = 3000; // with more rows in view, they are drawn per pixel
const KEPT_TILES = 48;

class Columns {
  constructor(width) {
    this.width = width;
    this.rows = new Uint32Array(width);
    this.again = new Uint32Array(width);
    this.unacked = { last: new Float64Array(width), low: new Float64Array(width).fill(Infinity), high: new Float64Array(width).fill(-1), before: null };
    this.advertised = { last: new Float64Array(width), low: new Float64Array(width).fill(Infinity), high: new Float64Array(width).fill(-1), before: null };
    this.sent = new Uint32Array(2 * width);
    this.arrived = new Uint32Array(2 * width);
    this.points = []; // [tile, from, to] of rows in view, where there are few
    this.inView = 0;
    this.exact = true; // whether every row in view is from a tile
    this.missing = []; // blocks that are still loading
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

  // Loads a block once; calls `changed` when it is loaded.
  #load(name, file, read, keep, columns, changed) {
    if (!this.pending.has(name)) {
      const loading = store.get(`${this.number}${name}`, file)
        .then((buffer) => { keep(read(buffer)); })
        .catch((error) => { this.failed = error.message; })
        .finally(() => { this.pending.delete(name); changed(); });
      this.pending.set(name, loading);
    }
    columns.missing.push(this.pending.get(name));
  }

  #isAvailable(name) {
    return !this.failed && store.has(`${this.number}${name}`);
  }

  #topBins(columns, changed) {
    if (this.bins.has("top") || !this.#isAvailable("t0")) return this.bins.get("top");
    const spans = [[this.start, this.end]];
    this.#load("t0", `${this.number}`, (buffer) => readBins(buffer, spans, flow.topBins), (bins) => this.bins.set("top", bins), columns, changed);
    return undefined;
  }

  #groupBins(tile, columns, changed) {
    const group = Math.floor(tile / flow.group);
    if (this.bins.has(group) || !this.#isAvailable(`m${group}`)) return this.bins.get(group);
    const spans = this.about.tiles.slice(group * flow.group, (group + 1) * flow.group);
    this.#load(`m${group}`, `${this.number}`, (buffer) => readBins(buffer, spans, flow.tileBins), (bins) => this.bins.set(group, bins), columns, changed);
    return undefined;
  }

  #tileRows(tile, columns, changed) {
    const known = this.raw.get(tile);
    if (known) {
      this.raw.delete(tile);
      this.raw.set(tile, known);
      return known;
    }
    if (!this.#isAvailable(`r${tile}`)) return undefined;
    const file = this.about.tiles.length > 1 ? `${this.number}-${tile}` : `${this.number}`;
    const keep = (rows) => {
      this.raw.set(tile, rows);
      for (const old of this.raw.keys()) {
        if (this.raw.size <= KEPT_TILES) break;
        this.raw.delete(old);
      }
    };
    this.#load(`r${tile}`, file, (buffer) => readTile(buffer, this.about.role === "sender"), keep, columns, changed);
    return undefined;
  }

  // Loads all bins in idle time, one group after another, so that the first zoom does not wait.
  async preloadBins() {
    const preloaded = { missing: [] };
    const groups = this.about.tiles.length > 1 ? Math.ceil(this.about.tiles.length / flow.group) : 0;
    for (let group = 0; group < groups; group += 1) {
      await idle();
      preloaded.missing.length = 0;
      this.#groupBins(group * flow.group, preloaded, () => {});
      await Promise.all(preloaded.missing);
    }
  }

  // The tile that contains a time, or the last one before it.
  tileAt(time) {
    let [low, high] = [0, this.about.tiles.length - 1];
    while (low < high) {
      const center = (low + high + 1) >> 1;
      if (this.about.tiles[center][0] <= time) low = center;
      else high = center - 1;
    }
    return low;
  }

  // The values of each of `width` columns between two times, from the most exact blocks that are loaded; calls `changed` when a
  // more exact block is loaded.
  columns(start, end, width, changed) {
    const columns = new Columns(width);
    const scale = width / (end - start);
    const { tiles } = this.about;
    const single = tiles.length === 1;
    const [first, last] = [this.tileAt(start), this.tileAt(end)];
    const topWidth = ((this.end - this.start) / flow.topBins) * scale;
    if (this.start < start) {
      columns.unacked.before = tiles[first][3];
      columns.advertised.before = tiles[first][4];
    }
    if (!single && topWidth <= 1) {
      const top = this.#topBins(columns, changed);
      if (top) this.#addBins(columns, top, top.ranges[0], start, scale);
      columns.exact = false;
      return columns;
    }
    for (let tile = first; tile <= last; tile += 1) {
      const [from, to] = tiles[tile];
      if (to < start) {
        // Only its last row matters: its values hold until the start of the view.
        this.#setValueBefore(columns, tile, start, changed);
        continue;
      }
      const rows = single || (to - from) * scale > flow.tileBins
        ? this.#tileRows(tile, columns, changed) : this.raw.get(tile);
      if (rows) {
        this.#addRows(columns, rows, start, end, scale);
        continue;
      }
      columns.exact = false;
      if (single) continue;
      const bins = this.#groupBins(tile, columns, changed);
      if (bins) this.#addBins(columns, bins, bins.ranges[tile % flow.group], start, scale);
      else {
        const top = this.#topBins(columns, changed);
        if (top) this.#addBins(columns, top, top.ranges[0], start, scale, from, to);
      }
    }
    if (!columns.exact || columns.inView > MAX_POINTS) columns.points = [];
    return columns;
  }

  #setValueBefore(columns, tile, start, changed) {
    const next = this.about.tiles[tile + 1];
    if (next) {
      columns.unacked.before = next[3];
      columns.advertised.before = next[4];
      return;
    }
    columns.unacked.before = columns.advertised.before = null; // the connection has ended
  }

  #addRows(columns, rows, start, end, scale) {
    let from = lowerBound(rows.time, start);
    const to = lowerBound(rows.time, end);
    if (from > 0) {
      columns.unacked.before ??= 0;
      if (!columns.inView) {
        columns.unacked.before = rows.unacked[from - 1];
        columns.advertised.before = rows.advertised[from - 1];
      }
    }
    columns.points.push([rows, from, to]);
    columns.inView += to - from;
    for (; from < to; from += 1) {
      const x = Math.min(columns.width - 1, Math.floor((rows.time[from] - start) * scale));
      columns.rows[x] += 1;
      if (rows.reason[from] >= 16) columns.again[x] += 1;
      Columns.step(columns.unacked, x, rows.unacked[from], rows.unacked[from], rows.unacked[from]);
      Columns.step(columns.advertised, x, rows.advertised[from], rows.advertised[from], rows.advertised[from]);
      if (rows.payload[from]) {
        const bit = this.bit[rows.payload[from]];
        (rows.out[from] ? columns.sent : columns.arrived)[2 * x + (bit >> 5)] |= 1 << (bit & 31);
      }
    }
  }

  #addBins(columns, bins, range, start, scale, from = -Infinity, to = Infinity) {
    for (let i = range.first; i < range.stop; i += 1) {
      const center = range.start + (bins.number[i] + 0.5) * range.width;
      if (center < from || center > to) continue;
      const x = Math.floor((center - start) * scale);
      if (x < 0) {
        columns.unacked.before = bins.unacked.last[i];
        columns.advertised.before = bins.advertised.last[i];
        continue;
      }
      if (x >= columns.width) break;
      columns.rows[x] += bins.rows[i];
      columns.inView += bins.rows[i];
      columns.again[x] += bins.again[i];
      for (const name of ["unacked", "advertised"]) {
        Columns.step(columns[name], x, bins[name].last[i], bins[name].low[i], bins[name].high[i]);
      }
      for (const name of ["sent", "arrived"]) {
        columns[name][2 * x] |= bins[name][2 * i];
        columns[name][2 * x + 1] |= bins[name][2 * i + 1];
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
    const center = (low + high) >> 1;
    if (sorted[center] < value) low = center + 1;
    else high = center;
  }
  return low;
}
