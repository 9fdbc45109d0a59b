"""The segment flow as plain values."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

from whyperf.report.flow.told import EndTold, Told

OVERVIEW = (
    *("connection", "payload_bytes", "data_packets", "data_segments", "data_bytes", "retransmitted_packets"),
    *("acks", "packet_bytes_mean", "segment_bytes_mean", "segments_per_ack", "level"),
)


def flow_json(told: Told, experiment: str, page: Path | None, host: str | None = None) -> dict[str, Any]:
    """Everything that is told, of both ends or of the one at `host`. What nobody knows is null."""
    return {
        "experiment": experiment,
        "trial": told.trial.trial,
        "cell": told.trial.cell,
        "connection": told.connection,
        "complete": bool(told.logs) and all(log.complete for log in told.logs),
        "page": None if page is None else str(page),
        "ends": {one.end.role: _end(one) for one in told.ends if host in {None, one.end.host}},
        "connections": told.connections.select(OVERVIEW).to_dicts(),
    }


def _end(told: EndTold) -> dict[str, Any]:
    evidence = asdict(told.end.evidence)
    evidence["missing"] = [{"name": name, "reason": reason} for name, reason in told.end.evidence.missing]
    log = told.log
    return {
        "host": told.end.host,
        "evidence": evidence,
        "log": None
        if log is None
        else {"complete": log.complete, "complete_ratio": log.ratio, "reason": log.reason, "rows": log.rows_count},
        "facts": {
            name: {"value": fact.value, "unit": fact.quantity.unit, "level": fact.level, "words": fact.quantity.words}
            for name, fact in told.facts.items()
        },
        "payloads": None if told.payloads is None else asdict(told.payloads),
        "sizes": None
        if told.sizes is None
        else {"of": told.sizes.of, "level": told.sizes.level, "rows": told.sizes.sizes.to_dicts()},
    }
