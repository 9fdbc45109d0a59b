// Shares as bars: segment sizes, send contexts, ACK reasons.

function showShares(place, about) {
  for (const card of place.querySelectorAll("[data-shares]")) {
    const rows = about.shares[card.dataset.shares];
    const list = card.querySelector("ol");
    list.replaceChildren(...rows.map(([label, ratio, number]) => {
      const row = document.createElement("li");
      const parts = [["name", label], ["track", ""], ["part", percent(ratio)], ["number", count(number)]];
      row.append(...parts.map(([name, text]) => Object.assign(document.createElement("span"), { className: name, textContent: text })));
      row.children[1].style.setProperty("--part", ratio);
      return row;
    }));
    card.querySelector(".none").hidden = rows.length > 0;
  }
}

const percent = (ratio) => (ratio > 0 && ratio < 0.0005 ? "<0.1 %" : `${(ratio * 100).toFixed(ratio >= 0.0995 ? 0 : 1)} %`);
