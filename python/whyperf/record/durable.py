"""Files and folders that are whole after a crash or not there at all."""

import os
from pathlib import Path


def write_file(path: Path, content: bytes) -> None:
    """Writes beside and renames: a reader sees the old file or the new one, also after a power cut."""
    beside = path.with_name(f".{path.name}.partial")
    try:
        with beside.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    except OSError:
        beside.unlink(missing_ok=True)
        raise
    sync(path.parent)


def sync(path: Path) -> None:
    """Makes a file's content, or a folder's list of names, survive a power cut."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
