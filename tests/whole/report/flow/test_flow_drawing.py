"""Blocks are in the page or next to it, and every one is somewhere."""

import json
import os
from pathlib import Path

import pytest

from tests.whole.report.flow.flow_tracks import about, track
from whyperf.record import RecordError
from whyperf.report.flow import drawing
from whyperf.report.flow.drawing import Drawing, draw

LONG = 100_000


def drawn(path: Path, *rows: int) -> Drawing:
    tracks = [track(count, connection=number) for number, count in enumerate(rows)]
    return draw(((logged, about(logged)) for logged in tracks), sum(rows), path)


def taken(folder: Path) -> set[str]:
    """The blocks that the scripts of a folder hand over."""
    names: set[str] = set()
    for file in folder.iterdir():
        text = file.read_text()
        assert text.startswith("whyperfFlow.take(")
        assert text.endswith(")")
        names |= json.loads(text[len("whyperfFlow.take(") : -1]).keys()
    return names


def test_a_short_log_is_in_the_page(tmp_path: Path) -> None:
    made = drawn(tmp_path / "flow", 500, LONG)
    assert made.outside is None
    assert not (tmp_path / "flow").exists()
    assert {str(name) for name in made.first_blocks()} == {"0r0", "1t0", "1m0", "1r0", "1r1", "1r2", "1r3"}
    assert [sum(tile[2] for tile in data["tiles"]) for data in made.tracks] == [500, LONG]


@pytest.mark.parametrize("early", [True, False])
def test_a_long_log_is_next_to_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, early: bool) -> None:
    """Whether that is clear from the rows or only from the bytes."""
    monkeypatch.setattr(drawing, "INLINE_ROWS" if early else "INLINE_BYTES", 1000)
    made = drawn(tmp_path / "flow", 500, LONG)
    assert made.outside == tmp_path / "flow"
    assert taken(tmp_path / "flow") == {"0r0", "1t0", "1m0", "1r0", "1r1", "1r2", "1r3"}
    assert {str(name) for name in made.first_blocks()} == {"0r0", "1t0", "1m0"}
    assert [path.name for path in tmp_path.iterdir()] == ["flow"]


def test_what_is_seen_from_afar_fits_a_smaller_page(tmp_path: Path) -> None:
    made = drawn(tmp_path / "flow", LONG)
    everything, whole = made.lone_blocks(10_000_000)
    assert whole
    assert len(everything) == 6
    far, whole = made.lone_blocks(sum(map(len, made.far.values())))
    assert not whole
    assert {str(name) for name in far} == {"0t0", "0m0"}


def test_a_folder_that_cannot_be_written_is_left_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drawing, "INLINE_ROWS", 1000)
    drawn(tmp_path / "flow", LONG)
    before = taken(tmp_path / "flow")

    def broken() -> object:
        yield track(50_000), about(track(50_000))
        raise OSError(28, "No space left on device")

    with pytest.raises(RecordError, match="no space left on device"):
        draw(broken(), LONG, tmp_path / "flow")  # type: ignore[arg-type]
    assert taken(tmp_path / "flow") == before
    assert [path.name for path in tmp_path.iterdir()] == ["flow"]


@pytest.mark.root
@pytest.mark.parametrize("is_long", [False, True])
def test_root_draws_into_no_result_of_another_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_long: bool
) -> None:
    """Neither is a folder made there, nor is an earlier one removed, nor is a track read."""
    monkeypatch.delenv("SUDO_UID", raising=False)
    result = tmp_path / "result"
    (result / "flow").mkdir(parents=True)
    os.chown(result, 65534, -1)
    tracks = iter([(track(500), about(track(500)))])
    with pytest.raises(RecordError, match=r"root writes nothing into a result of another user \(65534\); copy it"):
        draw(tracks, drawing.INLINE_ROWS + 1 if is_long else 500, result / "flow")
    assert [path.name for path in result.iterdir()] == ["flow"]
    assert len(list(tracks)) == 1


def test_links_that_take_the_place_of_a_folder_meanwhile_are_not_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(drawing, "INLINE_ROWS", 1000)
    result, moved, victim = tmp_path / "result", tmp_path / "moved", tmp_path / "victim"
    for path in (result, moved, victim):
        path.mkdir()

    def swapping() -> object:
        (partial,) = result.iterdir()
        partial.rename(moved / "partial")
        partial.symlink_to(victim)
        yield track(LONG), about(track(LONG))
        result.rename(moved / "result")
        result.symlink_to(victim)

    draw(swapping(), LONG, result / "flow")  # type: ignore[arg-type]
    assert list(victim.iterdir()) == []
    assert taken(moved / "partial") == {"0r0", "0t0", "0m0", "0r1", "0r2", "0r3"}
