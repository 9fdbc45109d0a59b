// Unpacks tiles (tiles.py) and bins (levels.py).

class Reader {
  constructor(buffer) {
    this.view = new DataView(buffer);
    this.bytes = new Uint8Array(buffer);
    this.at = 0;
  }

  u32() {
    this.at += 4;
    return this.view.getUint32(this.at - 4, true);
  }

  f64() {
    this.at += 8;
    return this.view.getFloat64(this.at - 8, true);
  }

  // One plane of bytes into every `width`-th byte of `target`.
  plane(target, offset, width, count) {
    if (this.bytes[this.at++] === 0) {
      const value = this.bytes[this.at++];
      if (value) for (let i = 0, to = offset; i < count; i += 1, to += width) target[to] = value;
      return;
    }
    const from = this.bytes.subarray(this.at, this.at + count);
    if (width === 1) target.set(from);
    else for (let i = 0, to = offset; i < count; i += 1, to += width) target[to] = from[i];
    this.at += count;
  }

  u8s(count) {
    const made = new Uint8Array(count);
    this.plane(made, 0, 1, count);
    return made;
  }

  u16s(count) {
    const made = new Uint16Array(count);
    for (let byte = 0; byte < 2; byte += 1) this.plane(new Uint8Array(made.buffer), byte, 2, count);
    return made;
  }

  u32s(count) {
    const made = new Uint32Array(count);
    for (let byte = 0; byte < 4; byte += 1) this.plane(new Uint8Array(made.buffer), byte, 4, count);
    return made;
  }

  i32s(count) {
    return new Int32Array(this.u32s(count).buffer);
  }

  // 48-bit integers, which a double represents exactly.
  u48s(count) {
    const low = this.u32s(count);
    const high = this.u16s(count);
    return Float64Array.from(low, (value, i) => value + high[i] * 2 ** 32);
  }
}

// Every row of a tile, as arrays of equal length.
function readTile(buffer, dataIsOut) {
  const reader = new Reader(buffer);
  const n = reader.u32();
  const outs = reader.u32();
  const start = reader.f64();
  const sides = [0, 1].map(() => ({ sequence: reader.f64(), payload: reader.f64(), ack: reader.f64(), window: reader.f64() }));
  let end = reader.f64();
  let acked = reader.f64();
  const time = reader.u48s(n);
  const out = reader.u8s(n);
  const context = reader.u8s(n);
  const reason = reader.u8s(n);
  const flags = reader.u8s(n);
  const unpredicted = reader.i32s(n);
  const cwnd = reader.u32s(n);
  const [sequences, acks, windows] = [reader.i32s(n), reader.i32s(n), reader.i32s(n)];
  const [payloads, gsos, wires] = [reader.u32s(n), reader.u16s(n), reader.u16s(n)];
  const made = {
    n, time, out, context, reason, flags, cwnd,
    sequence: new Float64Array(n), ack: new Float64Array(n), payload: new Uint32Array(n), window: new Uint32Array(n),
    gso: new Uint32Array(n), wire: new Uint32Array(n), unacked: new Uint32Array(n), advertised: new Uint32Array(n),
  };
  const next = [0, outs];
  let now = start;
  let packets = 0;
  let advertised = sides[dataIsOut ? 1 : 0].window;
  for (let i = 0; i < n; i += 1) {
    const inward = 1 - out[i];
    const from = next[inward]++;
    const side = sides[inward];
    side.sequence += side.payload + sequences[from];
    side.payload = payloads[from];
    side.ack += acks[from];
    side.window = (side.window + windows[from]) >>> 0;
    packets = (packets + cwnd[i]) >>> 0;
    now += time[i];
    if ((inward === 0) === dataIsOut) end = Math.max(end, side.sequence + side.payload);
    else {
      acked = Math.max(acked, side.ack);
      advertised = side.window;
    }
    time[i] = now;
    cwnd[i] = packets;
    made.sequence[i] = side.sequence;
    made.ack[i] = side.ack;
    made.payload[i] = side.payload;
    made.window[i] = side.window;
    made.gso[i] = gsos[from];
    made.wire[i] = wires[from];
    made.unacked[i] = end - acked + unpredicted[i];
    made.advertised[i] = advertised;
  }
  return made;
}

// Bins of one or more time ranges; `spans` are their first and last times, `count` the bins of each, including empty ones.
function readBins(buffer, spans, count) {
  const reader = new Reader(buffer);
  const lengths = Array.from({ length: reader.u32() }, () => reader.u32());
  const n = lengths.reduce((sum, length) => sum + length, 0);
  const number = reader.u16s(n);
  const rows = reader.u32s(n);
  const again = reader.u32s(n);
  const steps = () => {
    const last = reader.u32s(n);
    const low = reader.u32s(n);
    const high = reader.u32s(n);
    for (let i = 0; i < n; i += 1) {
      low[i] = last[i] - low[i];
      high[i] += last[i];
    }
    return { last, low, high };
  };
  const [unacked, advertised] = [steps(), steps()];
  const mask = () => {
    const both = new Uint32Array(2 * n);
    for (let byte = 0; byte < 8; byte += 1) reader.plane(new Uint8Array(both.buffer), byte, 8, n);
    return both;
  };
  const [sent, arrived] = [mask(), mask()];
  const ranges = [];
  let first = 0;
  lengths.forEach((length, index) => {
    const [start, end] = spans[index];
    const width = Math.ceil((end - start + 1) / count);
    ranges.push({ first, stop: first + length, start, width });
    first += length;
  });
  return { number, rows, again, unacked, advertised, sent, arrived, ranges };
}
