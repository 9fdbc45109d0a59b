"""The catalog: what each study shows, the command that shows it today, and the criterion of its shape.

One TOML file per study, read and checked. Commands are those of `whyperf`; a criterion names series of figures, which
`ours` reads from results and `study` from the published tables.
"""

import tomllib
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Literal, Self

from pydantic import Field, ValidationError, model_validator

from whyperf.analyze.spread import FrozenModel
from whyperf.profile import suggestion
from whyperf.studies.checks import Criterion

FOLDER = Path(__file__).parent
#: The file of each study, in the order of their publication in the background chapter.
NAMES = ("atm", "gigabit", "transmit", "long-paths", "adapters")

DocumentKind = Literal["show", "explain", "flow", "cost", "output"]
Scalar = bool | int | float | str


LABORATORY = "whyperf-lab"
"""The first word of a command that is not one of whyperf: the repository has that program, and the wheel has not."""


def as_typed(command: str) -> str:
    """The command of a run with its program."""
    return command if command.partition(" ")[0] == LABORATORY else f"whyperf {command}"


class UnknownStudyError(Exception):
    """A name that no study and no entry has; the text suggests one."""


class StudyRun(FrozenModel):
    """A command that entries read figures from.

    `seconds` is how long it takes on two CPUs. `documents` are made of its result: `output` is what the command itself
    prints as JSON, where it writes no result. `cpus` is the least number that it needs.
    """

    command: str
    seconds: float = Field(gt=0)
    documents: tuple[DocumentKind, ...] = ("show",)
    cpus: int = 1


class Source(FrozenModel):
    """A series that is read from a document of a run.

    `each` is the path of a list in the document, `where` the values that its items must have, `x` and `y` are paths in
    an item. `over` divides, `times` and `scale` multiply. `pick` chooses among several figures at one place. `unit` is
    named where it is not the entry's.
    """

    run: str
    document: DocumentKind = "show"
    each: str = "cells"
    where: dict[str, Scalar | tuple[Scalar, ...]] = Field(default_factory=dict)
    x: str = ""
    y: str
    over: str = ""
    times: str = ""
    scale: float = 1.0
    unit: str = ""
    pick: Literal["first", "largest", "smallest", "mean", "range", "count"] = "first"


class Published(FrozenModel):
    """A series of the study: rows of a CSV table of the package, or `values` that its text gives.

    `where` are the values that rows must have. `leave_out` are places without a figure, `leave_out_where` values of
    rows without one.
    """

    csv: str = ""
    x: str = ""
    y: str = ""
    where: dict[str, str] = Field(default_factory=dict)
    leave_out: tuple[str, ...] = ()
    leave_out_where: dict[str, str] = Field(default_factory=dict)
    scale: float = 1.0
    values: dict[str, float | str] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _has_one_source(self) -> Self:
        if bool(self.csv) == bool(self.values):
            raise ValueError("a published series has either csv or values")
        return self


class StudyEntry(FrozenModel):
    """A table, figure or claim of a study.

    `says` is what the study says, in our words. `why` explains a different shape, and is shown only where the checks
    say different. `cannot` says why it cannot be measured here, and `needs` what would be needed. `note` is what
    differs in how it is repeated. `cpus` is the least number of CPUs.
    """

    id: str = Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$")
    kind: Literal["table", "figure", "claim"]
    says: str
    unit: str = ""
    study: dict[str, Published] = Field(default_factory=dict)
    ours: dict[str, Source] = Field(default_factory=dict)
    check: tuple[Criterion, ...] = ()
    why: str = ""
    note: str = ""
    cannot: str = ""
    needs: str = ""
    command: str = ""
    cpus: int = 1

    @model_validator(mode="after")
    def _is_complete(self) -> Self:
        if self.cannot:
            if self.ours or self.check or not self.needs:
                raise ValueError("an entry that cannot be measured has needs, and neither ours nor checks")
        elif not (self.ours and self.check and self.why):
            raise ValueError("an entry has ours, checks and why; or cannot and needs")
        if twice := set(self.ours) & set(self.study) - {""}:
            raise ValueError(f"{sorted(twice)[0]} names a series of the study and one of ours")
        return self

    @property
    def runs(self) -> tuple[str, ...]:
        """The runs that it reads, in the order of its series."""
        return tuple(dict.fromkeys(source.run for source in self.ours.values()))


class Study(FrozenModel):
    """A study: its title and source, its entries, and the runs that they read."""

    name: str
    title: str
    source: str
    run: dict[str, StudyRun] = Field(default_factory=dict)
    entry: tuple[StudyEntry, ...]

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        ids = [entry.id for entry in self.entry]
        if twice := sorted({each for each in ids if ids.count(each) > 1}):
            raise ValueError(f"{twice[0]} is defined twice")
        return self


class Chosen(FrozenModel):
    """Studies with the entries that were chosen, and all runs by name."""

    studies: tuple[Study, ...]
    runs: dict[str, StudyRun]

    @property
    def entries(self) -> tuple[StudyEntry, ...]:
        """All chosen entries, in the order of the studies."""
        return tuple(entry for study in self.studies for entry in study.entry)

    def needed(self) -> dict[str, StudyRun]:
        """The runs that the chosen entries read, with those whose results these commands name, each once."""
        wanted: dict[str, None] = {}
        for name in (name for entry in self.entries for name in entry.runs):
            wanted.update(dict.fromkeys((*results_named(self.runs[name].command), name)))
        return {name: self.runs[name] for name in wanted}


def results_named(command: str) -> list[str]:
    """The runs whose results a command reads, which it writes as @RUN or @RUN:CELL."""
    return [word[1:].partition(":")[0] for word in command.split() if word.startswith("@")]


@cache
def whole_catalog() -> Chosen:
    """The catalog of all studies.

    Raises:
        ValueError: a file of it is wrong.
    """
    studies = tuple(_study(name) for name in NAMES)
    runs: dict[str, StudyRun] = {}
    for study in studies:
        if twice := sorted(set(runs) & set(study.run)):
            raise ValueError(f"{study.name}: run {twice[0]} is defined twice")
        runs |= study.run
    for study in studies:
        for entry in study.entry:
            if unknown := sorted(set(entry.runs) - set(runs)):
                raise ValueError(f"{entry.id}: there is no run {unknown[0]}")
    return Chosen(studies=studies, runs=runs)


def _study(name: str) -> Study:
    path = FOLDER / f"{name.replace('-', '_')}.toml"
    try:
        return Study.model_validate({"name": name, **tomllib.loads(path.read_text(encoding="utf-8"))})
    except ValidationError as error:
        raise ValueError(f"{path.name}: {error}") from error


def chosen(names: Sequence[str]) -> Chosen:
    """The part of the catalog with these studies and entries; all of it without a name.

    Raises:
        UnknownStudyError: nothing has a name.
    """
    catalog = whole_catalog()
    if not names:
        return catalog
    known = {study.name for study in catalog.studies} | {entry.id for entry in catalog.entries}
    for name in names:
        if name not in known:
            hint = suggestion(name, known, listed_by="whyperf studies")
            raise UnknownStudyError(f"no study or entry is called {name!r}{hint}")
    studies = [_part(study, names) for study in catalog.studies]
    return Chosen(studies=tuple(study for study in studies if study.entry), runs=catalog.runs)


def _part(study: Study, names: Iterable[str]) -> Study:
    wanted = set(names)
    if study.name in wanted:
        return study
    return study.model_copy(update={"entry": tuple(entry for entry in study.entry if entry.id in wanted)})
