"""The catalog of `whyperf-lab truth --watch`: causes around programs of others, in doses. Read from `watched.toml`."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Self

from pydantic import Field, ValidationError, field_validator, model_validator

from lab.disturb.disturbances import Disturbance
from lab.truth.situation import CatalogTable
from whyperf.explain.causes import Cause
from whyperf.plan import Plan, build
from whyperf.profile import Design, Factors, Level, Profile, ProfileError, Sweep, factor_named, suggestion
from whyperf.profile.levels import one_level

FILE = Path(__file__).with_name("watched.toml")
PEER = Path(__file__).with_name("peer.py")
NAME = "truth-watch"

Host = Literal["near", "far"]

TESTBED_FACTORS = ("mtu_bytes", "tso", "gso", "gro")
"""Factors in addition to those of the path (`path_…`) that mean something without a load of our own."""

PLACEHOLDERS = ("address", "port", "folder", "python", "peer")
"""The words that stand for something in `@…@` in a command or a file of a program."""


class Program(CatalogTable):
    """A pair of programs: the far side's serves at a port, the near side's connects to it.

    `needs` names the package of each program. `setup` are commands of a side that end before the server starts, and
    `files` what they and the programs read, in a folder of their own. `sender` is the side that sends most payload.
    """

    about: str
    needs: dict[str, str] = Field(default_factory=dict)
    sender: Host = "near"
    files: dict[str, str] = Field(default_factory=dict)
    far_setup: tuple[tuple[str, ...], ...] = ()
    near_setup: tuple[tuple[str, ...], ...] = ()
    server: tuple[str, ...] = Field(min_length=1)
    client: tuple[str, ...] = Field(min_length=1)


class Base(CatalogTable):
    """The path and the testbed of a run without the cause."""

    about: str
    factors: dict[str, Level] = Field(default_factory=dict)


class Change(CatalogTable):
    """The change that injects a cause: arguments of the programs, factors of the path, disturbances, lines of files."""

    client: tuple[str, ...] = ()
    server: tuple[str, ...] = ()
    #: By the placeholder `@NAME@` in files and commands of the program.
    fill: dict[str, str] = Field(default_factory=dict)
    factors: dict[str, Level] = Field(default_factory=dict)
    disturb: tuple[Disturbance, ...] = ()

    @field_validator("factors")
    @classmethod
    def _means_something(cls, factors: dict[str, Level]) -> dict[str, Level]:
        for name in factors:
            if not name.startswith("path_") and name not in TESTBED_FACTORS:
                raise ValueError(f"{name} is a factor of the load, and the load is another program's")
        return factors


class Case(CatalogTable):
    """One cause around one program, in doses. The first of the `causes` is injected; `also` has the reasons why each
    further one is right, too. `client`, `server` and `fill` are those of all its runs, also of the baseline.
    """

    name: str
    causes: tuple[Cause, ...] = Field(min_length=1)
    also: dict[Cause, str] = Field(default_factory=dict)
    program: str
    baseline: str
    client: tuple[str, ...] = ()
    server: tuple[str, ...] = ()
    fill: dict[str, str] = Field(default_factory=dict)
    from_start: bool = False
    #: The part of the baseline that is other than in the doses: arguments, words.
    without: Change = Change()
    doses: tuple[Change, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _has_reasons(self) -> Self:
        if set(self.also) != set(self.causes[1:]):
            raise ValueError("each cause after the first needs its reason under also, and no other has one")
        return self

    @property
    def accepted(self) -> tuple[str, ...]:
        """The causes that are right."""
        return tuple(str(cause) for cause in self.causes)

    def change(self, dose: int) -> Change:
        """The change of a dose; dose 0 is the baseline."""
        return self.doses[dose - 1] if dose else self.without


class WatchedCatalog(CatalogTable):
    """All cases with their programs and baselines."""

    program: dict[str, Program]
    baseline: dict[str, Base]
    case: tuple[Case, ...]

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        names = [case.name for case in self.case]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(f"{twice[0]} is defined twice")
        for case in self.case:
            if case.program not in self.program:
                raise ValueError(f"{case.name}: there is no program {case.program}")
            if case.baseline not in self.baseline:
                raise ValueError(f"{case.name}: there is no baseline {case.baseline}")
        for factors in (base.factors for base in self.baseline.values()):
            for name, level in factors.items():
                one_level(factor_named(name), level)
        for change in (change for case in self.case for change in (case.without, *case.doses)):
            for name, level in change.factors.items():
                one_level(factor_named(name), level)
        return self

    def named(self, wanted: list[str]) -> "WatchedCatalog":
        """The cases of these causes, programs or names.

        Raises:
            ProfileError: there is none.
        """
        known = {word for case in self.case for word in _words_of(case)}
        for name in wanted:
            if name not in known:
                hint = suggestion(name, known, listed_by="whyperf-lab truth --watch --dry-run")
                raise ProfileError(
                    "--only", name, f"there is no watched truth experiment with this cause or name{hint}"
                )
        return self.model_copy(update={"case": tuple(case for case in self.case if _words_of(case) & set(wanted))})

    def without(self, names: set[str]) -> "WatchedCatalog":
        """The catalog without the cases of these names."""
        return self.model_copy(update={"case": tuple(case for case in self.case if case.name not in names)})

    def factors(self, case: Case, dose: int) -> Factors:
        """The factors of the path and the testbed in a run of a case; dose 0 is the baseline.

        The payload's direction of the path is that in which the program sends.
        """
        direction = "send" if self.program[case.program].sender == "near" else "receive"
        return {"direction": direction} | self.baseline[case.baseline].factors | case.change(dose).factors


def _words_of(case: Case) -> set[str]:
    return {case.name, case.program, str(case.causes[0])}


@dataclass(frozen=True)
class Commands:
    """The commands that a run of a program executes, with everything filled in."""

    files: Mapping[str, str]
    far_setup: tuple[tuple[str, ...], ...]
    near_setup: tuple[tuple[str, ...], ...]
    server: tuple[str, ...]
    client: tuple[str, ...]


def commands_of(catalog: WatchedCatalog, case: Case, dose: int, fill: Mapping[str, str]) -> Commands:
    """The commands of a run; `fill` has a value for each of `PLACEHOLDERS`."""
    program, change = catalog.program[case.program], case.change(dose)
    known = {**case.fill, **change.fill, **fill}

    def filled(text: str) -> str:
        for name, value in known.items():
            text = text.replace(f"@{name}@", value)
        return text

    def argv(*parts: str) -> tuple[str, ...]:
        return tuple(filled(part) for part in parts)

    return Commands(
        files={filled(name): filled(text) for name, text in program.files.items()},
        far_setup=tuple(argv(*command) for command in program.far_setup),
        near_setup=tuple(argv(*command) for command in program.near_setup),
        server=argv(*program.server, *case.server, *change.server),
        client=argv(*program.client, *case.client, *change.client),
    )


def sweep_of(case: Case, dose: int) -> str:
    """The name of a run in the plan."""
    return f"{case.name}-{dose or 'baseline'}"


def plan_watched(catalog: WatchedCatalog, *, seed: int = 1) -> Plan:
    """The plan of the testbed: a cell for each path that a run has. It has no load of its own to run.

    Raises:
        ProfileError: factors contradict each other.
    """
    sweeps = [
        Sweep(sweep_of(case, dose), catalog.factors(case, dose), {}, 1, (), 0)
        for case in catalog.case
        for dose in range(len(case.doses) + 1)
    ]
    profile = Profile(
        name=NAME,
        where="the catalog of watched truth experiments",
        text="",
        about="Causes around programs of others, and the verdicts of whyperf watch.",
        seed=seed,
        kind="veth",
        fixed={},
        design=Design(trials=1),
        sweeps=tuple(sweeps),
        workloads={},
    )
    return build(profile)


def load_watched(path: Path = FILE) -> WatchedCatalog:
    """The catalog in a file.

    Raises:
        ProfileError: it is invalid; the error names the place in it.
    """
    try:
        return WatchedCatalog.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except tomllib.TOMLDecodeError as error:
        raise ProfileError(str(path), "", f"this is not valid TOML: {error}") from None
    except ValidationError as error:
        finding = error.errors()[0]
        place = ".".join(str(part) for part in finding["loc"])
        raise ProfileError(str(path), place, finding["msg"]) from None
