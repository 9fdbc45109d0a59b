"""Runs the parts of a proof one after another, prints what each reached, and keeps it."""

import argparse
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from rich.console import Console

from lab.bench.row import Row, is_missed, print_rows, write_rows

Setting = TypeVar("Setting")


def refuse_unknown(parser: argparse.ArgumentParser, names: Sequence[str], parts: Mapping[str, object]) -> None:
    """Ends with a sentence where a name is of no part."""
    unknown = [name for name in names if name not in parts]
    if unknown:
        parser.error(f"{unknown[0]} is not one of {', '.join(parts)}")


def run_parts(
    parts: Mapping[str, Callable[[Setting], list[Row]]], names: Sequence[str], setting: Setting, out: Path
) -> int:
    """Runs the named parts, or all; writes their rows to `out`. 1 if any bar is missed, otherwise 0.

    Raises:
        OSError: the rows cannot be written.
    """
    console = Console(width=None if sys.stdout.isatty() else 140, highlight=False)
    rows: list[Row] = []
    for name in names or parts:
        start_s = time.monotonic()
        found = parts[name](setting)
        rows += found
        print_rows(found, console)
        console.print(f"{name}: {time.monotonic() - start_s:.0f} s\n")
        # After each part, so that a later failure loses nothing.
        write_rows(out, rows)
    console.print(f"{out} has all rows")
    return 1 if is_missed(rows) else 0
