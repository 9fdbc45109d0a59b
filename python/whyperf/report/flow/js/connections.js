// The table of all connections: sorts by any column, and shows the connection that is clicked.

const FIRST_ROWS = 50;

function connectionsTable(table, viewer) {
  const [heads, body] = [[...table.tHead.rows[0].cells], table.tBodies[0]];
  const more = document.querySelector(".flow-more");
  const rows = [...flow.connections];
  let all = rows.length <= FIRST_ROWS;

  function fill() {
    body.replaceChildren(...(all ? rows : rows.slice(0, FIRST_ROWS)).map((values) => {
      const line = document.createElement("tr");
      values.forEach((value, column) => {
        const cell = document.createElement("td");
        cell.className = "number";
        const drawn = column === 0 && flow.drawn.includes(value);
        const holder = drawn ? cell.appendChild(Object.assign(document.createElement("button"), { type: "button", className: "pick" })) : cell;
        holder.textContent = write(value, flow.columns[column]);
        if (drawn) holder.addEventListener("click", () => {
          viewer.pickConnection(value);
          document.getElementById("flow").scrollIntoView();
        });
        line.append(cell);
      });
      return line;
    }));
    more.hidden = all;
  }

  function write(value, kind) {
    if (value === null) return "unknown";
    if (kind === "ratio") return percent(value);
    if (kind === "mean") return value >= 100 ? count(Math.round(value)) : String(+value.toFixed(2));
    return count(value);
  }

  heads.forEach((head, column) => head.firstElementChild.addEventListener("click", () => {
    const down = head.getAttribute("aria-sort") === "ascending";
    for (const other of heads) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    rows.sort((left, right) => {
      const [a, b] = [left[column], right[column]];
      if (a === null || b === null) return (a === null) - (b === null);
      return down ? b - a : a - b;
    });
    fill();
  }));
  more.addEventListener("click", () => {
    all = true;
    fill();
  });
  fill();
}
