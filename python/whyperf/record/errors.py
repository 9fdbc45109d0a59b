"""Errors that can occur with files, in one sentence."""

import errno
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from whyperf.foreign import exchangeable


class RecordError(Exception):
    """A record cannot be written or read. The text is one sentence: what, why, the remedy."""


class WrongFolderError(RecordError):
    """The folder or file that an argument names is not of the kind that it has to be: wrong usage."""


_NO_ROOM_BYTES = 1 << 16
"""The room that a file system may have left and still refuse: it gives whole blocks."""
#: The tables of a trial of 2 seconds take 300 KB, those of a short transfer 20 KB. With less, the measurement would be
#: lost.
MIN_FREE_BYTES = 256 << 10

_FULL = (errno.ENOSPC, errno.EDQUOT)
OTHER_FOLDER = "choose another folder with --out"
#: The remedy, by the kernel's reason.
ADVICE = {
    errno.ENOSPC: "free some space and run the same command again: it resumes",
    errno.EDQUOT: "free some of the quota and run the same command again: it resumes",
    errno.EACCES: OTHER_FOLDER,
    errno.EPERM: OTHER_FOLDER,
    errno.EROFS: OTHER_FOLDER,
    errno.EMFILE: "raise the limit of open files (ulimit -n)",
    errno.ELOOP: "remove the link, or copy what it leads to",
    errno.ENOENT: "it was moved or removed meanwhile; leave a result where it is and run the command again",
    errno.EFBIG: "raise the limit of file size (ulimit -f)",
}


def is_full(error: BaseException, folder: Path) -> bool:
    """True where an error comes from a disk, or a quota, that has no room left for what is written to `folder`.

    polars has the kernel's reason in its text alone, or none ("Invalid thrift: transport error"): ask while what was
    written is still there.
    """
    if isinstance(error.__cause__, OSError):
        error = error.__cause__
    if getattr(error, "errno", None) in _FULL or any(f"os error {number}" in str(error) for number in _FULL):
        return True
    with suppress(OSError):
        return shutil.disk_usage(folder).free < _NO_ROOM_BYTES
    return False


def refuse_full(folder: Path) -> None:
    """Refuses to measure where the disk of a folder, or of what will be its parent, has no room for a trial.

    Raises:
        RecordError: naming the space that is left.
    """
    place = next(each for each in (folder.absolute(), *folder.absolute().parents) if each.exists())
    usage = shutil.disk_usage(place)
    free = usage.free
    # A file system such as /proc has no room at all: what is wrong is said where the folder is made.
    if usage.total and free < MIN_FREE_BYTES:
        needed = f"a trial of a few seconds takes {MIN_FREE_BYTES >> 10} KB"
        raise RecordError(
            f"the disk of {folder} has {free >> 10} KB left, and {needed}; free some space, or {OTHER_FOLDER}"
        )


def refuse_exchangeable(folder: Path) -> None:
    """Refuses a folder that another user could exchange for a link while it is written or removed.

    Raises:
        WrongFolderError: naming the place by which.
    """
    if (why := exchangeable(folder)) is not None:
        raise WrongFolderError(f"{why}, who could exchange what is made there; name another folder with --out")


@contextmanager
def as_record_error(action: str, path: Path) -> Iterator[None]:
    """Turns an OSError inside into a RecordError: `cannot write results/x/plan.json: no space …`.

    So it does where a text is not UTF-8.
    """
    try:
        yield
    except UnicodeDecodeError:
        raise RecordError(f"cannot {action} {path}: it is not a text in UTF-8") from None
    except OSError as error:
        raise failure(action, path, error) from error


def failure(action: str, path: Path, error: OSError, *, has_out: bool = True) -> RecordError:
    """The sentence for a failed file operation; `has_out` is whether the command has an option --out."""
    reason = (error.strerror or str(error)).rstrip(".")
    advice = ADVICE.get(error.errno or 0)
    # Its parents are made, too: only a file system without files, such as that of /proc, lacks them then.
    if action == "make" and error.errno == errno.ENOENT:
        advice = OTHER_FOLDER
    if advice == OTHER_FOLDER and (action == "read" or not has_out):
        advice = None
    return RecordError(f"cannot {action} {path}: {reason[:1].lower()}{reason[1:]}" + (f"; {advice}" if advice else ""))
