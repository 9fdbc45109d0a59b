"""Where results are printed: on a terminal in its width; into a pipe or a file in 80 columns, or as COLUMNS says.

What a terminal would obey is escaped here, as `whyperf.cli.streams` does for what is printed without a console.
"""

import os
import sys
from collections.abc import Iterable
from typing import IO

from rich import console as rich_console
from rich.segment import Segment
from rich.table import Table

from whyperf.foreign import visible

PLAIN_WIDTH = 80
"""Columns of a pipe or a file, as of most terminals, mails and documents."""
MAX_WIDTH = 10_000


class Console(rich_console.Console):
    """A console whose colors and cursor movements are its own: those in texts are shown as escapes."""

    @property
    def file(self) -> IO[str]:
        """The stream itself: the one around it would escape the colors."""
        found = super().file
        return getattr(found, "rich_proxied_file", found)

    @file.setter
    def file(self, new_file: IO[str]) -> None:
        self._file = new_file

    def render(
        self, renderable: rich_console.RenderableType, options: rich_console.ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """The pieces of what is printed; all texts pass here, those of cells too."""
        for text, style, control in super().render(renderable, options):
            yield Segment(text if control else visible(text, keep="\n"), style, control)


def plain_width(stream: IO[str] | None = None) -> int | None:
    """Of the console: that of the terminal, or what COLUMNS says (None); otherwise `PLAIN_WIDTH`."""
    return None if (stream or sys.stdout).isatty() or os.environ.get("COLUMNS", "").isdecimal() else PLAIN_WIDTH


def result_console(stream: IO[str] | None = None) -> Console:
    """A console that prints texts as they are, without colors for figures; on standard output, or a stream."""
    return Console(file=stream, highlight=False, markup=False, width=plain_width(stream))


def print_whole(console: Console, table: Table) -> None:
    """Prints a table without cutting any of its cells: it is wider than the console where it has to be."""
    # Measured with room for all of it: a measure is never above the width of its console.
    least = console.measure(table, options=console.options.update(width=MAX_WIDTH)).minimum
    if least <= console.width:
        console.print(table)
    else:
        Console(highlight=False, markup=False, width=least).print(table)
