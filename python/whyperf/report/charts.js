"use strict";
// Unpacks BokehJS and the charts, and runs them. The page loads nothing: the packed text is in the page itself.
(async () => {
  const packed = document.getElementById("charts-packed")?.textContent;
  if (!packed) return;
  if (!("DecompressionStream" in window)) {
    for (const chart of document.querySelectorAll(".chart")) {
      chart.textContent = "This browser cannot unpack the charts (DecompressionStream, 2023). The figures are in the table.";
    }
    return;
  }
  const bytes = Uint8Array.from(atob(packed), (character) => character.charCodeAt(0));
  const unpacked = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  const script = document.createElement("script");
  script.textContent = await new Response(unpacked).text();
  document.head.append(script);
})();
