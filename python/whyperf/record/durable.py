"""Files and folders that are whole after a crash or not there at all.

The folder may be somebody else's: whatever lies in it under any name, a link above all, nothing outside is touched.
"""

import errno
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from whyperf.foreign import caller, foreign_owner

PARTIAL = ".partial"


def write_file(
    path: Path, content: bytes, *, is_secret: bool = False, is_page: bool = False, in_result: bool = False
) -> None:
    """Writes under another name and renames: a reader sees the old file or the new one, also after a power cut.

    A secret is for the owner alone, whatever its folder is. A page belongs to the user who called sudo, who opens it in
    a browser that does not run as root. All happens in the folder that was opened, whatever takes its place meanwhile;
    `in_result` refuses it to root where it is another user's, who could have put a link there.
    """
    with open_folder(path.parent, in_result=in_result) as folder:
        partial = partial_name(path).name
        file = create(partial, folder, 0o600 if is_secret else file_mode(folder))
        try:
            with file:
                file.write(content)
                file.flush()
                if is_page and (by := caller()) is not None:
                    # A file system without owners keeps the page as root's.
                    with suppress(OSError):
                        _let_in(folder, by[1])
                        os.fchown(file.fileno(), *by)
                os.fsync(file.fileno())
            os.replace(partial, path.name, src_dir_fd=folder, dst_dir_fd=folder)
        except OSError:
            with suppress(FileNotFoundError):
                os.unlink(partial, dir_fd=folder)
            raise
        os.fsync(folder)


@contextmanager
def open_folder(path: str | Path, *, in_result: bool, folder: int | None = None) -> Iterator[int]:
    """A descriptor of a folder, which stays the same whatever takes its place; `folder` is of the one that has it.

    Raises:
        OSError: it is no folder. With `in_result`: it is a link, or another user's, and root would write into it.
    """
    flags = os.O_RDONLY | os.O_DIRECTORY | (os.O_NOFOLLOW if in_result else 0)
    descriptor = os.open(path, flags, dir_fd=folder)
    try:
        if in_result and (owner := foreign_owner(os.fstat(descriptor))) is not None:
            reason = f"root writes nothing into a result of another user ({owner}); copy it to a folder of your own"
            raise PermissionError(errno.EPERM, reason, str(path))
        yield descriptor
    finally:
        os.close(descriptor)


def create(name: str, folder: int, mode: int) -> BinaryIO:
    """A new file in an open folder. With O_EXCL a link is refused like any other file (open(2))."""
    return os.fdopen(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, mode, dir_fd=folder), "wb")


def _let_in(folder: int, group: int) -> None:
    """Lets a group open files of a private folder of root's by name; it cannot list them, and they stay private."""
    found = os.fstat(folder)
    if found.st_uid == 0 and found.st_mode & 0o777 == 0o700:
        os.fchown(folder, -1, group)
        os.fchmod(folder, 0o710)


def partial_name(path: Path) -> Path:
    """A name next to `path` that nobody could know before."""
    return path.with_name(f".{path.name}.{secrets.token_hex(8)}{PARTIAL}")


def file_mode(folder: Path | int) -> int:
    """Permissions of a new file in `folder`, before the umask: for the owner alone where the folder is."""
    return 0o600 if _is_private(folder) else 0o666


def restrict(path: Path) -> None:
    """Makes a file as private as its folder, which some library has made with the permissions of the umask."""
    if _is_private(path.parent):
        path.chmod(0o600)


def folder_mode(folder: Path | int) -> int:
    """Permissions of a new folder in `folder`, before the umask."""
    return 0o700 if _is_private(folder) else 0o777


def _is_private(folder: Path | int) -> bool:
    """True if nobody else can list it or write to it."""
    return os.stat(folder).st_mode & 0o066 == 0  # noqa: PTH116 - it may be a descriptor


def remove(path: str | Path, *, folder: int | None = None) -> None:
    """Removes a file, a link or a folder with all in it, but nothing that a link leads to; nothing there is fine.

    `folder` is a descriptor of the folder that has it.
    """
    try:
        with suppress(FileNotFoundError):
            os.unlink(path, dir_fd=folder)
    except IsADirectoryError:
        shutil.rmtree(path, dir_fd=folder)


def identity_of(folder: Path) -> tuple[int, int]:
    """The identity by which `remove_made` recognizes a new folder: its device and inode."""
    found = folder.lstat()
    return found.st_dev, found.st_ino


def remove_made(folder: Path, identity: tuple[int, int]) -> None:
    """Removes a folder with all in it if it is the one that was made; what has taken its place stays.

    Raises:
        OSError: it cannot be removed, or is another one's.
    """
    with open_folder(folder, in_result=True) as descriptor:
        found = os.fstat(descriptor)
        if (found.st_dev, found.st_ino) != identity:
            raise FileNotFoundError(errno.ENOENT, "another folder has taken its place", str(folder))
        for name in os.listdir(descriptor):  # noqa: PTH208 - it is a descriptor
            remove(name, folder=descriptor)
    folder.rmdir()


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
