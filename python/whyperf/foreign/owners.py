"""Which other users could exchange a file or a folder: by what they own, or may write to, among what leads there."""

import grp
import os
import pwd
import stat
from collections.abc import Iterator
from pathlib import Path

MAX_LINKS = 40
"""Links that lead on from one to another; the kernel follows as many (path_resolution(7))."""


def caller() -> tuple[int, int] | None:
    """The user and the group who called sudo; None where nobody did."""
    ids = [os.environ.get(name, "") for name in ("SUDO_UID", "SUDO_GID")]
    if os.geteuid() != 0 or not all(each.isascii() and each.isdigit() and int(each) for each in ids):
        return None
    return int(ids[0]), int(ids[1])


def foreign_owner(found: os.stat_result) -> int | None:
    """The owner of a folder or link that root does not trust: another user than the one who called sudo. None of what
    is root's own, and for everybody but root.
    """
    return found.st_uid if os.geteuid() == 0 and found.st_uid not in {0, *(caller() or ())[:1]} else None


def is_own(found: os.stat_result) -> bool:
    """True where a file or folder is this user's, or of who called sudo."""
    return found.st_uid in {os.geteuid(), *(caller() or ())[:1]}


def exchangeable(path: Path, *, is_code: bool = False) -> str | None:
    """Why another user could exchange what lies at a path for something else, or what is in it where it is a folder;
    None if nobody could.

    Others may write to a folder that leads there only if it is sticky, as /tmp is: then they cannot rename what is not
    theirs, but its owner can (unlink(2)). So it has to be root's, this user's or of who called sudo. For root, and for
    what is run as code, so has each folder and link that leads there. Members of a folder's group count as others for
    root alone, but for the group of who called sudo if it has no other member. Other users choose with whom they share,
    and in whose folder they work.
    """
    # In a user namespace root has another number, or none.
    top = Path("/").stat()
    owners, groups = {0, os.geteuid(), top.st_uid, *(caller() or ())[:1]}, {0, top.st_gid}
    for place, found in _leading_to(path):
        if found.st_uid not in owners and (is_code or os.geteuid() == 0):
            return f"{place} belongs to another user ({found.st_uid})"
        if not stat.S_ISDIR(found.st_mode) or (found.st_mode & stat.S_ISVTX and found.st_uid in owners):
            continue
        if found.st_mode & stat.S_IWOTH:
            is_sticky = found.st_mode & stat.S_ISVTX
            return f"{place} can be changed by {f'another user ({found.st_uid})' if is_sticky else 'every user'}"
        is_shared = found.st_mode & stat.S_IWGRP and os.geteuid() == 0 and found.st_gid not in groups
        if is_shared and not _is_of_caller_alone(found.st_gid):
            return f"{place} can be changed by its group ({found.st_gid})"
    return None


def _is_of_caller_alone(group: int) -> bool:
    """True where a group is that of who called sudo, and by the files of users no other than root is in it."""
    by = caller()
    if by is None or by[1] != group:
        return False
    users, accounts = {0, by[0]}, pwd.getpwall()
    own = {account.pw_name for account in accounts if account.pw_uid in users}
    try:
        members = {*grp.getgrgid(group).gr_mem}
    except KeyError:
        # In a container, a group of the host around it.
        members = set()
    return members <= own and all(account.pw_uid in users for account in accounts if account.pw_gid == group)


def _leading_to(path: Path) -> Iterator[tuple[Path, os.stat_result]]:
    """The folders and links by which a path is resolved, as far as they are there, and the folder that it leads to."""
    place = Path("/")
    yield place, place.lstat()
    left = list(reversed(path.absolute().parts[1:]))
    links = 0
    while left:
        part = left.pop()
        if part == "..":
            place = place.parent
            continue
        try:
            found = (place / part).lstat()
            target = Path((place / part).readlink()) if stat.S_ISLNK(found.st_mode) else None
        except OSError:
            # What is not there, or cannot be reached, leads nowhere.
            return
        if left or target is not None or stat.S_ISDIR(found.st_mode):
            yield place / part, found
        if target is None:
            place /= part
            continue
        links += 1
        if links > MAX_LINKS:
            return
        left += reversed(target.parts[target.is_absolute() :])
        place = Path("/") if target.is_absolute() else place
