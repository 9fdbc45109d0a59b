// Flame graphs: a click on a function gives it the whole width; a click on the outermost one shows all again.
document.addEventListener("click", ({ target }) => {
  const label = target.closest(".flame b");
  if (!label) return;
  const flame = label.closest(".flame");
  for (const item of flame.querySelectorAll(".whole, .hidden")) item.classList.remove("whole", "hidden");
  for (let item = label.parentElement; item; item = item.parentElement.closest("li")) {
    item.classList.add("whole");
    for (const other of item.parentElement.children) if (other !== item) other.classList.add("hidden");
  }
  // Labels of functions in the right half grow to the left.
  const { left, width } = flame.getBoundingClientRect();
  for (const item of flame.querySelectorAll("li")) {
    item.classList.toggle("r", item.getBoundingClientRect().left > left + width / 2);
  }
});
