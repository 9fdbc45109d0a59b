// What the pointer is on, told beside it.

const REACH = 14; // pixels

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

function point(view, plot, event, cssX) {
  const { columns } = view;
  const x = Math.floor((cssX - view.left) * view.ratio);
  if (!columns || x < 0 || x >= columns.width) {
    tip.hide();
    return;
  }
  const panel = view.panels.find((one) => one.canvas === event.target || one.canvas === document.elementFromPoint(event.clientX, event.clientY));
  const near = columns.points.length ? nearest(view, panel, event, x) : null;
  if (near) tip.show(plot, event, [["", near.kind], ...rowDetails(near.rows, near.i, view.track.about.role)]);
  else if (columns.rows[x]) tip.show(plot, event, columnFacts(view, x));
  else tip.hide();
}

function nearest(view, panel, event, x) {
  let best = null;
  let least = (REACH * view.ratio) ** 2;
  const value = { size: "payload", window: "announced" }[panel?.figure] ?? "unacked";
  const y = panel?.y ? (event.clientY - panel.canvas.getBoundingClientRect().top) * view.ratio : null;
  eachPoint(view.columns, (rows, i) => {
    const dx = view.x(rows.time[i]) - x;
    if (dx * dx > least) return;
    const dy = y === null ? 0 : (panel.y(rows[value][i]) - y) / 4;
    const far = dx * dx + dy * dy;
    if (far < least || (!best && dx * dx < least)) {
      best = { rows, i };
      least = Math.min(least, far);
    }
  });
  if (best) best.kind = rowFacts(best.rows, best.i).kind;
  return best;
}

const range = (series, x) => (series.low[x] === series.high[x] ? bytes(series.low[x]) : `${count(series.low[x])} to ${bytes(series.high[x])}`);

function columnFacts(view, x) {
  const { columns } = view;
  const length = (view.end - view.start) / columns.width;
  const facts = [
    ["Time", instant(view.start + (x + 0.5) * length)],
    ["In this pixel", `${count(columns.rows[x])} rows in ${span(length)}`],
    [view.track.about.role === "sender" ? "Unacknowledged" : "Arrived, not acknowledged", range(columns.unacked, x)],
    ["Window announced", range(columns.announced, x)],
  ];
  for (const [label, masks] of [["Sent", columns.sent], ["Arrived", columns.arrived]]) {
    const kinds = view.track.about.sizes.filter((_, bit) => masks[2 * x + (bit >> 5)] & (1 << (bit & 31)));
    const words = kinds.slice(0, 6).map(([low, high]) => (low === high ? count(low) : `${count(low)}–${count(high)}`));
    if (words.length) facts.push([label, `${words.join(", ")}${kinds.length > 6 ? ", …" : ""} bytes`]);
  }
  if (columns.again[x]) facts.push(["Sent again", count(columns.again[x])]);
  return facts;
}
