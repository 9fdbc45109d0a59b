"""A catalog of truth experiments, read from one of the `FILES` and checked."""

import tomllib
from pathlib import Path
from typing import Literal, Self

from pydantic import Field, ValidationError, model_validator

from lab.disturb.disturbances import Burn, Disturbance
from lab.truth.situation import CatalogTable, Half, Situation
from whyperf.explain.causes import Cause
from whyperf.profile import Factors, Level, ProfileError, Workload, factor_named, suggestion
from whyperf.profile.levels import one_level
from whyperf.profile.workload import read_workload

Name = Literal["causes", "field", "further", "unseen"]
FILES: dict[Name, Path] = {
    "causes": Path(__file__).with_name("catalogs") / "catalog.toml",
    "field": Path(__file__).with_name("catalogs") / "field.toml",
    "further": Path(__file__).with_name("catalogs") / "further.toml",
    "unseen": Path(__file__).with_name("catalogs") / "unseen.toml",
}

Host = Literal["near", "far"]


class CleanRun(CatalogTable):
    """Factors of a run without an injected cause. The explanation may name only the `limits`."""

    limits: tuple[Cause, ...] = (Cause.CAPACITY,)
    factors: dict[str, Level] = Field(default_factory=dict)


class Baseline(CleanRun):
    """A run into which causes are injected.

    It is an undisturbed run itself; `undisturbed` is false where a setting is small on purpose.
    """

    about: str
    undisturbed: bool = True


class Undisturbed(CleanRun):
    """A run without a cause, in addition to the baselines; `short` adds it to the shortened run."""

    name: str
    short: bool = False


class Injection(CatalogTable):
    """An experiment with injected causes; `causes` are the correct answers."""

    name: str
    causes: tuple[Cause, ...] = Field(min_length=1)
    baseline: str


class Entry(Injection):
    """One cause in several doses.

    The first of the `causes` is the injected one. `also` gives, for each further cause, the reason why no evidence can
    separate it from the first. No rule was tuned on the `held_out` doses. `burner` names the host whose CPU other
    programs use; `burners` is their number with each dose.
    `short` is the dose of a shortened run, counted from 1.
    """

    doses: tuple[dict[str, Level], ...] = Field(min_length=1)
    held_out: tuple[dict[str, Level], ...] = ()
    also: dict[Cause, str] = Field(default_factory=dict)
    burner: Host | None = None
    burners: tuple[int, ...] = ()
    short: int | None = None

    def disturbances(self, dose: int) -> tuple[Disturbance, ...]:
        """The disturbances of the trials of a dose, which counts from 1."""
        return () if self.burner is None else (Burn(host=self.burner, programs=self.burners[dose - 1]),)

    @model_validator(mode="after")
    def _has_reasons(self) -> Self:
        if set(self.also) != set(self.causes[1:]):
            raise ValueError("each cause after the first needs its reason under also, and no other has one")
        if len(self.burners) != (len(self.doses) + len(self.held_out) if self.burner else 0):
            raise ValueError("burner and burners belong together: burners has one number per dose")
        if self.short is not None and not 1 <= self.short <= len(self.doses):
            raise ValueError("short is the number of a dose, from 1")
        return self


class Pair(Injection):
    """Two causes at the same time; both count where removing either raises the rate."""

    first: dict[str, Level]
    second: dict[str, Level]


