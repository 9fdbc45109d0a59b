"""Writes an initial root file system as Linux unpacks it: a cpio archive of the form newc.

The form: Documentation/driver-api/early-userspace/buffer-format.rst of the kernel.
"""

from collections.abc import Mapping
from pathlib import PurePosixPath

_FOLDER = 0o040755
_PROGRAM = 0o100755
_END = "TRAILER!!!"


def archive(files: Mapping[str, bytes]) -> bytes:
    """An archive of the files by their absolute paths, all of them executable, with the folders they lie in."""
    folders = {parent for name in files for parent in PurePosixPath(name).parents if parent.name}
    members = [(str(folder), _FOLDER, b"") for folder in sorted(folders)]
    members += [(name, _PROGRAM, data) for name, data in files.items()]
    entries = [_entry(number, name, mode, data) for number, (name, mode, data) in enumerate(members, start=1)]
    return b"".join([*entries, _entry(0, f"/{_END}", 0, b"")])


def _entry(number: int, name: str, mode: int, data: bytes) -> bytes:
    path = name.lstrip("/").encode() + b"\0"
    # Inode, mode, owner, group, links, time, size, device, special device, length of the name, no checksum.
    fields = (number, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(path), 0)
    header = b"070701" + b"".join(b"%08X" % field for field in fields)
    return _padded(header + path) + _padded(data)


def _padded(data: bytes) -> bytes:
    return data + b"\0" * (-len(data) % 4)
