"""The command line: `whyperf run | show | flow | report | list | doctor | transports`."""

import sys
from collections.abc import Sequence

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line; returns the exit code: 0 done, 1 failed, 2 usage, 3 done but incomplete, 130 stopped."""
    try:
        # Importing takes up to seconds on a busy machine; Ctrl-C in that time ends the command too.
        from whyperf.cli import app  # noqa: PLC0415
    except KeyboardInterrupt:
        print("whyperf: stopped", file=sys.stderr)  # noqa: T201
        return 130
    return app.main(arguments)
