"""Prints a comparison of tools: the figures of each, its ratios to the own load, and how and why they differ."""

from collections.abc import Sequence

from lab.tables import console_of_tables, plain_table
from lab.tools.catalog import Tool
from lab.tools.report.rows import difference_rows, setting_text, tables_of
from lab.tools.tool_runs import OWN, Load, ToolsComparison
from whyperf.analyze.text import count
from whyperf.cli.streams import print_json

PORT = 5201
"""Of the commands that --dry-run prints."""


def print_tools(found: ToolsComparison, *, as_json: bool) -> None:
    """The whole comparison, as tables or as JSON."""
    if as_json:
        print_json(found.model_dump(mode="json"))
        return
    console = console_of_tables()
    console.print(setting_text(found))
    console.print()
    for headings, rows in tables_of(found):
        table = plain_table(headings[0])
        for heading in headings[1:]:
            table.add_column(heading, justify="right", overflow="fold")
        for row in rows:
            table.add_row(*row)
        console.print(table)
        console.print()
    for report in found.reports:
        console.print(report.headline)
        for sentence in report.sentences:
            console.print(f"- {sentence}")
        table = plain_table("Difference", report.tool, OWN, "Tested")
        for row in difference_rows(report):
            table.add_row(*row)
        console.print(table)
        console.print()
    for note in (*found.left_out, *found.notes):
        console.print(note)


def print_commands(tools: Sequence[Tool], load: Load, pairs: int, *, as_json: bool) -> None:
    """Prints the commands of each tool, for --dry-run."""
    commands = {tool.name: tool.commands(load, "ADDRESS", PORT) for tool in tools}
    if as_json:
        print_json(
            {
                "pairs": pairs,
                "load": load.model_dump(mode="json"),
                "commands": {name: {"server": each.server, "client": each.client} for name, each in commands.items()},
            }
        )
        return
    console = console_of_tables()
    console.print(f"{count(pairs, 'block')}, in each a run of {OWN} and of {', '.join(commands)} in random order:")
    for each in commands.values():
        console.print(" ".join(each.server), soft_wrap=True)
        console.print(" ".join(each.client), soft_wrap=True)
