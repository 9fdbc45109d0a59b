"""What can go wrong with files, in one sentence."""

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class RecordError(Exception):
    """A record cannot be written or read. The text is one sentence: what, why, the remedy."""


class WrongFolderError(RecordError):
    """The folder or file that an argument names is not of the kind that it has to be: wrong usage."""


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
    if advice == OTHER_FOLDER and (action == "read" or not has_out):
        advice = None
    return RecordError(f"cannot {action} {path}: {reason[:1].lower()}{reason[1:]}" + (f"; {advice}" if advice else ""))
