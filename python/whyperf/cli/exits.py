"""Exit codes, and the one sentence for everything that goes wrong."""

import errno
import os
import sys
from contextlib import suppress
from pathlib import Path

DONE = 0
FAILED = 1
USAGE = 2
#: Done, but a check did not hold: a trial failed or could not be used.
DOUBTFUL = 3
#: Ctrl-C, or a polite kill (SIGTERM, SIGHUP), as a shell reports Ctrl-C: 128 + SIGINT.
INTERRUPTED = 130

#: Where ip-netns(8) keeps namespaces.
NAMESPACES = Path("/run/netns")

#: Of a name that is too long.
SHOWN_CHARACTERS = 40
#: Of the reason for an error that nobody expected.
SHOWN_REASON_CHARACTERS = 200


class CommandStatus(int):
    """The exit code of a command that whyperf has started, which is whyperf's own then."""

    __slots__ = ()


class UsageError(Exception):
    """An argument or an option that cannot be used; the text says what to do."""


class Stopped(Exception):  # noqa: N818 - it is no error
    """The user stopped the command; what is kept and how to resume it has been printed."""


#: Verbs that read a result, which somebody else may have made.
READING = frozenset({"show", "explain", "compare", "cost", "flow", "report", "export"})


def explain(error: BaseException, verb: str | None = None) -> tuple[int, str]:
    """The exit code and the sentence for an error that reached the top, of a verb if it got to one."""
    if (expected := _of_the_user(error)) is not None:
        return expected
    match error:
        case OSError() if (reason := _of_the_system(error)) is not None:
            return reason
        case MemoryError():
            less = (
                "watch fewer with --max-connections" if verb == "watch" else "take a part of the experiment with --only"
            )
            return FAILED, f"out of memory (half of what was left); {less}"
    what = f"{type(error).__name__}: {_first_line(error)[:SHOWN_REASON_CHARACTERS]}"
    text = f"internal error ({what}); WHYPERF_DEBUG=1 shows where, please report it"
    if verb in READING:
        text = (
            f"this result cannot be judged ({what}): a file in it was changed, or whyperf has a mistake; "
            "WHYPERF_DEBUG=1 shows where"
        )
    return FAILED, text


def _of_the_user(error: BaseException) -> tuple[int, str] | None:
    """Errors whose text is a sentence of ours; None for others."""
    if isinstance(error, UsageError):
        return USAGE, str(error)
    # Imported here: help and completion should not load what only a measurement needs.
    from whyperf.calibrate.errors import CalibrationError  # noqa: PLC0415
    from whyperf.hosts import HostSetError  # noqa: PLC0415
    from whyperf.profile import ProfileError  # noqa: PLC0415
    from whyperf.record import RecordError, WrongFolderError  # noqa: PLC0415
    from whyperf.run import Fault, RunError  # noqa: PLC0415

    match error:
        case ProfileError() | HostSetError() | WrongFolderError():
            return USAGE, str(error)
        case RunError():
            return USAGE if error.fault is Fault.USAGE else FAILED, f"{error}{_of_namespaces(str(error))}"
        case RecordError() | CalibrationError():
            return FAILED, str(error)
    return None


def _of_namespaces(text: str) -> str:
    """The addition to an error of ssh where this host has network namespaces that may have been meant."""
    if "cannot be reached by ssh" not in text or not (NAMESPACES.is_dir() and any(NAMESPACES.iterdir())):
        return ""
    return "; between network namespaces of this host: `whyperf run --netns NEAR:FAR`"


def _of_the_system(error: OSError) -> tuple[int, str] | None:
    """An error that a user can help; None for what looks like a mistake of ours."""
    match error:
        case OSError(errno=errno.ENOSPC):
            return FAILED, "no space left on the device; free some and run the same command again: it resumes"
        case PermissionError(filename=str(name)):
            return FAILED, f"{name} cannot be opened: permission denied; become a user who may, or name another folder"
        case OSError(errno=errno.ENAMETOOLONG, filename=str(name)):
            return USAGE, f"{name[:SHOWN_CHARACTERS]}… is too long for the name of a file"
    return None


def is_panic(error: BaseException) -> bool:
    """True if a library written in Rust gave up, as polars does on damaged tables; pyo3 makes that no `Exception`."""
    return type(error).__name__ == "PanicException"


def wants_traceback() -> bool:
    """True where WHYPERF_DEBUG asks for errors as Python shows them."""
    return os.environ.get("WHYPERF_DEBUG", "") not in {"", "0"}


def say(text: str) -> None:
    """One line on standard error; on a terminal it is wrapped between words. What a terminal would obey is escaped."""
    if not text.isprintable():
        from whyperf.foreign.texts import visible  # noqa: PLC0415 - most texts need no look

        text = visible(text, keep="\n\t")
    if sys.stderr.isatty():
        from whyperf.cli.streams import fitting  # noqa: PLC0415 - only a terminal has a width

        text = fitting(text, sys.stderr)
    # Where nobody reads it, or nothing takes it, it is not worth an error of its own.
    with suppress(OSError, ValueError):
        print(text, file=sys.stderr, flush=True)  # noqa: T201


def _first_line(error: BaseException) -> str:
    return str(error).partition("\n")[0]
