"""The drawing of the tracks of a trial: the data of the script of the page, and blocks of rows."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from whyperf.record.durable import open_folder, remove
from whyperf.record.errors import as_record_error
from whyperf.report.flow import levels
from whyperf.report.flow.packs import Folder, Name, folder, pack_all
from whyperf.report.flow.tiles import row_ranges, tiles
from whyperf.report.flow.track import Track

INLINE_ROWS = 1_500_000
"""More rows than this never fit a page."""

INLINE_BYTES = 4_400_000
"""Blocks that fit a page of at most 5 MB."""

FIRST_BYTES = 3_000_000
"""Blocks that a page holds when it cannot hold all, so that it draws immediately."""

About = dict[str, Any]
Blocks = dict[Name, str]


@dataclass
class Drawing:
    """The drawing of a page: `tracks` for its script, and blocks.

    `far` are the blocks that are drawn where rows are narrower than a pixel, and all blocks of short tracks. `close`
    are the tiles of the other tracks. `outside` is the folder with all blocks; it is None where the page itself can
    hold them. With a folder, `close` is empty.
    """

    tracks: list[About] = field(default_factory=list)
    far: Blocks = field(default_factory=dict)
    close: Blocks = field(default_factory=dict)
    outside: Path | None = None

    def first_blocks(self) -> Blocks:
        """The blocks of the page: those in addition to the folder, or all without a folder."""
        return self.far | self.close if self.outside is None else _fitting(self.far, FIRST_BYTES)

    def lone_blocks(self, max_bytes: int) -> tuple[Blocks, bool]:
        """Blocks of at most `max_bytes` for a page without the folder; whether they have every row."""
        whole = self.far | self.close
        if self.outside is None and _bytes(whole) <= max_bytes:
            return whole, True
        return _fitting(self.far, max_bytes), False


def draw(tracks: Iterable[tuple[Track, About]], rows: int, path: Path) -> Drawing:
    """Packs `tracks`, each with the further data of its page.

    Args:
        tracks: read one after another, so that only one is in memory.
        rows: number of rows of all tracks; decides early whether the page can hold them.
        path: the folder of blocks if the page cannot hold them; removed if it can.

    Raises:
        RecordError: the folder cannot be written, or root would write into a result of another user.
    """
    drawing = Drawing()
    with ExitStack() as stack:
        with as_record_error("write to", path.parent):
            result = stack.enter_context(open_folder(path.parent, in_result=True))
        outside = stack.enter_context(folder(path, result)) if rows > INLINE_ROWS else None
        for track, about in tracks:
            _add(drawing, track, about, outside)
            # Not kept while the next one is read.
            del track
        if outside is None and _bytes(drawing.far | drawing.close) <= INLINE_BYTES:
            with as_record_error("remove", path):
                remove(path.name, folder=result)
            return drawing
        if outside is None:
            outside = stack.enter_context(folder(path, result))
            for name, text in drawing.close.items():
                outside.write(name.file, {name: text})
            drawing.close.clear()
        for number in range(len(drawing.tracks)):
            outside.write(str(number), {name: text for name, text in drawing.far.items() if name.track == number})
        drawing.outside = path
    return drawing


def _add(drawing: Drawing, track: Track, about: About, outside: Folder | None) -> None:
    number = len(drawing.tracks)
    kinds = levels.sizes(track)
    spans: list[list[int]] = []
    short = len(row_ranges(len(track))) == 1
    for name, text in pack_all(_contents(track, kinds, number, spans)):
        if name.kind != "r" or short:
            drawing.far[name] = text
        elif outside is None:
            drawing.close[name] = text
        else:
            outside.write(name.file, {name: text})
    own = {"host": track.host, "role": track.role, "connection": track.connection, "tiles": spans}
    drawing.tracks.append({**own, "sizes": [list(bounds) for bounds in kinds.bounds], **about})


def _contents(track: Track, kinds: levels.Sizes, number: int, spans: list[list[int]]) -> Iterator[tuple[Name, bytes]]:
    """The blocks of a track; adds the times, rows and preceding values of each tile to `spans`."""
    ranges = row_ranges(len(track))
    if len(ranges) > 1:
        yield Name(number, "t", 0), levels.top(track, kinds)
        for first in range(0, len(ranges), levels.GROUP):
            name = Name(number, "m", first // levels.GROUP)
            yield name, levels.group(track, kinds, ranges[first : first + levels.GROUP])
    for index, tile in enumerate(tiles(track)):
        spans.append([tile.start_ns, tile.end_ns, tile.rows, tile.unacked_before, tile.advertised_before])
        yield Name(number, "r", index), tile.content


def _fitting(blocks: Blocks, max_bytes: int) -> Blocks:
    """As many blocks as fit into `max_bytes`, the top bins first."""
    kept: Blocks = {}
    for name in sorted(blocks, key=lambda name: name.kind != "t"):
        if len(blocks[name]) <= max_bytes:
            kept[name] = blocks[name]
            max_bytes -= len(blocks[name])
    return kept


def _bytes(blocks: Mapping[Name, str]) -> int:
    return sum(map(len, blocks.values()))
