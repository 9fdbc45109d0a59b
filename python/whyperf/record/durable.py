"""Files and folders that are whole after a crash or not there at all.

The folder may be somebody else's: whatever lies in it under any name, a link above all, nothing outside is touched.
"""

import os
import secrets
import shutil
from pathlib import Path

PARTIAL = ".partial"


def write_file(path: Path, content: bytes) -> None:
    """Writes under another name and renames: a reader sees the old file or the new one, also after a power cut."""
    partial = partial_name(path)
    # With O_EXCL a link is refused like any other file (open(2)).
    descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, file_mode(path.parent))
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    except OSError:
        partial.unlink(missing_ok=True)
        raise
    sync(path.parent)


def partial_name(path: Path) -> Path:
    """A name next to `path` that nobody could know before."""
    return path.with_name(f".{path.name}.{secrets.token_hex(8)}{PARTIAL}")


def file_mode(folder: Path) -> int:
    """Permissions of a new file in `folder`, before the umask: for the owner alone where the folder is."""
    return 0o600 if _is_private(folder) else 0o666


def folder_mode(folder: Path) -> int:
    """Permissions of a new folder in `folder`, before the umask."""
    return 0o700 if _is_private(folder) else 0o777


def _is_private(folder: Path) -> bool:
    return folder.stat().st_mode & 0o077 == 0


def remove(path: Path) -> None:
    """Removes a file, a link or a folder with all in it, but nothing that a link leads to; nothing there is fine."""
    try:
        path.unlink(missing_ok=True)
    except IsADirectoryError:
        shutil.rmtree(path)


def remove_partial(folder: Path) -> None:
    """Removes from `folder` what a killed process left half-written; nothing that is whole has such a name."""
    for path in folder.glob(f".*{PARTIAL}"):
        remove(path)


def sync(path: Path) -> None:
    """Makes a file's content, or a folder's list of names, survive a power cut."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
