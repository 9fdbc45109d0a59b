"""The picture of ARCHITECTURE.md is what the code says, and can be read."""

import re
from graphlib import CycleError
from itertools import combinations
from xml.etree import ElementTree

import pytest

from scripts import rooms

SVG = {"": "http://www.w3.org/2000/svg"}
DRAWN = ElementTree.fromstring(rooms.PICTURE.read_text())
ARROWS = {arrow.findtext("title", "", SVG): arrow.attrib["d"] for arrow in DRAWN.findall("path", SVG)}
#: Pixels of a character, of the size of its text.
CHARACTER = 7 / 12


def boxes() -> list[tuple[int, int, int, int]]:
    """The edges of all boxes: left, top, right, bottom."""
    found = []
    for rect in DRAWN.findall("rect", SVG):
        if rect.attrib["class"] in {rooms.PACKAGES.name, rooms.CRATES.name}:
            x, y, width, height = (int(rect.attrib[name]) for name in ("x", "y", "width", "height"))
            found.append((x, y, x + width, y + height))
    return found


def test_the_picture_is_current() -> None:
    assert rooms.PICTURE.read_text() == rooms.picture(), "run make schemas, or python -m scripts.rooms"


def test_every_package_and_every_crate_has_a_box() -> None:
    drawn = [text.text for text in DRAWN.findall("text[@class='name']", SVG)]
    folders = [*rooms.PACKAGES.glob("*/__init__.py"), *rooms.CRATES.glob("*/Cargo.toml")]
    assert sorted(filter(None, drawn)) == sorted(file.parent.name for file in folders)


def test_no_arrow_leads_upward_or_to_the_command_line() -> None:
    for name, path in ARROWS.items():
        first, *_, last = re.findall(r"(?<= )\d+", path)
        assert int(first) < int(last), name
    assert [name for name in ARROWS if name.endswith("→ cli")] == []
    assert [name for name in ARROWS if name.startswith("cli →")] != []


def test_arrows_that_follow_from_others_are_left_out() -> None:
    assert rooms.reduced({"a": {"b", "c", "d"}, "b": {"c"}, "c": {"d"}, "d": set()}) == {
        "a": {"b"},
        "b": {"c"},
        "c": {"d"},
        "d": set(),
    }


def test_a_circle_of_imports_has_no_picture() -> None:
    with pytest.raises(CycleError):
        rooms.placed({"a": {"b"}, "b": {"a"}}, {"a": 0, "b": 0})


def test_no_boxes_overlap_and_no_arrow_crosses_a_box() -> None:
    for left, right in combinations(boxes(), 2):
        assert left[2] < right[0] or right[2] < left[0] or left[3] < right[1] or right[3] < left[1]
    for name, path in ARROWS.items():
        for x, top, bottom in (map(int, part) for part in re.findall(r"(\d+) (\d+)V(\d+)", path)):
            assert not [box for box in boxes() if box[0] <= x <= box[2] and box[1] < bottom and top < box[3]], name


def test_texts_fit_their_boxes() -> None:
    for text in DRAWN.findall("text", SVG):
        x, y, size = int(text.attrib["x"]), int(text.attrib["y"]), 13 if "class" in text.attrib else 12
        around = [box for box in boxes() if box[0] <= x <= box[2] and box[1] <= y <= box[3]]
        left, _, right, _ = around[0] if around else (0, 0, rooms.WIDTH, 0)
        half = len(text.text or "") * CHARACTER * size / 2
        assert left < x - half, text.text
        assert x + half < right, text.text
