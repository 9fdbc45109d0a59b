"use strict";
// The script of the page: light and dark, choices, legends, sorting. It loads nothing.
(() => {
  const root = document.documentElement;
  const system = matchMedia("(prefers-color-scheme: dark)");
  const dark = () => (root.dataset.theme ?? (system.matches ? "dark" : "light")) === "dark";
  const page = {
    ink: ["#1d232b", "#e6eaef"],
    faint: ["#5d6875", "#9aa5b1"],
    grid: ["#e6e9ed", "#2a313a"],
  };

  const documents = () => window.Bokeh?.documents ?? [];
  const plots = () => documents().flatMap((document_) => document_.roots());
  const tags = (model, kind) => (model.tags ?? []).map((tag) => String(tag).split("|")).filter((tag) => tag[0] === kind);

  function paintPlot(plot, shade) {
    for (const axis of [...plot.below, ...plot.left]) {
      if (!("axis_label" in axis)) continue;
      axis.axis_label_text_color = page.faint[shade];
      axis.major_label_text_color = page.ink[shade];
      if (axis.axis_line_color !== null) axis.axis_line_color = page.grid[shade];
      if (axis.major_tick_line_color !== null) axis.major_tick_line_color = page.grid[shade];
    }
    for (const model of plot.center) {
      if ("grid_line_color" in model && model.grid_line_color !== null) model.grid_line_color = page.grid[shade];
      for (const tag of tags(model, "paint")) model.fill_color = tag[1 + shade];
    }
    for (const renderer of plot.renderers) {
      for (const tag of tags(renderer, "paint")) {
        const color = tag[1 + shade];
        for (const glyph of [renderer.glyph]) {
          for (const property of ["line_color", "fill_color", "text_color"]) {
            if (property in glyph && glyph[property] !== null && glyph[property]?.value !== null) {
              glyph[property] = glyph.type === "Line" || glyph.type === "Step" || glyph.type === "VArea" ? color : { value: color };
            }
          }
        }
      }
    }
  }

  function paint() {
    const shade = dark() ? 1 : 0;
    for (const plot of plots()) paintPlot(plot, shade);
  }

  document.getElementById("theme").addEventListener("click", () => {
    root.dataset.theme = dark() ? "light" : "dark";
    paint();
  });
  system.addEventListener("change", paint);

  const switched = JSON.parse(document.getElementById("switched")?.textContent ?? "{}");
  function choose() {
    for (const [name, entry] of Object.entries(switched)) {
      const key = entry.choices.map((id) => document.getElementById(id).value).join("|");
      const columns = entry.columns[key];
      for (const document_ of documents()) {
        const source = document_.get_model_by_name(name);
        if (source && columns) source.data = columns;
      }
    }
  }
  for (const select of document.querySelectorAll("select.choice")) select.addEventListener("change", choose);

  for (const button of document.querySelectorAll(".legend button")) {
    button.addEventListener("click", () => {
      const shown = button.getAttribute("aria-pressed") !== "true";
      const line = button.dataset.line;
      for (const twin of document.querySelectorAll(".legend button")) {
        if (twin.dataset.line === line) twin.setAttribute("aria-pressed", String(shown));
      }
      for (const plot of plots()) {
        for (const renderer of plot.renderers) {
          if (tags(renderer, "line").some((tag) => tag[1] === line)) renderer.visible = shown;
        }
      }
    });
  }

  for (const table of document.querySelectorAll("table.sortable")) {
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, index) => {
      head.firstElementChild.addEventListener("click", () => {
        const down = head.getAttribute("aria-sort") === "ascending";
        for (const other of heads) other.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        const rows = [...table.tBodies[0].rows];
        const value = (row) => row.cells[index].dataset.v;
        rows.sort((left, right) => {
          const [a, b] = [value(left), value(right)];
          if (a === "" || b === "") return a === b ? 0 : a === "" ? 1 : -1;
          const order = isNaN(a) || isNaN(b) ? a.localeCompare(b) : a - b;
          return down ? -order : order;
        });
        table.tBodies[0].append(...rows);
      });
    });
  }

  for (const block of document.querySelectorAll("pre.why-command")) {
    const button = Object.assign(document.createElement("button"), { type: "button", className: "why-copy", textContent: "Copy" });
    button.addEventListener("click", async () => {
      const range = document.createRange();
      range.selectNodeContents(block.querySelector("code"));
      getSelection().removeAllRanges();
      getSelection().addRange(range);
      try {
        await navigator.clipboard.writeText(block.querySelector("code").textContent);
        button.textContent = "Copied";
      } catch {
        button.textContent = "Selected";
      }
      setTimeout(() => { button.textContent = "Copy"; }, 2000);
    });
    block.classList.add("has-copy");
    block.append(button);
  }

  // A link to a cell opens it.
  function open() {
    const target = location.hash.length > 1 && document.getElementById(location.hash.slice(1));
    if (target && target.tagName === "DETAILS") target.open = true;
  }
  addEventListener("hashchange", open);
  open();

  // Charts are embedded when the document is ready; wait for all of them.
  const wanted = document.querySelectorAll(".chart").length;
  function start() {
    if (plots().length < wanted) {
      setTimeout(start, 20);
      return;
    }
    choose();
    paint();
    // A chart answers to no key: tabbing goes past it, to the table with its figures.
    for (const chart of document.querySelectorAll(".chart .bk-Figure")) chart.tabIndex = -1;
    root.dataset.ready = "true";
  }
  start();
})();
