// The tooltip: the values of the row or pixel column under the pointer.

const MAX_DISTANCE = 14; // pixels

const tip = {
  place: null,

  show(plot, event, rows) {
    this.place ??= document.querySelector(".flow-tip");
    this.place.replaceChildren(...rows.flatMap(([label, text]) => {
      const [name, value] = [document.createElement("dt"), document.createElement("dd")];
      name.textContent = label;
      value.textContent = text;
      return [name, value];
    }));
    this.place.hidden = false;
    const box = this.place.getBoundingClientRect();
    const right = event.clientX + 18 + box.width < innerWidth;
    const left = right ? event.clientX + 18 : Math.max(4, event.clientX - 18 - box.width);
    this.place.style.left = `${left}px`;
    this.place.style.top = `${Math.max(4, Math.min(event.clientY + 12, innerHeight - box.height - 6))}px`;
  },

  hide() {
    if (this.place) this.place.hidden = true;
  },
};

function showTip(view, plot, event, cssX) {
  const { columns } = view;
  const x = Math.floor((cssX - view.left) * view.ratio);
  if (!columns || x < 0 || x >= columns.width) {
    tip.hide();
    return;
  }
  const panel = view.panels.find(({ canvas }) => canvas === event.target || canvas === document.elementFromPoint(event.clientX, event.clientY));
  const nearest = columns.points.length ? nearestRow(view, panel, event, x) : null;
  if (nearest) tip.show(plot, event, [["", nearest.kind], ...rowDetails(nearest.rows, nearest.i, view.track.about.role)]);
  else if (columns.rows[x]) tip.show(plot, event, columnTexts(view, x));
  else tip.hide();
}

function nearestRow(view, panel, event, x) {
  let best = null;
  let minimum = (MAX_DISTANCE * view.ratio) ** 2;
  const value = { size: "payload", window: "advertised" }[panel?.figure] ?? "unacked";
  const y = panel?.y ? (event.clientY - panel.canvas.getBoundingClientRect().top) * view.ratio : null;
  forEachRow(view.columns, (rows, i) => {
    const dx = view.x(rows.time[i]) - x;
    if (dx * dx > minimum) return;
    const dy = y === null ? 0 : (panel.y(rows[value][i]) - y) / 4;
    const distance = dx * dx + dy * dy;
    if (distance < minimum || (!best && dx * dx < minimum)) {
      best = { rows, i };
      minimum = Math.min(minimum, distance);
    }
  });
  if (best) best.kind = rowTexts(best.rows, best.i).kind;
  return best;
}

const range = (series, x) => (series.low[x] === series.high[x] ? bytes(series.low[x]) : `${count(series.low[x])} to ${bytes(series.high[x])}`);

function columnTexts(view, x) {
  const { columns } = view;
  const length = (view.end - view.start) / columns.width;
  const facts = [
    ["Time", instant(view.start + (x + 0.5) * length)],
    ["In this pixel", `${count(columns.rows[x])} rows in ${span(length)}`],
    [view.track.about.role === "sender" ? "Unacknowledged" : "Received, not acknowledged", range(columns.unacked, x)],
    ["Advertised window", range(columns.advertised, x)],
  ];
  for (const [label, masks] of [["Sent", columns.sent], ["Received", columns.arrived]]) {
    const kinds = view.track.about.sizes.filter((_, bit) => masks[2 * x + (bit >> 5)] & (1 << (bit & 31)));
    const sizes = kinds.slice(0, 6).map(([low, high]) => (low === high ? count(low) : `${count(low)}–${count(high)}`));
    if (sizes.length) facts.push([label, `${sizes.join(", ")}${kinds.length > 6 ? ", …" : ""} bytes`]);
  }
  if (columns.again[x]) facts.push(["Retransmitted", count(columns.again[x])]);
  return facts;
}
