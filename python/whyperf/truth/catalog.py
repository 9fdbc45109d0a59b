"""The catalog of truth experiments, read from `catalog.toml` and checked."""

import tomllib
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from whyperf.explain.causes import Cause
from whyperf.profile import Factors, Level, ProfileError, Workload, factor_named, suggestion
from whyperf.profile.levels import one_level
from whyperf.profile.workload import read_workload

FILE = Path(__file__).with_name("catalog.toml")

End = Literal["near", "far"]


class Table(BaseModel):
    """A table of the file: nothing unknown passes."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Quiet(Table):
    """What ends and path do without a cause. `limits` are all that an explanation may name there."""

    limits: tuple[Cause, ...] = (Cause.CAPACITY,)
    factors: dict[str, Level] = {}


class Baseline(Quiet):
    """Where causes are put. It is an undisturbed run itself, unless it says no: where something is small on purpose."""

    about: str
    undisturbed: bool = True


class Undisturbed(Quiet):
    """A run without a cause, beside the baselines; `short` puts it into the shortened run."""

    name: str
    short: bool = False


class Put(Table):
    """Causes that are put there: `causes` are the right answers."""

    name: str
    causes: tuple[Cause, ...] = Field(min_length=1)
    baseline: str


class Tried(Table):
    """A dose whose verdict is tried, and beside it a change that is wrong on purpose: `why` it cannot help."""

    dose: int
    wrong: dict[str, Level] = Field(min_length=1)
    why: str = Field(min_length=1)


class Entry(Put):
    """One cause in several doses.

    The first of the `causes` is the one put there; `also` says of each further one why no evidence could tell the
    two apart. `held_out` are doses that no rule was tuned on. `burner` names the end whose CPU other programs take,
    `burners` how many with each dose.
    `short` is the dose of a shortened run, counted from 1; `seconds` the measurement of a trial, if not the run's.
    `tried` are the doses whose verdicts are verified, counted as well, the held-out ones behind the others.
    """

    doses: tuple[dict[str, Level], ...] = Field(min_length=1)
    held_out: tuple[dict[str, Level], ...] = ()
    also: dict[Cause, str] = {}
    burner: End | None = None
    burners: tuple[int, ...] = ()
    short: int | None = None
    tried: tuple[Tried, ...] = ()

    @model_validator(mode="after")
    def _has_reasons(self) -> Self:
        if set(self.also) != set(self.causes[1:]):
            raise ValueError("each cause after the first needs its reason under also, and no other has one")
        if len(self.burners) != (len(self.doses) + len(self.held_out) if self.burner else 0):
            raise ValueError("burner and burners belong together, a number for each dose")
        if self.short is not None and not 1 <= self.short <= len(self.doses):
            raise ValueError("short is the number of a dose, from 1")
        if any(not 1 <= one.dose <= len(self.doses) + len(self.held_out) for one in self.tried):
            raise ValueError("tried names a dose by its number, from 1")
        return self


class Pair(Put):
    """Two causes at the same time; both count where taking either away raises the rate."""

    first: dict[str, Level]
    second: dict[str, Level]


class Catalog(Table):
    """All truth experiments."""

    workload: tuple[dict[str, Any], ...] = ()
    baseline: dict[str, Baseline]
    entry: tuple[Entry, ...]
    pair: tuple[Pair, ...] = ()
    undisturbed: tuple[Undisturbed, ...] = ()

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        names = [one.name for one in self.undisturbed] + [one.name for one in self.put] + list(self.baseline)
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(f"{twice[0]} is there twice")
        for one in self.put:
            if one.baseline not in self.baseline:
                raise ValueError(f"{one.name}: there is no baseline {one.baseline}")
        for factors in self._all_factors():
            for name, level in factors.items():
                one_level(factor_named(name), level)
        return self

    def _all_factors(self) -> list[Factors]:
        quiet: list[Quiet] = [*self.baseline.values(), *self.undisturbed]
        found = [one.factors for one in quiet]
        found += [dose for entry in self.entry for dose in (*entry.doses, *entry.held_out)]
        found += [tried.wrong for entry in self.entry for tried in entry.tried]
        return found + [factors for pair in self.pair for factors in (pair.first, pair.second)]

    @property
    def put(self) -> list[Put]:
        """Everything that has a cause."""
        return [*self.entry, *self.pair]

    @property
    def workloads(self) -> dict[str, Workload]:
        """What applications of the catalog do, by name."""
        read = [read_workload(table) for table in self.workload]
        return {workload.name: workload for workload in read}

    def named(self, wanted: list[str]) -> "Catalog":
        """The part of the catalog that stands for these causes, or has these names.

        Raises:
            ProfileError: there is no such cause and no such experiment.
        """
        known = {one.name for one in self.put} | {one.name for one in self.undisturbed} | set(self.baseline)
        causes = {str(one.causes[0]) for one in self.entry}
        for name in wanted:
            if name not in known | causes:
                hint = suggestion(name, known | causes, listed_by="whyperf truth --dry-run")
                raise ProfileError("--only", name, f"there is no truth experiment with this cause or name{hint}")
        chosen = set(wanted)
        entries = tuple(one for one in self.entry if one.name in chosen or one.causes[0] in chosen)
        pairs = tuple(one for one in self.pair if one.name in chosen)
        undisturbed = tuple(one for one in self.undisturbed if one.name in chosen)
        needed = {one.baseline for one in entries} | {one.baseline for one in pairs} | chosen
        baselines = {name: one for name, one in self.baseline.items() if name in needed}
        return self.model_copy(
            update={"entry": entries, "pair": pairs, "undisturbed": undisturbed, "baseline": baselines}
        )


def load_catalog(path: Path = FILE) -> Catalog:
    """The catalog in a file.

    Raises:
        ProfileError: what is wrong in it, by its place.
    """
    try:
        return Catalog.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except tomllib.TOMLDecodeError as error:
        raise ProfileError(str(path), "", f"this is not valid TOML: {error}") from None
    except ValidationError as error:
        finding = error.errors(include_url=False)[0]
        place = ".".join(str(part) for part in finding["loc"])
        raise ProfileError(str(path), place, finding["msg"]) from None
