"""Data that the page exchanges when a reader selects another level.

The data source of a chart has the columns of the first choice. The page has the others as JSON, by the name of the
source and the selected options. The page computes nothing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from whyperf.analyze.text import level_text
from whyperf.foreign import json_in_script
from whyperf.report.charts.models import ColumnDataSource

Columns = Mapping[str, Sequence[object]]


@dataclass(frozen=True)
class Choice:
    """A list of options: the id of its element, its label, its options."""

    id: str
    label: str
    options: tuple[str, ...]
    chosen: str


@dataclass
class Switchboard:
    """All data sources of a page that can change."""

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
        """The page's data, safe inside a script element."""
        return json_in_script(self._entries)


def choice(prefix: str, factor: str, label: str, levels: Sequence[object], chosen: object) -> Choice:
    """A list of a factor's levels."""
    options = tuple(level_text(level) for level in levels)
    return Choice(f"{prefix}-{factor}", label, options, level_text(chosen))
