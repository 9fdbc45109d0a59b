// Draws on canvases. All positions are in device pixels, so that a column of data is a column of the screen.

class Panel {
  constructor(place, height) {
    this.place = place;
    this.height = height;
    this.canvas = document.createElement("canvas");
    this.canvas.style.height = `${height}px`;
    place.append(this.canvas);
    this.context = this.canvas.getContext("2d");
    this.shown = null; // positions of the last drawing, for the pointer
  }

  // Fits the canvas to its place and clears it; `left` is the left edge of the data.
  resize(style, left) {
    const ratio = devicePixelRatio || 1;
    const [width, height] = [Math.round(this.place.clientWidth * ratio), Math.round(this.height * ratio)];
    if (this.canvas.width !== width || this.canvas.height !== height) {
      this.canvas.width = width;
      this.canvas.height = height;
    } else this.context.clearRect(0, 0, width, height);
    this.ratio = ratio;
    this.left = Math.round(left * ratio);
    this.right = width;
    this.top = Math.round(6 * ratio);
    this.bottom = height - Math.round(6 * ratio);
    this.thick = Math.max(1, Math.round(1.4 * ratio));
    this.style = style;
  }

  // The value axis with its grid lines: from 0 or, if `fit` is set, from about the lowest value.
  drawValueAxis(lowest, highest, binary, { rows = 3, fit = false } = {}) {
    const { bottom, top, ticks, write } = valueTicks(lowest, highest, binary, rows, fit);
    const { context: c, style } = this;
    this.y = (value) => this.bottom - ((value - bottom) / (top - bottom)) * (this.bottom - this.top);
    c.font = `${Math.round(11.5 * this.ratio)}px ${style.font}`;
    c.textAlign = "right";
    c.textBaseline = "middle";
    for (const value of ticks) {
      const y = Math.round(this.y(value));
      c.fillStyle = style.grid;
      c.fillRect(this.left, y, this.right - this.left, 1);
      c.fillStyle = style.faint;
      c.fillText(write(value), this.left - 8 * this.ratio, Math.min(Math.max(y, this.top), this.bottom - 2));
    }
  }

  drawTimeGrid(ticks, x) {
    this.context.fillStyle = this.style.grid;
    for (const { at } of ticks) this.context.fillRect(this.left + Math.round(x(at)), this.top, 1, this.bottom - this.top);
  }

  // A step line: a value holds until the next row.
  drawSteps(columns, series, color, until) {
    const { context: c, thick } = this;
    const half = thick >> 1;
    const end = Math.min(columns.width, until);
    let value = series.before;
    let from = 0;
    c.fillStyle = color;
    for (let x = 0; x < end; x += 1) {
      if (!columns.rows[x]) continue;
      let [low, high] = [series.low[x], series.high[x]];
      if (value !== null) {
        c.fillRect(this.left + from, Math.round(this.y(value)) - half, x - from, thick);
        low = Math.min(low, value);
        high = Math.max(high, value);
      }
      const y = Math.round(this.y(high)) - half;
      c.fillRect(this.left + x - half, y, thick, Math.round(this.y(low)) - half - y + thick);
      value = series.last[x];
      from = x;
    }
    if (value !== null && end > from) c.fillRect(this.left + from, Math.round(this.y(value)) - half, end - from, thick);
  }

  // Payload sizes: a mark in every column with a payload of that size; neighboring columns share a mark.
  drawSizes(columns, masks, bounds, color) {
    const { context: c } = this;
    c.fillStyle = color;
    bounds.forEach(([low, high], bit) => {
      const [word, flag] = [bit >> 5, 1 << (bit & 31)];
      const y = Math.round(this.y(high)) - (this.thick >> 1);
      const height = Math.max(this.thick, Math.round(this.y(low)) - y);
      let from = -1;
      for (let x = 0; x <= columns.width; x += 1) {
        const here = x < columns.width && masks[2 * x + word] & flag;
        if (here && from < 0) from = x;
        else if (!here && from >= 0) {
          c.fillRect(this.left + from, y, Math.max(this.thick, x - from), height);
          from = -1;
        }
      }
    });
  }

  // Bars of equal time steps, from `strip.start` on.
  drawBars(strip, x, color, width) {
    const { context: c } = this;
    c.fillStyle = color;
    strip.values.forEach((value, index) => {
      if (value === null) return;
      const at = strip.start + index * strip.step;
      const [from, to] = [Math.max(0, x(at)), Math.min(width, x(at + strip.step))];
      if (to <= 0 || from >= width) return;
      const y = Math.round(this.y(value));
      const gap = to - from > 8 * this.ratio ? this.ratio : 0;
      c.fillRect(this.left + from, y, Math.max(1, to - from - gap), this.bottom - y);
    });
  }

  // Retransmissions: ticks at the bottom.
  drawRetransmissions(columns, color) {
    const { context: c, ratio } = this;
    c.fillStyle = color;
    for (let x = 0; x < columns.width; x += 1) {
      if (columns.again[x]) c.fillRect(this.left + x - (this.thick >> 1), this.bottom - 9 * ratio, Math.max(2, this.thick), 9 * ratio);
    }
  }

  drawNote(text) {
    const { context: c } = this;
    c.font = `${Math.round(12.5 * this.ratio)}px ${this.style.font}`;
    c.textAlign = "center";
    c.textBaseline = "middle";
    c.fillStyle = this.style.faint;
    c.fillText(text, (this.left + this.right) / 2, (this.top + this.bottom) / 2);
  }

  // A disc, or a ring, for a row in view.
  drawPoint(x, y, size, color, ring) {
    const { context: c } = this;
    c.beginPath();
    c.arc(this.left + x, y, size, 0, 7);
    c.fillStyle = ring ? this.style.page : color;
    c.fill();
    if (ring) {
      c.lineWidth = this.thick;
      c.strokeStyle = color;
      c.stroke();
    }
  }
}

// The lowest and the highest value in view.
function extent(columns, ...series) {
  let [low, high] = [Infinity, 0];
  for (const line of series) {
    if (line.before !== null) [low, high] = [Math.min(low, line.before), Math.max(high, line.before)];
    for (let x = 0; x < columns.width; x += 1) {
      if (line.high[x] > high) high = line.high[x];
      if (line.low[x] < low) low = line.low[x];
    }
  }
  return [Math.min(low, high), Math.max(1, high)];
}
