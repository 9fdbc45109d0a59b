"""Quality of an experiment's evidence: the level that each side reached, and whether logs are complete."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import polars as pl

from whyperf.analyze.summary import Evidence, EvidenceEnd, Hook
from whyperf.record import LOST

Document = Mapping[str, Any]

LEVELS = ("user", "counters", "segments")
LOG = LEVELS[-1]

EVIDENCE: Mapping[str, pl.DataType] = {
    "trial": pl.String(),
    "cell": pl.String(),
    "status": pl.String(),
    "reason": pl.String(),
    "host": pl.String(),
    "asked": pl.String(),
    "got": pl.String(),
    "why": pl.String(),
    "missing": pl.List(pl.Struct({"name": pl.String(), "reason": pl.String(), "gives": pl.String()})),
    "logged": pl.Int64(),
    "lost": pl.Int64(),
    "lost_cpus": pl.String(),
    "calls": pl.Int64(),
    "lost_calls": pl.Int64(),
    "missed": pl.Int64(),
    "unseen": pl.Int64(),
    "broken_off": pl.String(),
    "unsampled": pl.String(),
    "sampled_hz": pl.Int64(),
    "samples": pl.Int64(),
    "lost_samples": pl.Int64(),
}
"""Columns of `evidence_rows`: what was asked and reached and `why` it is less, the segments that the log should hold
and those `lost` with the CPUs in words, the `calls` it
should hold and those lost, runs of programs `missed`, segments TCP counted
that no program saw (`unseen`, at least), why the log was `broken_off`, why stacks were `unsampled` that should be
sampled, how many samples a second were asked for (`sampled_hz`, null for none), and the `samples` taken with those lost
of them. A trial that failed has one row without a `host`."""

MIN_LOST_SAMPLES_RATIO = 0.01
"""From here on lost samples are worth a sentence: as much as classes of costs differ between equal trials."""


def evidence_rows(manifests: Iterable[Document]) -> pl.DataFrame:
    """The evidence of every trial's ends, from their manifests, one row a trial and end."""
    return pl.DataFrame([row for manifest in manifests for row in _rows(manifest)], schema=dict(EVIDENCE))


def _rows(manifest: Document) -> Iterator[dict[str, object]]:
    asked = {"asked": str(manifest.get("evidence_asked", "user"))}
    common = {name: manifest.get(name) for name in ("trial", "cell", "status", "reason")} | asked
    if manifest.get("status") in LOST:
        yield common
        return
    for label, host in manifest.get("hosts", {}).items():
        report = host.get("evidence") or {}
        lost = {int(row["cpu"]): int(row["count"]) for row in report.get("lost_events_count") or ()}
        yield common | {
            "host": label,
            "got": report.get("got", "user"),
            "why": report.get("reason"),
            "missing": [
                {name: hook.get(name, "") for name in ("name", "reason", "gives")} for hook in report.get("missing", ())
            ],
            "logged": int(report.get("logged_events_count") or 0),
            "lost": sum(lost.values()),
            "lost_cpus": ", ".join(f"{number:,} on CPU {cpu}" for cpu, number in sorted(lost.items())),
            "calls": int(report.get("logged_calls_count") or 0),
            "lost_calls": sum(int(row["count"]) for row in report.get("lost_calls_count") or ()),
            "missed": int(report.get("missed_runs_count") or 0),
            "unseen": int(report.get("unseen_segments_count") or 0),
            "broken_off": report.get("broken_off"),
            "unsampled": _why_unsampled(report.get("profile")),
            "sampled_hz": _number(report.get("profile"), "frequency_hz"),
            "samples": _number(report.get("profile"), "samples_count") or 0,
            "lost_samples": _number(report.get("profile"), "lost_samples_count") or 0,
        }


def _why_unsampled(profile: object) -> str | None:
    reason = profile.get("reason") if isinstance(profile, dict) else None
    return reason if isinstance(reason, str) else None


def _number(profile: object, name: str) -> int | None:
    value = profile.get(name) if isinstance(profile, dict) else None
    return value if isinstance(value, int) and 0 <= value < 2**63 else None


def is_whole() -> pl.Expr:
    """True where a log trial's row says that its log is there, and that nothing of it was lost."""
    nothing_lost = pl.col("lost") + pl.col("lost_calls") + pl.col("missed") + pl.col("unseen") == 0
    return (pl.col("got") == LOG) & nothing_lost & pl.col("broken_off").is_null() & pl.col("why").is_null()


def of_measured(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows of trials that were measured for their throughput and did not fail."""
    return rows.filter((pl.col("asked") != LOG) & pl.col("host").is_not_null())


def summarize_evidence(rows: pl.DataFrame) -> Evidence | None:
    """The experiment's evidence; None without a trial that did not fail."""
    ran = rows.filter(pl.col("host").is_not_null())
    if ran.is_empty():
        return None
    measured, logs = of_measured(rows), ran.filter(pl.col("asked") == LOG)
    judged = logs if measured.is_empty() else measured
    return Evidence(
        asked=_least(judged["asked"]),
        ends={str(label): _end(group) for (label,), group in judged.group_by("host", maintain_order=True)},
        log_trials=logs["trial"].n_unique(),
        incomplete_logs=sorted(logs.filter(~is_whole())["trial"].unique()),
    )


def _end(rows: pl.DataFrame) -> EvidenceEnd:
    worst = rows.filter(pl.col("got") == _least(rows["got"])).row(0, named=True)
    hooks = {hook["name"]: Hook(**hook) for row in rows["missing"] for hook in row}
    return EvidenceEnd(level=worst["got"], reason=worst["why"], missing=list(hooks.values()))


def _least(levels: pl.Series) -> str:
    return LEVELS[min(LEVELS.index(level) for level in levels)]
