// Draws each figure of a track.

// Calls `call` with the tile and the index of each row in view, if they are few.
function forEachRow(columns, call) {
  for (const [rows, from, to] of columns.points) for (let i = from; i < to; i += 1) call(rows, i);
}

const FIGURES = {
  size(panel, columns, view) {
    const { style, track } = view;
    const bounds = track.about.sizes;
    panel.drawValueAxis(0, bounds.length ? bounds.at(-1)[1] : 1, false, { rows: 4 });
    panel.drawTimeGrid(view.ticks, view.x);
    if (!columns.points.length) {
      panel.drawSizes(columns, columns.arrived, bounds, style.arrived);
      panel.drawSizes(columns, columns.sent, bounds, style.sent);
    } else {
      const apart = view.width / columns.inView;
      const size = Math.max(1.2, Math.min(3, apart / 3)) * panel.ratio;
      const stem = Math.max(1, Math.min(panel.thick, apart / 6));
      forEachRow(columns, (rows, i) => {
        if (!rows.payload[i]) return;
        const [x, y] = [view.x(rows.time[i]), panel.y(rows.payload[i])];
        const color = rows.reason[i] >= 16 ? style.again : rows.out[i] ? style.sent : style.arrived;
        panel.context.globalAlpha = 0.35;
        panel.context.fillStyle = color;
        panel.context.fillRect(panel.left + x - stem / 2, y, stem, panel.bottom - y);
        panel.context.globalAlpha = 1;
        panel.drawPoint(x, y, size, color, false);
      });
    }
    panel.drawRetransmissions(columns, style.again);
  },

  unacked(panel, columns, view) {
    panel.drawValueAxis(...extent(columns, columns.unacked), true, { fit: view.fit });
    panel.drawTimeGrid(view.ticks, view.x);
    panel.drawSteps(columns, columns.unacked, view.style.sent, view.until);
  },

  window(panel, columns, view) {
    panel.drawValueAxis(...extent(columns, columns.advertised), true, { fit: view.fit });
    panel.drawTimeGrid(view.ticks, view.x);
    panel.drawSteps(columns, columns.advertised, view.style.window, view.until);
  },

  both(panel, columns, view) {
    const shown = [["advertised", view.style.window], ["unacked", view.style.sent]].filter(([name]) => !view.hidden.has(name));
    panel.drawValueAxis(...extent(columns, ...shown.map(([name]) => columns[name])), true, { rows: 5, fit: view.fit });
    panel.drawTimeGrid(view.ticks, view.x);
    for (const [name, color] of shown) panel.drawSteps(columns, columns[name], color, view.until);
    if (view.hidden.has("unacked") || columns.inView * 5 * panel.ratio > view.width) return;
    forEachRow(columns, (rows, i) => {
      const color = rows.reason[i] >= 16 ? view.style.again : view.style.sent;
      panel.drawPoint(view.x(rows.time[i]), panel.y(rows.unacked[i]), 3 * panel.ratio, color, !rows.payload[i]);
    });
  },

  ratio(panel, columns, view) {
    drawIntervals(panel, columns, view, view.track.about.ackRatio, view.style.bar, "no ACK in view");
    panel.drawRetransmissions(columns, view.style.again);
  },

  super(panel, columns, view) {
    drawIntervals(panel, columns, view, view.track.about.superSegments, view.style.bar, "this host sent no payload in view");
  },
};

function drawIntervals(panel, columns, view, values, color, none) {
  const known = values.values.filter((value) => value !== null);
  panel.drawValueAxis(0, Math.max(1, ...known), false);
  panel.drawTimeGrid(view.ticks, view.x);
  if (known.length) panel.drawBars(values, view.x, color, view.width);
  else panel.drawNote(none);
}

// The whole track in small, with the time range in view marked.
function drawOverview(panel, columns, view, whole) {
  const { context: c, ratio, style } = panel;
  const [, highest] = extent(columns, columns.unacked);
  panel.y = (value) => panel.bottom - (value / highest) * (panel.bottom - panel.top);
  c.fillStyle = style.raised;
  c.fillRect(panel.left, 0, panel.right - panel.left, panel.canvas.height);
  c.globalAlpha = 0.55;
  panel.drawSteps(columns, columns.unacked, style.sent, columns.width);
  c.globalAlpha = 1;
  const x = (time) => ((time - whole.start) / (whole.end - whole.start)) * columns.width;
  const from = Math.max(0, Math.min(columns.width - 2, x(view.start)));
  const to = Math.min(columns.width, Math.max(x(view.end), from + 3 * ratio));
  c.fillStyle = style.shade;
  c.fillRect(panel.left, 0, from, panel.canvas.height);
  c.fillRect(panel.left + to, 0, columns.width - to, panel.canvas.height);
  c.fillStyle = style.accent;
  c.fillRect(panel.left + from - ratio, 0, 2 * ratio, panel.canvas.height);
  c.fillRect(panel.left + to - ratio, 0, 2 * ratio, panel.canvas.height);
}

function drawTimeAxis(panel, view) {
  const { context: c, ratio, style } = panel;
  c.font = `${Math.round(11.5 * ratio)}px ${style.font}`;
  c.textBaseline = "middle";
  c.fillStyle = style.faint;
  c.textAlign = "center";
  const y = panel.canvas.height / 2;
  let free = panel.left;
  for (const { at, text } of view.ticks) {
    const label = `${text} ${view.unit}`;
    const half = c.measureText(label).width / 2;
    const x = Math.min(Math.max(panel.left + view.x(at), panel.left + half), panel.right - half);
    if (x - half < free) continue;
    c.fillText(label, x, y);
    free = x + half + 10 * ratio;
  }
}