class Catalog(CatalogTable):
    """All truth experiments."""

    workload: tuple[dict[str, object], ...] = ()
    baseline: dict[str, Baseline] = Field(default_factory=dict)
    entry: tuple[Entry, ...] = ()
    situation: tuple[Situation, ...] = ()
    pair: tuple[Pair, ...] = ()
    undisturbed: tuple[Undisturbed, ...] = ()

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        names = [run.name for run in self.undisturbed] + [run.name for run in self.injections] + list(self.baseline)
        names += [situation.name for situation in self.situation]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(f"{twice[0]} is defined twice")
        injected: list[Injection | Situation] = [*self.injections, *self.situation]
        for run in injected:
            if run.baseline not in self.baseline:
                raise ValueError(f"{run.name}: there is no baseline {run.baseline}")
        for factors in self._all_factors():
            for name, level in factors.items():
                one_level(factor_named(name), level)
        return self

    def _all_factors(self) -> list[Factors]:
        clean: list[CleanRun] = [*self.baseline.values(), *self.undisturbed]
        found = [run.factors for run in clean]
        found += [dose for entry in self.entry for dose in (*entry.doses, *entry.held_out)]
        found += [factors for situation in self.situation for factors in situation.all_factors()]
        return found + [factors for pair in self.pair for factors in (pair.first, pair.second)]

    @property
    def injections(self) -> list[Injection]:
        """Everything that has a cause."""
        return [*self.entry, *self.pair]

    @property
    def workloads(self) -> dict[str, Workload]:
        """The workloads that the catalog defines, by name."""
        read = [read_workload(table) for table in self.workload]
        return {workload.name: workload for workload in read}

    def named(self, wanted: list[str]) -> "Catalog":
        """The experiments of the catalog with these causes or names.

        Raises:
            ProfileError: there is no such cause and no such experiment.
        """
        known = {run.name for run in self.injections} | {run.name for run in self.undisturbed} | set(self.baseline)
        known |= {situation.name for situation in self.situation}
        causes = {str(entry.causes[0]) for entry in self.entry}
        causes |= {cause for situation in self.situation for cause in situation.main_causes}
        for name in wanted:
            if name not in known | causes:
                hint = suggestion(name, known | causes, listed_by="whyperf-lab truth --dry-run")
                raise ProfileError("--only", name, f"there is no truth experiment with this cause or name{hint}")
        chosen = set(wanted)
        entries = tuple(entry for entry in self.entry if entry.name in chosen or entry.causes[0] in chosen)
        pairs = tuple(pair for pair in self.pair if pair.name in chosen)
        situations = tuple(run for run in self.situation if run.name in chosen or set(run.main_causes) & chosen)
        undisturbed = tuple(run for run in self.undisturbed if run.name in chosen)
        injected: list[Injection | Situation] = [*entries, *pairs, *situations]
        needed = {run.baseline for run in injected} | chosen
        baselines = {name: baseline for name, baseline in self.baseline.items() if name in needed}
        return self.model_copy(
            update={
                "entry": entries,
                "pair": pairs,
                "undisturbed": undisturbed,
                "baseline": baselines,
                "situation": situations,
            }
        )

    @property
    def disturbed(self) -> set[str]:
        """Names of what needs disturbances: other programs, or settings of the operating system."""
        entries = {entry.name for entry in self.entry if entry.burner is not None}
        parts = {run.name: run.ingredient for run in self.situation}
        return entries | {name for name, found in parts.items() if any(part.disturb for part in found)}

    @property
    def runs(self) -> list[str]:
        """Names of everything that is an experiment of its own."""
        clean = [name for name, baseline in self.baseline.items() if baseline.undisturbed]
        injected: list[Injection | Situation] = [*self.injections, *self.situation]
        return clean + [run.name for run in injected] + [run.name for run in self.undisturbed]

    def halved(self, half: Half) -> "Catalog":
        """The catalog with the situations of this half alone."""
        return self.model_copy(update={"situation": tuple(run for run in self.situation if run.half == half)})

    def without(self, names: set[str]) -> "Catalog":
        """The catalog without the situations of these names."""
        return self.model_copy(update={"situation": tuple(run for run in self.situation if run.name not in names)})


def load_catalog(path: Path = FILES["causes"]) -> Catalog:
    """The catalog in a file, with the workloads and baselines of the file in the same folder that it `uses`, if any.

    Raises:
        ProfileError: the file is invalid; the error names the place in it.
    """
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
        if used := tables.pop("uses", None):
            shared = load_catalog(path.with_name(str(used)))
            tables["baseline"] = dict(shared.baseline) | tables.get("baseline", {})
            tables["workload"] = [*shared.workload, *tables.get("workload", [])]
        return Catalog.model_validate(tables)
    except tomllib.TOMLDecodeError as error:
        raise ProfileError(str(path), "", f"this is not valid TOML: {error}") from None
    except ValidationError as error:
        finding = error.errors()[0]
        place = ".".join(str(part) for part in finding["loc"])
        raise ProfileError(str(path), place, finding["msg"]) from None
