"""The parts of a section of the page: tables, charts, choices and legends."""

from dataclasses import dataclass, field

from whyperf.report.charts.colors import Paint
from whyperf.report.charts.models import Plot
from whyperf.report.charts.switchboard import Choice
from whyperf.report.table import Table


@dataclass(frozen=True)
class Key:
    """An entry of a legend; `line` names the models that its button hides, empty for none."""

    text: str
    paint: Paint
    line: str = ""


@dataclass(frozen=True)
class Legend:
    """The meaning of the colors."""

    title: str
    keys: tuple[Key, ...]


@dataclass(frozen=True)
class Chart:
    """A chart with its heading and a description for screen readers."""

    id: str
    heading: str
    figure: Plot
    description: str


@dataclass(frozen=True)
class Group:
    """Charts, side by side where there is room, that share a heading, a note and a legend."""

    heading: str
    charts: tuple[Chart, ...]
    note: str = ""
    legend: Legend | None = None
    choices: tuple[Choice, ...] = ()
    #: Stacked on any screen, because the charts share an axis.
    is_stacked: bool = False


@dataclass(frozen=True)
class StudyTable:
    """A table with its heading and a note."""

    heading: str
    note: str
    table: Table


@dataclass
class Section:
    """A part of the page: tables, groups of charts, and a sentence for each that was left out."""

    id: str
    heading: str
    choices: tuple[Choice, ...] = ()
    tables: list[StudyTable] = field(default_factory=list)
    groups: list[Group] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    #: The rate, drawn where the page begins.
    lead: Group | None = None
