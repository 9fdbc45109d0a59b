"""Prints processing times: a table for each direction at each host, and for the messages of each direction."""

from rich import box
from rich.console import Console
from rich.table import Table

from whyperf.analyze.stages import TrialStages
from whyperf.report.stages import Block, blocks_of, notes_of

SUMS = ("All stages", "Whole time")


def print_stages(console: Console, found: TrialStages, host: str | None = None) -> None:
    """All tables, or with `host` those that name it."""
    console.print(f"\nProcessing times, {found.trial}")
    for block in blocks_of(found):
        if host is None or f"({host} side)" in block.heading:
            _print_block(console, block)
    console.print()
    for note in notes_of(found):
        console.print(f"Note: {note}", soft_wrap=True)


def _print_block(console: Console, block: Block) -> None:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for number, heading in enumerate(block.columns):
        table.add_column(heading, justify="right" if number else "left", no_wrap=not number)
    for row in block.rows:
        if row[0] in SUMS:
            table.add_section()
        table.add_row(*row)
    console.print(f"\n{block.heading}")
    console.print(table)
    for note in block.notes:
        console.print(f"  {note}", soft_wrap=True)
