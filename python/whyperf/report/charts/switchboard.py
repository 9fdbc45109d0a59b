"""Data that the page swaps when a reader chooses another level.

A chart's data source holds the columns of the first choice; the others wait in the page as JSON under
the source's name, keyed by the chosen options. Without Python there is nothing to compute.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from bokeh.models import ColumnDataSource

from whyperf.analyze.text import level_text

Columns = Mapping[str, Sequence[object]]


@dataclass(frozen=True)
class Choice:
    """A list the reader chooses from: the id of its element, its label, its options."""

    id: str
    label: str
    options: tuple[str, ...]
    chosen: str


@dataclass
class Switchboard:
    """All sources of a page that can change."""

    _entries: dict[str, dict[str, object]] = field(default_factory=dict)

    def source(self, choices: Sequence[Choice], columns: Mapping[tuple[str, ...], Columns]) -> ColumnDataSource:
        """A source for `columns` by the choices' options, in the order of `choices`."""
        first = tuple(choice.chosen for choice in choices)
        made = ColumnDataSource({name: list(values) for name, values in columns[first].items()})
        if len(columns) > 1:
            made.name = f"switched-{len(self._entries)}"
            by_key = {"|".join(key): dict(values) for key, values in columns.items()}
            self._entries[made.name] = {"choices": [choice.id for choice in choices], "columns": by_key}
        return made

    def to_json(self) -> str:
        """The page's data; `</` cannot occur, so that it may stand in a script element."""
        return json.dumps(self._entries, separators=(",", ":")).replace("</", "<\\/")


def choice(prefix: str, factor: str, label: str, levels: Sequence[object], chosen: object) -> Choice:
    """A list of a factor's levels."""
    options = tuple(level_text(level) for level in levels)
    return Choice(f"{prefix}-{factor}", label, options, level_text(chosen))
