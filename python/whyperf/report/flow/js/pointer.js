// Mouse, touch and keyboard input.

function addInput(view, plot) {
  const cross = plot.querySelector(".flow-cross");
  const chosen = plot.querySelector(".flow-select");
  const fingers = new Map();
  let from = null;
  const local = (event) => event.clientX - plot.getBoundingClientRect().left;
  const inside = (x) => Math.min(Math.max(x, view.left), plot.clientWidth);

  plot.addEventListener("wheel", (event) => {
    const across = event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY);
    if (!across && !event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    const by = event.deltaX || event.deltaY;
    if (event.ctrlKey || event.metaKey) view.zoom(2 ** Math.max(-1.5, Math.min(1.5, event.deltaY / 120)), view.timeAt(inside(local(event))));
    else view.pan(by / 800);
  }, { passive: false });

  plot.addEventListener("pointerdown", (event) => {
    // Buttons in a caption handle their own clicks.
    if (event.button || event.target.tagName !== "CANVAS") return;
    plot.setPointerCapture(event.pointerId);
    fingers.set(event.pointerId, local(event));
    from = event.pointerType === "touch" ? null : inside(local(event));
  });

  plot.addEventListener("pointermove", (event) => {
    const x = local(event);
    if (fingers.has(event.pointerId) && event.pointerType === "touch") {
      drag(event.pointerId, x);
      return;
    }
    if (from !== null) {
      const [left, right] = [from, inside(x)].sort((left, right) => left - right);
      chosen.hidden = right - left < 4;
      chosen.style.left = `${left}px`;
      chosen.style.width = `${right - left}px`;
    }
    cross.hidden = x < view.left;
    cross.style.left = `${x}px`;
    showTip(view, plot, event, x);
  });

  // One finger moves the view, two fingers zoom.
  function drag(id, x) {
    const before = [...fingers.values()];
    fingers.set(id, x);
    const now = [...fingers.values()];
    if (now.length === 1) view.pan((before[0] - now[0]) / (plot.clientWidth - view.left));
    else if (now.length === 2) {
      const [was, is] = [before, now].map(([first, second]) => Math.max(20, Math.abs(first - second)));
      view.zoom(was / is, view.timeAt((now[0] + now[1]) / 2));
    }
  }

  function stop(event) {
    if (from !== null && event.type === "pointerup" && !chosen.hidden) {
      const [start, end] = [from, inside(local(event))].sort((left, right) => left - right).map(view.timeAt);
      view.show(start, end);
    } else if (event.type === "pointerup" && event.pointerType === "touch" && fingers.size === 1) showTip(view, plot, event, local(event));
    fingers.delete(event.pointerId);
    from = null;
    chosen.hidden = true;
  }
  plot.addEventListener("pointerup", stop);
  plot.addEventListener("pointercancel", stop);
  plot.addEventListener("pointerleave", () => {
    cross.hidden = true;
    tip.hide();
  });
  plot.addEventListener("dblclick", () => view.show(view.whole.start, view.whole.end));

  plot.addEventListener("keydown", (event) => {
    const done = {
      ArrowLeft: () => view.pan(-0.2), ArrowRight: () => view.pan(0.2), "+": () => view.zoom(0.5), "=": () => view.zoom(0.5),
      "-": () => view.zoom(2), Home: () => view.show(view.whole.start, view.whole.end),
    }[event.key];
    if (!done || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    done();
  });

  const map = view.map.canvas;
  let held = false;
  const centre = (event) => {
    const part = (local(event) - view.left) / (plot.clientWidth - view.left);
    const { start, end } = view.whole;
    const at = start + Math.min(Math.max(part, 0), 1) * (end - start);
    view.show(at - (view.end - view.start) / 2, at + (view.end - view.start) / 2);
  };
  map.addEventListener("pointerdown", (event) => {
    event.stopPropagation();
    held = true;
    map.setPointerCapture(event.pointerId);
    centre(event);
  });
  map.addEventListener("pointermove", (event) => {
    event.stopPropagation();
    if (held) centre(event);
  });
  for (const over of ["pointerup", "pointercancel"]) {
    map.addEventListener(over, (event) => {
      event.stopPropagation();
      held = false;
    });
  }
}
