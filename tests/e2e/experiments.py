"""Experiments in a line: factor levels in, the record out."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from whyperf.plan import Plan, build
from whyperf.profile import Level, parse
from whyperf.record import Experiment, Manifest, read_table
from whyperf.run import Kind, Session, Target, run_plan
from whyperf.wire import ReplyProgress

Levels = Level | Sequence[Level]


class Quiet:
    """An observer that keeps what it hears."""

    def __init__(self) -> None:
        """Nothing heard yet."""
        self.messages: list[str] = []
        self.progress: list[tuple[str, ReplyProgress]] = []

    def on_message(self, text: str) -> None:
        """Keeps it."""
        self.messages.append(text)

    def on_trial_started(self, trial: str, cell: str, done: int, total: int) -> None:
        """Needs no note."""

    def on_progress(self, host: str, progress: ReplyProgress) -> None:
        """Keeps it."""
        self.progress.append((host, progress))

    def on_trial_finished(self, trial: str, status: str, reason: str | None) -> None:
        """Needs no note."""


@dataclass(frozen=True)
class Record:
    """What an experiment left."""

    experiment: Experiment

    @property
    def trials(self) -> dict[str, Manifest]:
        """The manifests; none may be damaged."""
        found = self.experiment.trials()
        assert found.damaged == []
        return found.manifests

    @property
    def only(self) -> Manifest:
        """The manifest of the only trial."""
        (manifest,) = self.trials.values()
        return manifest

    def table(self, name: str) -> pl.DataFrame:
        """A table over all trials, each row with its cell's factors that vary."""
        read = read_table(self.experiment, name)
        assert read.damaged == []
        return read.frame

    def factors(self, cell: str) -> Mapping[str, Level]:
        """A cell's factors."""
        return self.experiment.plan.cell(cell).factors


def numbers(frame: pl.DataFrame, column: str) -> list[int]:
    """A column of whole numbers, without its nulls."""
    return [int(value) for value in frame[column].drop_nulls().to_list()]


def profile_text(trials: int = 1, **levels: Levels) -> str:
    """A profile in TOML: single levels are fixed, lists are varied."""
    # JSON's numbers, strings, lists and truth values are TOML's too.
    fixed = [f"{name} = {json.dumps(level)}" for name, level in levels.items() if not isinstance(level, list | tuple)]
    varied = [f"{name} = {json.dumps(level)}" for name, level in levels.items() if isinstance(level, list | tuple)]
    sweep = ["[[sweep]]", 'name = "main"', "[sweep.factors]", *varied] if varied else []
    return "\n".join(['about = "A test."', "[fixed]", *fixed, "[design]", f"trials = {trials}", *sweep]) + "\n"


def plan_of(trials: int = 1, kind: Kind = Kind.VETH, **levels: Any) -> Plan:
    """The plan of such a profile."""
    profile = parse(profile_text(trials, **levels), name="test", where="test.toml")
    return build(profile, target="loopback" if kind is Kind.LOOPBACK else "testbed")


@contextmanager
def session(folder: Path, plan: Plan) -> Iterator[tuple[Session, Experiment]]:
    """Agents, testbed and record, ready for the trials."""
    text = profile_text()
    with Experiment.create(folder, plan, text) as experiment, Session(plan, Target(Kind(plan.testbed.kind))) as opened:
        yield opened, experiment


def measure(folder: Path, trials: int = 1, kind: Kind = Kind.VETH, **levels: Any) -> Record:
    """Runs the whole experiment."""
    with session(folder / "results", plan_of(trials, kind, **levels)) as (opened, experiment):
        run_plan(opened, experiment, Quiet(), lambda _: None)
        return Record(experiment)
