// Starts the viewer: selection, buttons, status line, list of segments in view.

const MAX_LISTED = 200;

function start(place) {
  const plot = place.querySelector(".flow-plot");
  const view = new View(plot);
  const tracks = new Map();
  const [connection, end] = ["connection", "end"].map((name) => place.querySelector(`#flow-${name}`));
  const key = (about) => `${about.connection}/${about.host}`;
  const numbers = new Map(flow.tracks.map((about, number) => [key(about), number]));

  function showSelected() {
    const number = numbers.get(`${connection.value}/${end.value}`) ?? flow.tracks.findIndex((track) => String(track.connection) === connection.value);
    if (!tracks.has(number)) tracks.set(number, new Track(number, flow.tracks[number]));
    const track = tracks.get(number);
    const { about } = track;
    end.value = about.host;
    for (const element of place.querySelectorAll("[data-role]")) element.hidden = element.dataset.role !== about.role;
    showShares(place, about);
    view.showTrack(track);
    view.settled().then(() => track.preloadBins());
  }
  connection.addEventListener("change", showSelected);
  end.addEventListener("change", showSelected);

  const actions = {
    whole: () => view.show(view.whole.start, view.whole.end),
    in: () => view.zoom(0.5),
    out: () => view.zoom(2),
    before: () => jump(-1),
    after: () => jump(1),
  };
  for (const button of place.querySelectorAll("[data-do]")) button.addEventListener("click", () => actions[button.dataset.do]());

  // Shows the retransmission before or after the center of the view, at a zoom with single segments.
  function jump(direction) {
    const { again, time } = { again: view.track.about.again, time: (view.start + view.end) / 2 };
    const length = Math.min(view.end - view.start, view.track.about.closeNs);
    const at = direction > 0 ? again.find((found) => found > time + length / 50) : again.findLast((found) => found < time - length / 50);
    if (at !== undefined) view.show(at - length / 2, at + length / 2);
  }

  for (const button of place.querySelectorAll("[data-line]")) {
    button.addEventListener("click", () => {
      const shown = button.getAttribute("aria-pressed") !== "true";
      button.setAttribute("aria-pressed", String(shown));
      view.hidden[shown ? "delete" : "add"](button.dataset.line);
      view.requestDraw();
    });
  }

  const fit = place.querySelector("[data-fit]");
  fit.addEventListener("click", () => {
    view.fit = !view.fit;
    fit.setAttribute("aria-pressed", String(view.fit));
    view.requestDraw();
  });

  const readout = place.querySelector(".flow-readout");
  view.listeners.push(() => {
    const { columns } = view;
    const loading = columns.missing.length && !view.track.failed ? ", loading …" : "";
    const how = columns.exact ? "all drawn" : "drawn per pixel: last, lowest, highest, all sizes";
    const base = view.base ? `, ticks from ${view.base}` : "";
    readout.textContent = `${span(view.end - view.start)} in view${base} · ${count(columns.inView)} rows, ${how}${loading}`;
    const failure = place.querySelector(".flow-failure");
    const isOverview = flow.overviewOnly && !columns.exact && !columns.missing.length;
    failure.textContent = view.track.failed ?? "";
    failure.hidden = !view.track.failed;
    place.querySelector(".flow-closer")?.toggleAttribute("hidden", !isOverview);
    for (const button of place.querySelectorAll("[data-do=before], [data-do=after]")) button.hidden = !view.track.about.again.length;
    list();
  });

  const table = place.querySelector(".flow-list");
  table.addEventListener("toggle", list);
  function list() {
    const { columns } = view;
    const few = columns.points.length && columns.inView <= MAX_LISTED;
    table.querySelector(".note").hidden = Boolean(few);
    const body = table.querySelector("tbody");
    if (!table.open || !few) {
      body.replaceChildren();
      return;
    }
    const lines = [];
    forEachRow(columns, (rows, i) => {
      const facts = rowTexts(rows, i);
      const line = document.createElement("tr");
      const texts = [facts.time, facts.kind, facts.flags, facts.sequence, facts.acknowledgment, facts.payload, facts.window, facts.unacked, facts.context, facts.reason || facts.again];
      line.append(...texts.map((text) => Object.assign(document.createElement("td"), { textContent: text })));
      if (facts.again) line.className = "again";
      lines.push(line);
    });
    body.replaceChildren(...lines);
  }

  addInput(view, plot);
  showSelected();
  window.whyperfFlow.view = view;
  const pickConnection = (number, host) => {
    connection.value = String(number);
    if (host) end.value = host;
    showSelected();
  };
  return { view, pickConnection };
}
