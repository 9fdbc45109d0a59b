// Starts the viewer: pickers, buttons, the readout, the list of segments in view.

const MOST_LISTED = 200;

function start(place) {
  const plot = place.querySelector(".flow-plot");
  const view = new View(plot);
  const tracks = new Map();
  const [connection, end] = ["connection", "end"].map((name) => place.querySelector(`#flow-${name}`));
  const key = (about) => `${about.connection}/${about.host}`;
  const numbers = new Map(flow.tracks.map((about, number) => [key(about), number]));

  function pick() {
    const number = numbers.get(`${connection.value}/${end.value}`) ?? flow.tracks.findIndex((one) => String(one.connection) === connection.value);
    if (!tracks.has(number)) tracks.set(number, new Track(number, flow.tracks[number]));
    const track = tracks.get(number);
    const { about } = track;
    end.value = about.host;
    for (const one of place.querySelectorAll("[data-role]")) one.hidden = one.dataset.role !== about.role;
    showShares(place, about);
    view.pick(track);
    view.settled().then(() => track.warm());
  }
  connection.addEventListener("change", pick);
  end.addEventListener("change", pick);

  const actions = {
    whole: () => view.show(view.whole.start, view.whole.end),
    in: () => view.zoom(0.5),
    out: () => view.zoom(2),
    before: () => jump(-1),
    after: () => jump(1),
  };
  for (const button of place.querySelectorAll("[data-do]")) button.addEventListener("click", () => actions[button.dataset.do]());

  // To the retransmission before or after the middle of the view, close enough to see single segments.
  function jump(way) {
    const { again, time } = { again: view.track.about.again, time: (view.start + view.end) / 2 };
    const length = Math.min(view.end - view.start, view.track.about.closeNs);
    const at = way > 0 ? again.find((one) => one > time + length / 50) : again.findLast((one) => one < time - length / 50);
    if (at !== undefined) view.show(at - length / 2, at + length / 2);
  }

  for (const button of place.querySelectorAll("[data-line]")) {
    button.addEventListener("click", () => {
      const shown = button.getAttribute("aria-pressed") !== "true";
      button.setAttribute("aria-pressed", String(shown));
      view.hidden[shown ? "delete" : "add"](button.dataset.line);
      view.request();
    });
  }

  const fit = place.querySelector("[data-fit]");
  fit.addEventListener("click", () => {
    view.fit = !view.fit;
    fit.setAttribute("aria-pressed", String(view.fit));
    view.request();
  });

  const readout = place.querySelector(".flow-readout");
  view.listeners.push(() => {
    const { columns } = view;
    const loading = columns.missing.length && !view.track.failed ? ", loading …" : "";
    const how = columns.exact ? "every one drawn" : "drawn by pixel: last, lowest, highest, all sizes";
    const base = view.base ? `, ticks from ${view.base}` : "";
    readout.textContent = `${span(view.end - view.start)} in view${base} · ${count(columns.inView)} rows, ${how}${loading}`;
    const failure = place.querySelector(".flow-failure");
    const far = flow.overviewOnly && !columns.exact && !columns.missing.length;
    failure.textContent = view.track.failed ?? "";
    failure.hidden = !view.track.failed;
    place.querySelector(".flow-closer")?.toggleAttribute("hidden", !far);
    for (const button of place.querySelectorAll("[data-do=before], [data-do=after]")) button.hidden = !view.track.about.again.length;
    list();
  });

  const table = place.querySelector(".flow-list");
  table.addEventListener("toggle", list);
  function list() {
    const { columns } = view;
    const few = columns.points.length && columns.inView <= MOST_LISTED;
    table.querySelector(".note").hidden = Boolean(few);
    const body = table.querySelector("tbody");
    if (!table.open || !few) {
      body.replaceChildren();
      return;
    }
    const lines = [];
    eachPoint(columns, (rows, i) => {
      const facts = rowFacts(rows, i);
      const line = document.createElement("tr");
      const texts = [facts.time, facts.kind, facts.flags, facts.sequence, facts.acknowledgment, facts.payload, facts.window, facts.unacked, facts.context, facts.reason || facts.again];
      line.append(...texts.map((text) => Object.assign(document.createElement("td"), { textContent: text })));
      if (facts.again) line.className = "again";
      lines.push(line);
    });
    body.replaceChildren(...lines);
  }

  listen(view, plot);
  pick();
  window.whyperfFlow.view = view;
  const pickConnection = (number, host) => {
    connection.value = String(number);
    if (host) end.value = host;
    pick();
  };
  return { view, pickConnection };
}
