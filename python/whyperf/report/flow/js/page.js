// Puts the viewer to work. `flow` is what Python said of the trial.
const flow = JSON.parse(document.getElementById("flow-data").textContent);
for (const blocks of document.querySelectorAll("script.flow-blocks")) store.take(JSON.parse(blocks.textContent));

const viewer = start(document.querySelector(".flow"));
const connections = document.querySelector(".flow-connections");
if (connections) connectionsTable(connections, viewer);
viewer.view.settled().then(() => { document.documentElement.dataset.flowReady = "true"; });
