"""Prints processing times: a table for each direction at each host, and for the messages of each direction."""

import textwrap

from rich import box
from rich.table import Table

from whyperf.analyze.stages import TrialStages
from whyperf.cli.output.console import Console
from whyperf.report.stages import Block, blocks_of, notes_of

SUMS = ("All stages", "Whole time")
MIN_WIDTH = 40
GAP = 2
"""Spaces between two columns."""


def print_stages(console: Console, found: TrialStages, host: str | None = None) -> None:
    """All tables, or with `host` those that it has a part in."""
    for block in blocks_of(found):
        if host is None or host in block.hosts:
            _print_block(console, block)
    console.print()
    for note in notes_of(found):
        print_wrapped(console, f"Note: {note}")


def print_wrapped(console: Console, text: str, indent: str = "") -> None:
    """A sentence in lines that fit the console; its further lines are indented, too."""
    width = max(MIN_WIDTH, console.width - 1)
    for line in textwrap.wrap(text, width, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False):
        console.print(line, soft_wrap=True)


def _print_block(console: Console, block: Block) -> None:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, collapse_padding=True)
    for number, (heading, width) in enumerate(zip(block.columns, _widths(block, console.width), strict=True)):
        table.add_column(heading, justify="right" if number else "left", width=width)
    for number, row in enumerate(block.rows):
        # The sum stands apart, also from what is not in it.
        if row[0] in SUMS or (number and block.rows[number - 1][0] in SUMS):
            table.add_section()
        table.add_row(*row)
    console.print()
    print_wrapped(console, block.heading)
    console.print(table)
    for note in block.notes:
        print_wrapped(console, note, "  ")


def _widths(block: Block, room: int) -> list[int]:
    """The width of each column: headings are broken between words where the room is small, and cells are not."""
    cells = [max((len(row[number]) for row in block.rows), default=0) for number in range(len(block.columns))]
    whole = [max(width, len(heading)) for width, heading in zip(cells, block.columns, strict=True)]
    if sum(whole) + GAP * (len(whole) - 1) <= room:
        return whole
    return [
        max(width, *(len(word) for word in heading.split()))
        for width, heading in zip(cells, block.columns, strict=True)
    ]
