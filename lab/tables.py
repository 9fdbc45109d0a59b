"""Tables of many columns, on a terminal and elsewhere."""

import sys

from rich import box
from rich.table import Table

from whyperf.cli.output.console import Console

PLAIN_WIDTH = 160
"""Where standard output is no terminal."""


def console_of_tables() -> Console:
    """Where tables are printed: with a fixed width where standard output is no terminal."""
    return Console(highlight=False, markup=False, width=None if sys.stdout.isatty() else PLAIN_WIDTH)


def plain_table(*headings: str) -> Table:
    """A table without frames."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 2, 0, 0))
    for heading in headings:
        table.add_column(heading, overflow="fold")
    return table
