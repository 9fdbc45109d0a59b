"""Blocks of data as text, for the page itself or for scripts in a folder next to it.

A page opened from a disk may load scripts and nothing else, so what is loaded on demand is a script
that hands its blocks over as text.
"""

import binascii
import json
import zlib
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from whyperf.record.durable import file_mode, folder_mode, partial_name, remove
from whyperf.record.errors import as_record_error

THREADS = 2
AHEAD = 8
"""Blocks that may wait for a thread; each holds about a megabyte."""


class Name(NamedTuple):
    """A block's name: the number of its track, what it holds, and which of these it is.

    `t`: bins of the whole track. `m`: bins of a group of tiles. `r`: rows of a tile.
    """

    track: int
    kind: str
    part: int

    def __str__(self) -> str:
        """As the page's script spells it."""
        return f"{self.track}{self.kind}{self.part}"

    @property
    def file(self) -> str:
        """The script of its own that a tile of a long track has."""
        return f"{self.track}-{self.part}"


def pack_all(contents: Iterable[tuple[Name, bytes]]) -> Iterator[tuple[Name, str]]:
    """Packs blocks on threads, a few ahead; they come out in their order."""
    waiting: deque[tuple[Name, Future[str]]] = deque()
    with ThreadPoolExecutor(THREADS) as threads:
        for name, content in contents:
            waiting.append((name, threads.submit(_pack, content)))
            if len(waiting) > AHEAD:
                first, packed = waiting.popleft()
                yield first, packed.result()
        for first, packed in waiting:
            yield first, packed.result()


def _pack(content: bytes) -> str:
    # Planes of bytes are runs and noise: looking for runs alone is faster than level 1 and packs like level 6.
    packer = zlib.compressobj(1, zlib.DEFLATED, zlib.MAX_WBITS, zlib.DEF_MEM_LEVEL, zlib.Z_RLE)
    packed = packer.compress(content) + packer.flush()
    return binascii.b2a_base64(packed, newline=False).decode("ascii")


class Folder:
    """The folder beside a page, written beside its place and put there when it is whole."""

    def __init__(self, path: Path) -> None:
        """Begins it."""
        self._path = path
        self._beside = partial_name(path)
        self._beside.mkdir(folder_mode(path.parent))

    def write(self, file: str, blocks: Mapping[Name, str]) -> None:
        """Writes a script with some blocks."""
        named = {str(name): text for name, text in blocks.items()}
        content = f"whyperfFlow.take({json.dumps(named, separators=(',', ':'))})"
        path = self._beside / f"{file}.js"
        path.touch(file_mode(self._beside), exist_ok=False)
        path.write_bytes(content.encode("ascii"))

    def commit(self) -> None:
        """Takes the place of what was there before."""
        remove(self._path)
        self._beside.rename(self._path)

    def discard(self) -> None:
        """Leaves nothing behind."""
        remove(self._beside)


@contextmanager
def folder(path: Path) -> Iterator[Folder]:
    """A folder that is there as a whole at the end, or as it was before.

    Raises:
        RecordError: it cannot be written.
    """
    with as_record_error("write", path):
        made = Folder(path)
        try:
            yield made
            made.commit()
        except BaseException:
            made.discard()
            raise


CONSTANT, WHOLE = b"\0", b"\1"


def planes(values: npt.NDArray[Any], width: int) -> list[bytes]:
    """`width` planes of little-endian integers; the bytes above must not matter."""
    values = np.ascontiguousarray(values)
    spread = values.view(np.uint8).reshape(len(values), values.dtype.itemsize)
    parts: list[bytes] = []
    for index in range(width):
        plane = spread[:, index].tobytes()
        one = plane[:1] or b"\0"
        parts += [CONSTANT, one] if plane.count(one) == len(plane) else [WHOLE, plane]
    return parts
