"""Blocks of data as text, for the page itself or for scripts in a folder next to it.

A page that is opened from a disk may load only scripts. So each block that is loaded on demand is in a script, which
passes it on as text.
"""

import binascii
import json
import os
import zlib
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from whyperf.record.durable import create, file_mode, folder_mode, open_folder, partial_name, remove
from whyperf.record.errors import as_record_error

THREADS = 2
AHEAD = 8
"""Blocks that may wait for a thread; each holds about a megabyte."""


class Name(NamedTuple):
    """The name of a block: the number of its track, the kind of its content, and its number.

    `t`: bins of the whole track. `m`: bins of a group of tiles. `r`: rows of a tile.
    """

    track: int
    kind: str
    part: int

    def __str__(self) -> str:
        """The name as the script of the page writes it."""
        return f"{self.track}{self.kind}{self.part}"

    @property
    def file(self) -> str:
        """The script file of a tile of a long track."""
        return f"{self.track}-{self.part}"


def pack_all(contents: Iterable[tuple[Name, bytes]]) -> Iterator[tuple[Name, str]]:
    """Packs blocks on threads, a few ahead, and yields them in their order."""
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
    # Byte planes are runs and noise: Z_RLE is faster than level 1 and packs like level 6.
    packer = zlib.compressobj(1, zlib.DEFLATED, zlib.MAX_WBITS, zlib.DEF_MEM_LEVEL, zlib.Z_RLE)
    packed = packer.compress(content) + packer.flush()
    return binascii.b2a_base64(packed, newline=False).decode("ascii")


@dataclass(frozen=True)
class Folder:
    """The folder next to a page: written under a temporary name and renamed when it is complete.

    All happens by descriptors of the result and of the temporary folder, whatever takes their places meanwhile.
    """

    name: str
    partial: str
    result: int
    descriptor: int

    def write(self, file: str, blocks: Mapping[Name, str]) -> None:
        """Writes a script with some blocks."""
        named = {str(name): text for name, text in blocks.items()}
        content = f"whyperfFlow.take({json.dumps(named, separators=(',', ':'))})"
        with create(f"{file}.js", self.descriptor, file_mode(self.descriptor)) as script:
            script.write(content.encode("ascii"))

    def commit(self) -> None:
        """Replaces the previous folder."""
        remove(self.name, folder=self.result)
        os.rename(self.partial, self.name, src_dir_fd=self.result, dst_dir_fd=self.result)


@contextmanager
def folder(path: Path, result: int) -> Iterator[Folder]:
    """A folder that is complete at the end, or unchanged after an error; `result` is a descriptor of its parent.

    Raises:
        RecordError: it cannot be written.
    """
    with as_record_error("write", path):
        partial = partial_name(path).name
        os.mkdir(partial, folder_mode(result), dir_fd=result)
        try:
            with open_folder(partial, in_result=True, folder=result) as descriptor:
                new = Folder(path.name, partial, result, descriptor)
                yield new
                new.commit()
        except BaseException:
            remove(partial, folder=result)
            raise


CONSTANT, WHOLE = b"\0", b"\1"


def planes(values: npt.NDArray[Any], width: int) -> list[bytes]:
    """The lower `width` byte planes of little-endian integers."""
    values = np.ascontiguousarray(values)
    spread = values.view(np.uint8).reshape(len(values), values.dtype.itemsize)
    parts: list[bytes] = []
    for index in range(width):
        plane = spread[:, index].tobytes()
        first = plane[:1] or b"\0"
        parts += [CONSTANT, first] if plane.count(first) == len(plane) else [WHOLE, plane]
    return parts
