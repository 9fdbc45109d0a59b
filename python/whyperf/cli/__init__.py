"""The command line: `whyperf run | show | report | list | doctor`."""

from whyperf.cli.app import main

__all__ = ["main"]
