// Starts the viewer. `flow` has the data of the trial, from viewer.py.
const flow = JSON.parse(document.getElementById("flow-data").textContent);
for (const blocks of document.querySelectorAll("script.flow-blocks")) store.take(JSON.parse(blocks.textContent));

const viewer = start(document.querySelector(".flow"));
const connections = document.querySelector(".flow-connections");
if (connections) connectionsTable(connections, viewer);
// The evidence links of a report are #connection=0&host=near&from=NS&to=NS.
function openLink() {
  const link = new URLSearchParams(location.hash.slice(1));
  if (flow.tracks.some((track) => String(track.connection) === link.get("connection"))) viewer.pickConnection(+link.get("connection"), link.get("host"));
  const [from, to] = [link.get("from"), link.get("to")];
  if (from !== null && to !== null) {
    const margin = Math.max(1000, (to - from) * 0.1);
    viewer.view.show(+from - margin, +to + margin);
  }
  if (link.has("connection") || from !== null) document.getElementById("flow").scrollIntoView();
}
addEventListener("hashchange", openLink);
openLink();
viewer.view.settled().then(() => { document.documentElement.dataset.flowReady = "true"; });
