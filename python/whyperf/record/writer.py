"""Writes one trial next to the others and moves it into place when it is whole."""

import json
import os
import re
import shutil
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self

from pydantic import ValidationError

from whyperf.record.durable import file_mode, folder_mode, remove, sync
from whyperf.record.errors import RecordError, as_record_error, failure
from whyperf.record.manifest import Manifest, read_manifest

#: Names come from an agent on another host and become file names.
SAFE_NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")
#: Files of a trial that are written to the disk at the same time.
_SYNCED_TOGETHER = 16


class TableFile:
    """A table being received. A write that fails takes the whole partial trial with it."""

    def __init__(self, path: Path, file: BinaryIO, on_failure: Callable[[], None]) -> None:
        """Wraps an open file."""
        self._path = path
        self._file = file
        self._on_failure = on_failure
        #: True where there is no such table any more, while its pieces still come.
        self.is_lost = False

    @property
    def path(self) -> Path:
        """Where it lies until the trial is committed."""
        return self._path

    def write(self, data: bytes) -> int:
        """Appends bytes; RecordError when there is no space."""
        try:
            return self._file.write(data)
        except OSError as error:
            self._on_failure()
            raise failure("write", self._path, error) from error

    def close(self) -> None:
        """Ends the table; what the system still held back is written here."""
        try:
            self._file.close()
        except OSError as error:
            self._on_failure()
            raise failure("write", self._path, error) from error

    def discard(self) -> None:
        """Ends the table and removes it: what was received is not whole, or wrong."""
        self.close()
        self._path.unlink(missing_ok=True)

    def __enter__(self) -> Self:
        """The file itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Ends the table."""
        self.close()


class TrialWriter:
    """Collects a trial in `trials/.<trial>.partial`; `commit` renames it, `abandon` removes it.

    As a context manager it abandons what was not committed.
    """

    def __init__(self, partial: Path, final: Path, clear_final: Callable[[], None]) -> None:
        """Starts an empty partial folder; `clear_final` moves an earlier trial of that name aside."""
        self._partial = partial
        self._final = final
        self._clear_final = clear_final
        self._open: list[BinaryIO] = []
        with as_record_error("create", partial):
            remove(partial)
            partial.mkdir(folder_mode(partial.parent))

    @property
    def folder(self) -> Path:
        """Where what is written lies until it is committed."""
        return self._partial

    def open_table(self, name: str, host: str) -> TableFile:
        """A new table of that host (`near` or `far`), to be written and closed."""
        for part in (name, host):
            if not SAFE_NAME.fullmatch(part):
                self.abandon()
                raise RecordError(f"the agent sent a table named {name!r}; install the same whyperf on both hosts")
        path = self._partial / f"{name}.{host}.parquet"
        try:
            file = self._create(path)
        except OSError as error:
            self.abandon()
            raise failure("create", path, error) from error
        self._open.append(file)
        return TableFile(path, file, self.abandon)

    def commit(self, manifest: Mapping[str, object]) -> Manifest:
        """Writes the manifest and moves the trial into place; afterwards it survives a power cut.

        Returns the manifest as written, with the list of tables.

        Raises:
            RecordError: the manifest is not one, or the disk refuses; the partial trial is gone then.
        """
        try:
            return self._commit(manifest)
        except OSError as error:
            self.abandon()
            raise failure("write", self._final, error) from error
        except ValidationError as error:
            self.abandon()
            finding = error.errors()[0]
            key = ".".join(str(part) for part in finding["loc"])
            text = f"the manifest of trial {self._final.name} cannot be written: {key} {finding['msg']}"
            raise RecordError(text) from None

    def _commit(self, manifest: Mapping[str, object]) -> Manifest:
        while self._open:
            self._open.pop().close()
        tables = {path.name: path.stat().st_size for path in sorted(self._partial.iterdir())}
        text = json.dumps({**manifest, "tables": tables}, indent=1, ensure_ascii=False) + "\n"
        whole = read_manifest(text)
        with self._create(self._partial / "manifest.json") as file:
            file.write(text.encode())
        # All at once: the file system writes its journal for several of them together.
        with ThreadPoolExecutor(_SYNCED_TOGETHER) as threads:
            list(threads.map(sync, [*self._partial.iterdir(), self._partial]))
        self._clear_final()
        self._partial.rename(self._final)
        sync(self._final.parent)
        return whole

    def _create(self, path: Path) -> BinaryIO:
        """A new file for writing, as private as its folder."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        return os.fdopen(os.open(path, flags, file_mode(path.parent)), "wb")

    def abandon(self) -> None:
        """Removes what was written; more than once does no harm."""
        # Closing may fail for the reason the trial is abandoned: what is lost was to be removed anyway.
        while self._open:
            with suppress(OSError):
                self._open.pop().close()
        shutil.rmtree(self._partial, ignore_errors=True)

    def __enter__(self) -> Self:
        """The writer itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Removes the partial folder unless it was moved into place."""
        self.abandon()
