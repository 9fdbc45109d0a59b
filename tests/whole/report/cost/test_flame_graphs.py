"""Flame graphs: what is drawn, how wide, and in which colors."""

import html
import re
from dataclasses import dataclass, field
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whyperf.analyze.cost.tree import Frame, compared
from whyperf.report.cost import flame
from whyperf.report.cost.flame import MAX_FRAMES, MIN_RATIO, flame_graph
from whyperf.report.cost.styles import style_of


@dataclass
class Drawn:
    """A frame as the page has it; `width` in percent of its caller."""

    styles: tuple[str, ...]
    width: float
    text: str = ""
    children: list["Drawn"] = field(default_factory=list)

    def all(self) -> list["Drawn"]:
        return [self, *(found for child in self.children for found in child.all())]


class Reader(HTMLParser):
    """Reads the nested lists as a browser does: an item ends where the next one begins, or its list ends."""

    def __init__(self) -> None:
        super().__init__()
        self.top = Drawn((), 100)
        self.lists: list[Drawn] = []
        self.item = self.top

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given_ = {name: value or "" for name, value in attrs}
        if tag == "ul":
            self.lists.append(self.item)
        if tag == "li":
            width = float(given_.get("style", "--w:100").removeprefix("--w:"))
            self.item = Drawn(tuple(given_.get("class", "").split()), width)
            self.lists[-1].children.append(self.item)

    def handle_endtag(self, tag: str) -> None:
        if tag == "ul":
            self.item = self.lists.pop()

    def handle_data(self, data: str) -> None:
        self.item.text += data


def drawn(root: Frame) -> Drawn:
    reader = Reader()
    reader.feed(str(flame_graph(root).html))
    (item,) = reader.top.children
    return item


def frame(name: str, value: float, *children: Frame) -> Frame:
    return Frame(name, "kernel", "", value, cost_class="transmit", children=children)


def by_name(root: Drawn) -> dict[str, Drawn]:
    return {found.text.split(" ")[0]: found for found in root.all()}


def test_a_frame_is_as_wide_as_its_part_of_its_caller() -> None:
    root = frame("sender", 1000, frame("send", 750, frame("copy", 500), frame("transmit", 125)), frame("read", 250))
    found = by_name(drawn(root))
    widths = {name: item.width for name, item in found.items()}
    assert widths == {"sender": 100, "send": 75, "copy": 66.66, "transmit": 16.66, "read": 25}
    assert found["copy"].text == "copy 500 · 50 %"
    assert found["copy"].styles == (style_of("transmit"),)
    assert found["read"].styles == (style_of("transmit"), "r")


def test_narrow_frames_are_left_out_with_all_that_they_call() -> None:
    root = frame("sender", 1000, frame("wide", MIN_RATIO * 1000), frame("narrow", MIN_RATIO * 999, frame("below", 1)))
    graph = flame_graph(root)
    assert by_name(drawn(root)).keys() == {"sender", "wide"}
    assert graph.left_out == 2
    assert graph.note == "The 2 narrowest functions of all stacks are not drawn."
    assert not flame_graph(frame("sender", 1)).note


def test_of_many_frames_the_widest_are_drawn() -> None:
    callees = [frame(f"f{place}", 4 + (place % 2), frame(f"g{place}", 3)) for place in range(200)]
    root = frame("sender", 900, *callees)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(flame, "MIN_RATIO", 0.001)
        found = by_name(drawn(root))
    assert len(found) == MAX_FRAMES
    assert {f"f{place}" for place in range(1, 200, 2)} < found.keys()


def test_names_are_text() -> None:
    text = str(flame_graph(frame("sender", 2, frame("<b onclick='x'>&", 1))).html)
    assert "<b onclick" not in text
    assert html.unescape(re.findall(r"<b>([^<]*) <i>1 ", text)[0]) == "<b onclick='x'>&"


def test_a_difference_shows_what_grew_shrank_vanished_and_is_new() -> None:
    before = frame("sender", 1000, frame("send", 900, frame("copy", 400), frame("lock", 300), frame("same", 100)))
    after = frame("sender", 900, frame("send", 800, frame("copy", 420), frame("fresh", 80), frame("same", 100.5)))
    found = by_name(drawn(compared(before, after)))
    assert found["sender"].styles == ("shrank4",)
    assert found["copy"].styles == ("grew2",)
    assert found["same"].styles[:1] in {(), ("r",)}
    assert found["lock"].styles[0] == "gone"
    assert found["fresh"].styles[0] == "grew3"
    assert found["copy"].text == "copy 400 → 420, +20"
    assert found["lock"].text == "lock 300 → 0, gone"
    assert found["fresh"].text == "fresh 0 → 80, new"
    assert found["sender"].text == "sender 1,000 → 900, −100"  # noqa: RUF001 - a minus sign
    # Of `send`: 420 + 300 + 80 + 100.5, and its own: 199.5 after, 100 before.
    send = 420 + 300 + 80 + 100.5 + 199.5
    assert found["lock"].width == pytest.approx(100 * 300 / send, abs=0.01)
    assert found["fresh"].width == pytest.approx(100 * 80 / send, abs=0.01)


TREES = st.recursive(
    st.tuples(st.sampled_from("abcdef"), st.floats(0, 1e6), st.just(())),
    lambda below: st.tuples(
        st.sampled_from("abcdef"), st.floats(0, 1e6), st.lists(below, max_size=4, unique_by=lambda made: made[0])
    ),
    max_leaves=25,
)


def made(parts: tuple[str, float, list[object]]) -> Frame:
    """A frame of its name, what is its own, and its callees."""
    name, own, below = parts
    children = [made(child) for child in below]  # type: ignore[arg-type]
    return frame(name, own + sum(child.value for child in children), *children)


@given(before=TREES, after=TREES, alone=st.booleans())
def test_callees_are_never_wider_than_their_caller(
    before: tuple[str, float, list[object]], after: tuple[str, float, list[object]], alone: bool
) -> None:
    root = made(after) if alone else compared(made(before), made(after))
    for item in drawn(root).all():
        assert all(0 <= child.width <= 100 for child in item.children)
        assert sum(child.width for child in item.children) <= 100 + 1e-9
