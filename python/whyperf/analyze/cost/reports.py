"""The reports of hosts on their sampling, from the manifests of trials."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

import polars as pl
from pydantic import BaseModel, Field, ValidationError

from whyperf.analyze.text import percent
from whyperf.analyze.warnings.evidence import MIN_LOST_SAMPLES_RATIO


def sampling_reports(manifests: Mapping[str, Mapping[str, Any]]) -> pl.DataFrame:
    """A row a trial and host whose CPUs were sampled."""
    schema = {
        "trial": pl.String(),
        "host": pl.String(),
        "samples_count": pl.Int64(),
        "lost_samples_count": pl.Int64(),
        "own_ns": pl.Int64(),
        "keeps_interrupts_apart": pl.Boolean(),
        "on_cpu_ns": pl.Int64(),
    }
    rows = [
        {"trial": trial, "host": host, **{name: getattr(report, name) for name in list(schema)[2:]}}
        for trial, host, report in _profiles(manifests)
        if report.event is not None
    ]
    return pl.DataFrame(rows, schema=schema)


class _Report(BaseModel):
    """The part used here of a host's report on its samples (ProfileReport in crates/schema/src/evidence.rs)."""

    event: str | None
    reason: str | None
    unnamed: str | None
    unnamed_programs: str | None = None
    samples_count: int = Field(ge=0, lt=2**63)
    lost_samples_count: int = Field(ge=0, lt=2**63)
    own_ns: int = Field(ge=0, lt=2**63)
    keeps_interrupts_apart: bool = False
    on_cpu_ns: int | None = Field(default=None, ge=0, lt=2**63)


def _profiles(manifests: Mapping[str, Mapping[str, Any]]) -> list[tuple[str, str, _Report]]:
    """The reports by trial and host; one that is none, in a record that somebody changed, is left out."""
    found = []
    for trial, manifest in manifests.items():
        for host, end in manifest["hosts"].items():
            with suppress(ValidationError):
                found.append((trial, host, _Report.model_validate(end["evidence"].get("profile"))))
    return found


def sampling_notes(manifests: Mapping[str, Mapping[str, Any]]) -> tuple[str, ...]:
    """The things that hosts could not do, a sentence each."""
    found = _profiles(manifests)
    refused = {f"The {host} side could not be sampled: {report.reason}." for _, host, report in found if report.reason}
    unnamed = {
        f"Functions of the {host} side's kernel have no names: {report.unnamed}."
        for _, host, report in found
        if report.unnamed
    }
    programs = {
        f"Functions of programs on the {host} side lack names. {report.unnamed_programs}."
        for _, host, report in found
        if report.unnamed_programs
    }
    return (*_lost(sampling_reports(manifests)), *sorted(refused | unnamed | programs))


def _lost(reports: pl.DataFrame) -> Iterator[str]:
    """Hosts that lost more than a few of their samples, a sentence each."""
    sums = reports.group_by("host").agg(pl.col("samples_count", "lost_samples_count").sum()).sort("host")
    for host, samples, lost in sums.iter_rows():
        if lost and lost >= MIN_LOST_SAMPLES_RATIO * samples:
            yield (
                f"The budget of the {host} side is incomplete: {lost:,} of {samples:,} samples "
                f"({percent(lost / max(samples, 1))}) were lost. "
                "Their cycles are not attributed, and belong to classes that this result cannot name."
            )
