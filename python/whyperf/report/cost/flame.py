"""Flame graphs as nested lists: of one tree of functions, or of the differences between two.

Input is a `Frame` of `analyze.cost.tree`: values in cycles per KByte or per transaction, and from `compared` also those
before. The outermost function is on top. Names are text, so a page can be searched for them; the style sheet
(`cost.css`) draws them, and a script (`flame.js`) enlarges what is clicked.

Widths are percentages of the caller's width, rounded down, so those of the callees never add up to more than 100. Of
one tree, a frame is as wide as its value. Of two trees, it is as wide as the larger of both values of the function
itself plus the widths of its callees: functions that vanished keep their place, and widths still fit into each other.
"""

import math
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import count as count_up

from markupsafe import Markup

from whyperf.analyze.cost.text import cycles, name_text
from whyperf.analyze.cost.tree import Frame
from whyperf.analyze.text import count, percent
from whyperf.report.cost.styles import style_of

MIN_RATIO = 0.005
"""Frames with a smaller part of the whole width are not drawn: 5 pixels of 1,000."""
MAX_FRAMES = 140
"""At most this many frames are drawn, the widest: about 10 KB of the page."""
STEPS = (0.001, 0.01, 0.03, 0.1)
"""Changes from these parts of the whole cost on have a color each, from the faintest to the strongest."""

MINUS = "\N{MINUS SIGN}"


@dataclass(frozen=True)
class FlameGraph:
    """A flame graph as HTML, and how many frames are too narrow to be drawn."""

    html: Markup
    left_out: int

    @property
    def note(self) -> str:
        """A sentence on the frames that are not drawn, empty where all are."""
        return f"The {count(self.left_out, 'narrowest function')} of all stacks are not drawn." if self.left_out else ""


def flame_graph(root: Frame) -> FlameGraph:
    """The flame graph of a tree; a differential one where the tree has values before."""
    box = _box(root)
    drawing = _Drawing(max(root.value, root.before or 0.0), box.width, _widest(box))
    drawing.add(box, 0.0, 100.0)
    kind = "flame" if root.before is None else "flame change"
    # The names are escaped where they are formatted.
    html = Markup(f"<ul class='{kind}'>{''.join(drawing.parts)}</ul>")
    return FlameGraph(html, sum(1 for _ in root.frames()) - len(drawing.drawn))


@dataclass(frozen=True)
class _Box:
    """A frame with its width, in the unit of its value."""

    frame: Frame
    width: float
    boxes: tuple["_Box", ...]


def _box(frame: Frame) -> _Box:
    boxes = tuple(_box(child) for child in frame.children)
    own = frame.value - sum(child.value for child in frame.children)
    if frame.before is not None:
        own = max(own, frame.before - sum(child.before or 0.0 for child in frame.children))
    return _Box(frame, max(own, 0.0) + sum(child.width for child in boxes), boxes)


def _widest(root: _Box) -> set[int]:
    """The identities of the boxes that are drawn; none without its caller."""
    drawn: set[int] = set()
    tie = count_up()
    waiting = [(-root.width, next(tie), root)]
    while waiting and len(drawn) < MAX_FRAMES:
        _, _, box = heappop(waiting)
        drawn.add(id(box))
        for child in box.boxes:
            if child.width >= MIN_RATIO * root.width > 0:
                heappush(waiting, (-child.width, next(tie), child))
    return drawn


@dataclass
class _Drawing:
    """The parts of the page, of a whole with a cost and a width; `drawn` are the identities of the boxes in it."""

    cost: float
    width: float
    drawn: set[int]
    parts: list[str] = field(default_factory=list)

    def add(self, box: _Box, left: float, percentage: float) -> None:
        """Adds a frame and what it calls.

        `left` is where it starts, in percent of the whole; `percentage` is its width, in percent of its caller.
        """
        width = f" style=--w:{percentage:g}" if percentage < 100 else ""
        # Labels of frames in the right half grow to the left.
        styles = " ".join(filter(None, (self._style(box.frame), "r" if left > 50 else "")))
        named = f" class='{styles}'" if styles else ""
        self.parts.append(f"<li{named}{width}><b>{self._label(box.frame)}</b>")
        callees = [child for child in box.boxes if id(child) in self.drawn]
        if callees:
            self.parts.append("<ul>")
            for child in callees:
                self.add(child, left, math.floor(child.width / box.width * 10_000 + 1e-6) / 100)
                left += 100 * child.width / self.width
            self.parts.append("</ul>")

    def _style(self, frame: Frame) -> str:
        """The class of a frame: that of what it does, or of how much it changed."""
        if frame.before is None:
            return "" if frame.cost_class is None else style_of(frame.cost_class)
        if not frame.value:
            return "gone"
        change = self._ratio(frame.value - frame.before)
        step = sum(abs(change) >= least for least in STEPS)
        changed = f"{'grew' if change > 0 else 'shrank'}{step}" if step else ""
        return changed if frame.before else f"{changed} new".strip()

    def _label(self, frame: Frame) -> Markup:
        value = cycles(frame.value)
        if frame.before is None:
            text = f"{value} · {percent(self._ratio(frame.value))}"
        elif not frame.value:
            text = f"{cycles(frame.before)} → 0, gone"
        elif not frame.before:
            text = f"0 → {value}, new"
        else:
            change = frame.value - frame.before
            text = f"{cycles(frame.before)} → {value}, {'+' if change >= 0 else MINUS}{cycles(abs(change))}"
        return Markup("{} <i>{}</i>").format(name_text(frame.name, frame.kind, frame.object), text)

    def _ratio(self, value: float) -> float:
        return value / self.cost if self.cost else 0.0
