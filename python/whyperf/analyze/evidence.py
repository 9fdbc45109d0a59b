"""What the evidence of an experiment is worth: the level each end reached, and whether logs are whole."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from whyperf.analyze.cautions import Caution
from whyperf.analyze.quantity import count
from whyperf.analyze.summary import Evidence, EvidenceEnd, Hook

Document = Mapping[str, Any]
Row = Mapping[str, Any]

LEVELS = ("user", "counters", "segments")

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
    "missed": pl.Int64(),
    "broken_off": pl.String(),
}
"""Columns of `evidence_rows`, one row a trial and end: what was asked and reached and `why` it is less, the
segments that the log should hold and those `lost` with the CPUs, runs of programs `missed`, and why the log was
`broken_off`."""


def evidence_rows(manifests: Iterable[Document]) -> pl.DataFrame:
    """The evidence of every trial's ends, from their manifests; a failed trial has none."""
    return pl.DataFrame([row for manifest in manifests for row in _rows(manifest)], schema=dict(EVIDENCE))


def _rows(manifest: Document) -> Iterator[dict[str, object]]:
    common = {name: manifest.get(name) for name in ("trial", "cell", "status", "reason")}
    asked = str(manifest.get("evidence_asked", "user"))
    for label, host in manifest.get("hosts", {}).items():
        report = host.get("evidence") or {}
        lost = report.get("lost_events_count") or []
        yield common | {
            "host": label,
            "asked": asked,
            "got": report.get("got", "user"),
            "why": report.get("reason"),
            "missing": [
                {name: hook.get(name, "") for name in ("name", "reason", "gives")} for hook in report.get("missing", ())
            ],
            "logged": int(report.get("logged_events_count") or 0),
            "lost": sum(int(row["count"]) for row in lost),
            "lost_cpus": ", ".join(str(row["cpu"]) for row in lost),
            "missed": int(report.get("missed_runs_count") or 0),
            "broken_off": report.get("broken_off"),
        }


def summarize_evidence(rows: pl.DataFrame) -> Evidence | None:
    """The experiment's evidence; None without any trial."""
    if rows.is_empty():
        return None
    measured = rows.filter(pl.col("asked") != "segments")
    logs = rows.filter(pl.col("asked") == "segments")
    whole = logs.filter(
        (pl.col("got") == "segments") & (pl.col("lost") + pl.col("missed") == 0) & pl.col("broken_off").is_null()
    )
    broken = logs.join(whole.select("trial", "host"), on=["trial", "host"], how="anti")
    return Evidence(
        asked=_least(measured["asked"]) or "segments",
        ends={str(label): _end(group) for (label,), group in (measured if len(measured) else logs).group_by("host")},
        log_trials=logs["trial"].n_unique(),
        incomplete_logs=sorted(broken["trial"].unique()),
    )


def _end(rows: pl.DataFrame) -> EvidenceEnd:
    worst = rows.filter(pl.col("got") == _least(rows["got"])).row(0, named=True)
    hooks = {hook["name"]: Hook(**hook) for row in rows["missing"] for hook in row}
    return EvidenceEnd(level=worst["got"], reason=worst["why"], missing=list(hooks.values()))


def _least(levels: pl.Series) -> str:
    return min(levels.to_list(), key=LEVELS.index, default="")


def of_logs(rows: Sequence[Row]) -> Iterator[Caution]:
    """Cautions about a cell's log trials: rows of `evidence_rows`."""
    logs = [row for row in rows if row["asked"] == "segments" and row["status"] != "failed"]
    failed = {row["trial"] for row in rows if row["asked"] == "segments" and row["status"] == "failed"}
    if failed:
        reason = next(row["reason"] for row in rows if row["trial"] in failed) or "no reason was given"
        yield Caution("failed_logs", {"count": count(len(failed), "log trial"), "reason": reason})
    for row in logs:
        named = {"trial": str(row["trial"]), "end": str(row["host"])}
        if row["got"] != "segments":
            yield Caution("no_log", named | {"level": str(row["got"]), "reason": str(row["why"])})
        elif row["broken_off"]:
            yield Caution("log_broken_off", named | {"reason": str(row["broken_off"])})
        elif row["lost"] or row["missed"]:
            lost = count(row["lost"] + row["missed"], "event")
            where = f" on CPU {row['lost_cpus']}" if row["lost_cpus"] else ""
            yield Caution("log_incomplete", named | {"lost": lost, "logged": f"{row['logged']:,}", "where": where})
