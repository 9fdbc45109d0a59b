"""Where results are printed: on a terminal in its width; into a pipe or a file in 80 columns, or as COLUMNS says."""

import os
import sys

from rich.console import Console
from rich.table import Table

PLAIN_WIDTH = 80
"""Columns of a pipe or a file, as of most terminals, mails and documents."""
MAX_WIDTH = 10_000


def plain_width() -> int | None:
    """Of the console: that of the terminal, or what COLUMNS says (None); otherwise `PLAIN_WIDTH`."""
    return None if sys.stdout.isatty() or os.environ.get("COLUMNS", "").isdecimal() else PLAIN_WIDTH


def result_console() -> Console:
    """A console that prints texts as they are, without colors for figures."""
    return Console(highlight=False, markup=False, width=plain_width())


def print_whole(console: Console, table: Table) -> None:
    """Prints a table without cutting any of its cells: it is wider than the console where it has to be."""
    # Measured with room for all of it: a measure is never above the width of its console.
    least = console.measure(table, options=console.options.update(width=MAX_WIDTH)).minimum
    if least <= console.width:
        console.print(table)
    else:
        Console(highlight=False, markup=False, width=least).print(table)
