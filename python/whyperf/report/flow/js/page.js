// Puts the viewer to work. `flow` is what Python said of the trial.
const flow = JSON.parse(document.getElementById("flow-data").textContent);
for (const blocks of document.querySelectorAll("script.flow-blocks")) store.take(JSON.parse(blocks.textContent));

const viewer = start(document.querySelector(".flow"));
const connections = document.querySelector(".flow-connections");
if (connections) connectionsTable(connections, viewer);
// A report's evidence leads here with #connection=0&host=near&from=NS&to=NS.
function follow() {
  const asked = new URLSearchParams(location.hash.slice(1));
  if (flow.tracks.some((one) => String(one.connection) === asked.get("connection"))) viewer.pickConnection(+asked.get("connection"), asked.get("host"));
  const [from, to] = [asked.get("from"), asked.get("to")];
  if (from !== null && to !== null) {
    const air = Math.max(1000, (to - from) * 0.1);
    viewer.view.show(+from - air, +to + air);
  }
  if (asked.has("connection") || from !== null) document.getElementById("flow").scrollIntoView();
}
addEventListener("hashchange", follow);
follow();
viewer.view.settled().then(() => { document.documentElement.dataset.flowReady = "true"; });
