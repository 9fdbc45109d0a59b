"""The demand of a part of the proof, the value that was reached, and the way that it is printed."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from rich.console import Console
from rich.table import Table


@dataclass(frozen=True)
class Row:
    """A figure against its bar. `is_bar` is False where it is one of several that a bar counts together."""

    part: str
    name: str
    asked: str
    reached: str
    is_ok: bool
    is_bar: bool = True
    #: The values behind the figure.
    values: Mapping[str, object] = field(default_factory=dict)


def counted(part: str, name: str, rows: Sequence[Row], least: int) -> Row:
    """The bar of several rows: at least so many are ok."""
    good = sum(row.is_ok for row in rows)
    return Row(part, name, f"≥ {least} of {len(rows)}", f"{good} of {len(rows)}", good >= least)


def print_rows(rows: Sequence[Row], console: Console) -> None:
    """Prints the rows of a part."""
    table = Table(title=rows[0].part)
    for heading in ("", "Asked", "Reached", ""):
        table.add_column(heading)
    for row in rows:
        mark = "ok" if row.is_ok else "MISSED" if row.is_bar else "no"
        table.add_row(row.name, row.asked, row.reached, mark, style="bold" if row.is_bar else None)
    console.print(table)


def is_missed(rows: Sequence[Row]) -> bool:
    """True if any bar was missed."""
    return any(row.is_bar and not row.is_ok for row in rows)


def write_rows(path: Path, rows: Sequence[Row]) -> None:
    """Writes the rows as JSON.

    Raises:
        OSError: the disk refuses.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    document = {"is_missed": is_missed(rows), "rows": [asdict(row) for row in rows]}
    path.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
