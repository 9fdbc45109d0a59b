"""Files of a folder that somebody else may have made.

Such a folder may hold anything under any name: a link to a file of the user, a FIFO that nobody writes into, a device
without an end. What is no plain file, or is larger than anything whyperf writes, is an OSError with the reason.
"""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

MAX_DOCUMENT_BYTES = 16 << 20
"""A JSON or TOML document about one thing: a trial, a host, a profile."""

MAX_LARGE_DOCUMENT_BYTES = 256 << 20
"""A document that grows with the number of cells or trials."""


@contextmanager
def open_folder_without_links(path: Path) -> Iterator[int]:
    """A descriptor of a folder for opening what is in it; `path` is absolute and without links (`Path.resolve`).

    Each part is opened in the one before it: who owns one of the folders could put a link in it after `Path.resolve`.

    Raises:
        OSError: a part is not there, or is no folder any more.
    """
    # With O_PATH a folder need not be readable; with O_DIRECTORY a link is refused (open(2)).
    flags = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(path.anchor, flags)
    try:
        for part in path.parts[1:]:
            inner = os.open(part, flags, dir_fd=descriptor)
            os.close(descriptor)
            descriptor = inner
        yield descriptor
    finally:
        os.close(descriptor)


def open_file(path: Path, *, is_users: bool = False, folder: int | None = None) -> int:
    """A descriptor for reading a plain file; `is_users` says that the user named it, and it may be a link.

    `folder` is a descriptor of the folder that a relative path begins in.

    Raises:
        OSError: it is not there, or is a link, a FIFO, a device or a folder.
    """
    # Without O_NONBLOCK opening a FIFO waits for a writer.
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | (0 if is_users else os.O_NOFOLLOW)
    try:
        descriptor = os.open(path, flags, dir_fd=folder)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise _a_link(path) from None
        raise
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "it is not a plain file", str(path))
    return descriptor


def read_bytes(
    path: Path, limit: int = MAX_DOCUMENT_BYTES, *, is_users: bool = False, folder: int | None = None
) -> bytes:
    """The content of a plain file of at most `limit` bytes; `is_users` and `folder` as in `open_file`.

    Raises:
        OSError: as `open_file`, or it is larger.
    """
    with os.fdopen(open_file(path, is_users=is_users, folder=folder), "rb") as file:
        content = file.read(limit + 1)
    if len(content) > limit:
        raise OSError(errno.EINVAL, f"it is larger than {limit >> 20} MiB", str(path))
    return content


def read_text(path: Path, limit: int = MAX_DOCUMENT_BYTES, *, is_users: bool = False, folder: int | None = None) -> str:
    """The same as text.

    Raises:
        OSError: as `read_bytes`.
        UnicodeDecodeError: it is not UTF-8.
    """
    return read_bytes(path, limit, is_users=is_users, folder=folder).decode()


def is_meant(path: Path, folder: Path) -> bool:
    """True if a document in `folder` may name this file: it lies below, and neither it nor a folder between is hidden.

    Both are without links (`Path.resolve`).
    """
    return path.is_relative_to(folder) and not any(part.startswith(".") for part in path.relative_to(folder).parts)


def plain_files(folder: Path) -> dict[str, int]:
    """The names of what is in a folder, and the bytes of those that are plain files; -1 for links and all others.

    Raises:
        OSError: it cannot be read.
    """
    with os.scandir(folder) as entries:
        states = {entry.name: entry.stat(follow_symlinks=False) for entry in entries}
    return {name: state.st_size if stat.S_ISREG(state.st_mode) else -1 for name, state in states.items()}


def refuse_link(folder: Path) -> None:
    """Refuses what is there in the place of a folder and is none; nothing there is fine.

    Raises:
        OSError: it is a link or a file.
    """
    try:
        mode = os.lstat(folder).st_mode
    except FileNotFoundError:
        return
    if stat.S_ISLNK(mode):
        raise _a_link(folder)
    if not stat.S_ISDIR(mode):
        raise NotADirectoryError(errno.ENOTDIR, "it is not a folder", str(folder))


def _a_link(path: Path) -> OSError:
    return OSError(errno.ELOOP, "it is a symbolic link, which no result holds", str(path))
