"""Everything that is drawn of a trial's tracks: what the page's script must know, and blocks of data."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from whyperf.record.durable import remove
from whyperf.record.errors import as_record_error
from whyperf.report.flow import levels
from whyperf.report.flow.packs import Folder, Name, folder, pack_all
from whyperf.report.flow.tiles import stretches, tiles
from whyperf.report.flow.track import Track

INLINE_ROWS = 1_500_000
"""More rows than this never fit a page."""

INLINE_BYTES = 4_400_000
"""Blocks that fit a page of at most 5 MB."""

FIRST_BYTES = 3_000_000
"""Blocks that a page holds when it cannot hold all, so that it draws at once."""

About = dict[str, Any]
Blocks = dict[Name, str]


@dataclass
class Drawing:
    """What a page draws: `tracks` for its script, and blocks.

    `far` are the blocks that are drawn where rows are narrower than pixels, short tracks as a whole
    among them; `close` the tiles of the others. `outside` is the folder with all blocks, None where
    the page itself can hold them; `close` is empty where there is one.
    """

    tracks: list[About] = field(default_factory=list)
    far: Blocks = field(default_factory=dict)
    close: Blocks = field(default_factory=dict)
    outside: Path | None = None

    def first_blocks(self) -> Blocks:
        """The blocks of the page beside the folder, or of the page without one."""
        return self.far | self.close if self.outside is None else _fitting(self.far, FIRST_BYTES)

    def lone_blocks(self, most: int) -> tuple[Blocks, bool]:
        """Blocks for a page without the folder that has `most` bytes for them; whether every row is in them."""
        whole = self.far | self.close
        if self.outside is None and _bytes(whole) <= most:
            return whole, True
        return _fitting(self.far, most), False


def draw(tracks: Iterable[tuple[Track, About]], rows: int, path: Path) -> Drawing:
    """Packs `tracks`, each with what else its page is to know of it.

    Args:
        tracks: taken one after another, so that only one needs to be in memory.
        rows: of all tracks together; decides early whether they can be in the page.
        path: where the folder of blocks goes if the page cannot hold them; removed if it can.

    Raises:
        RecordError: the folder cannot be written.
    """
    made = Drawing()
    with ExitStack() as stack:
        outside = stack.enter_context(folder(path)) if rows > INLINE_ROWS else None
        for track, about in tracks:
            _add(made, track, about, outside)
            # Not kept while the next one is read.
            del track
        if outside is None and _bytes(made.far | made.close) <= INLINE_BYTES:
            with as_record_error("remove", path):
                remove(path)
            return made
        if outside is None:
            outside = stack.enter_context(folder(path))
            for name, text in made.close.items():
                outside.write(name.file, {name: text})
            made.close.clear()
        for number in range(len(made.tracks)):
            outside.write(str(number), {name: text for name, text in made.far.items() if name.track == number})
        made.outside = path
    return made


def _add(made: Drawing, track: Track, about: About, outside: Folder | None) -> None:
    number = len(made.tracks)
    kinds = levels.sizes(track)
    spans: list[list[int]] = []
    short = len(stretches(len(track))) == 1
    for name, text in pack_all(_contents(track, kinds, number, spans)):
        if name.kind != "r" or short:
            made.far[name] = text
        elif outside is None:
            made.close[name] = text
        else:
            outside.write(name.file, {name: text})
    seen = {"host": track.host, "role": track.role, "connection": track.connection, "tiles": spans}
    made.tracks.append({**seen, "sizes": [list(bounds) for bounds in kinds.bounds], **about})


def _contents(track: Track, kinds: levels.Sizes, number: int, spans: list[list[int]]) -> Iterator[tuple[Name, bytes]]:
    """The blocks of a track; notes each tile's instants, rows and values before in `spans`."""
    every = stretches(len(track))
    if len(every) > 1:
        yield Name(number, "t", 0), levels.top(track, kinds)
        for first in range(0, len(every), levels.GROUP):
            name = Name(number, "m", first // levels.GROUP)
            yield name, levels.group(track, kinds, every[first : first + levels.GROUP])
    for index, tile in enumerate(tiles(track)):
        spans.append([tile.start_ns, tile.end_ns, tile.rows, tile.unacked_before, tile.announced_before])
        yield Name(number, "r", index), tile.content


def _fitting(blocks: Blocks, most: int) -> Blocks:
    """As many blocks as fit, the tops first."""
    kept: Blocks = {}
    for name in sorted(blocks, key=lambda name: name.kind != "t"):
        if len(blocks[name]) <= most:
            kept[name] = blocks[name]
            most -= len(blocks[name])
    return kept


def _bytes(blocks: Mapping[Name, str]) -> int:
    return sum(map(len, blocks.values()))
