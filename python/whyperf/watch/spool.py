"""Tables of a watch until the record is made: files without a name, so that none is left however this process ends."""

import os
import tempfile
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from whyperf.record import RecordError, TableFile
from whyperf.record.errors import is_full


class UnnamedTable(TableFile):
    """A table that is being received. Its path is that of an open descriptor of this process.

    Where the disk is full, it is lost alone: the tables that come after it are smaller, or have its room.
    """

    def write(self, data: bytes) -> int:
        """Appends bytes, unless the table is lost.

        Raises:
            RecordError: the disk refuses, and is not full.
        """
        try:
            return len(data) if self.is_lost else super().write(data)
        except RecordError as error:
            self._lose(error)
            return len(data)

    def close(self) -> None:
        """Ends the table.

        Raises:
            RecordError: as `write`.
        """
        try:
            super().close()
        except RecordError as error:
            self._lose(error)

    def discard(self) -> None:
        """Ends it; what was received goes when the spool closes."""
        self.close()

    def _lose(self, error: RecordError) -> None:
        if not is_full(error, self._path):
            raise error
        self.is_lost = True
        self._on_failure()


class TableSpool:
    """Keeps the tables of one agent, by name, while it is open."""

    def __init__(self, folder: Path) -> None:
        """`folder` is where the disk has room for them; it need not exist yet."""
        self._folder = next(parent for parent in (folder, *folder.absolute().parents) if parent.is_dir())
        self._files: dict[str, IO[bytes]] = {}
        #: Tables for which the disk had no room.
        self.lost: list[str] = []

    def open_table(self, name: str, _host: str) -> TableFile:
        """A new table, to be written and closed.

        Raises:
            RecordError: the disk refuses.
        """
        try:
            file = tempfile.TemporaryFile(dir=self._folder)  # noqa: SIM115 - close() closes it
            written = os.fdopen(os.dup(file.fileno()), "wb")
        except OSError as error:
            raise RecordError(f"cannot keep tables in {self._folder}: {error.strerror}") from error
        self._files[name] = file
        return UnnamedTable(_path_of(file), written, partial(self._lose, name))

    def _lose(self, name: str) -> None:
        if name not in self.lost:
            self.lost.append(name)
        self.drop(name)

    @property
    def tables(self) -> dict[str, Path]:
        """The files by the name of the table, for this process and as long as the spool is open."""
        return {name: _path_of(file) for name, file in self._files.items()}

    def drop(self, name: str) -> None:
        """Forget a table."""
        if (file := self._files.pop(name, None)) is not None:
            file.close()

    def close(self) -> None:
        """Removes all of them."""
        while self._files:
            self._files.popitem()[1].close()

    def __enter__(self) -> Self:
        """Itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Removes all tables."""
        self.close()


def _path_of(file: IO[bytes]) -> Path:
    return Path(f"/proc/self/fd/{file.fileno()}")
