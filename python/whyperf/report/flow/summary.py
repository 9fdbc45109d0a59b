"""Summary of a trial's segment flow, from the best evidence level of each host, as values and as JSON."""

import gc
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from whyperf.analyze.flow import (
    Completeness,
    Fact,
    FlowEnd,
    FlowTrial,
    Payloads,
    SizeHistogram,
    completeness,
    counted_histogram,
    find_payloads,
    flow_facts,
    overview,
    payload_sequence,
    read_counters,
    read_log,
    scan_log,
    size_histogram,
)
from whyperf.analyze.flow.payloads import PAYLOAD_COLUMNS

ROLES = ("sender", "receiver")


@dataclass(frozen=True)
class EndTold:
    """What one end saw of a trial, over its whole life.

    `log` is None without a log. `payloads` is the pattern of what it sent, of one connection, and
    `sizes` the wire segments or, from counters, the packets that it sent; None where nobody knows.
    """

    end: FlowEnd
    log: Completeness | None
    connections_count: int
    facts: Mapping[str, Fact]
    payloads: Payloads | None
    sizes: SizeHistogram | None

    def value(self, name: str) -> float | None:
        """The value of a fact; None when no level knows it."""
        return self.facts[name].value

    @property
    def level(self) -> str:
        """The level of most of what is told of this end."""
        return self.facts["data_segments"].level or "user"


@dataclass(frozen=True)
class Told:
    """What is told of a trial: of all connections together, or of `connection`; the sender first.

    `connections` is the overview from the sender, or from the receiver where that is all there is.
    """

    trial: FlowTrial
    connection: int | None
    ends: Sequence[EndTold]
    connections: pl.DataFrame

    @property
    def numbers(self) -> list[int]:
        """Numbers of all connections."""
        return [int(number) for number in self.connections["connection"]]

    @property
    def logs(self) -> list[Completeness]:
        """What is known of each log there is."""
        return [end.log for end in self.ends if end.log is not None]


def tell(trial: FlowTrial, connection: int | None = None) -> Told:
    """Everything that is told of `trial`, or of one of its connections.

    Raises:
        RecordError: a table cannot be read.
    """
    ends = [end for role in ROLES if (end := trial.end(role)) is not None]
    table = overview(trial, ends[0].host) if ends else pl.DataFrame(schema={"connection": pl.UInt32()})
    lone = int(table["connection"][0]) if table.height == 1 else connection
    count = 1 if connection is not None else table.height
    with ThreadPoolExecutor(len(ROLES)) as threads:
        told = list(threads.map(lambda end: _end(trial, end, connection, lone, count), ends))
    # Some hundred MB of columns would wait in reference cycles while the next are read.
    gc.collect()
    return Told(trial, connection, told, table)


def _end(trial: FlowTrial, end: FlowEnd, connection: int | None, lone: int | None, count: int) -> EndTold:
    log = completeness(trial, end.host)
    alone = replace(trial, ends={end.host: end})
    facts = flow_facts(alone, connection, whole_life=True, completenesses={end.host: log}).facts
    # One after another: each holds a few hundred MB of a long log, and the other end has a thread of its own.
    return EndTold(
        end=end,
        log=log,
        connections_count=count,
        facts={fact.quantity.name: fact for fact in facts},
        payloads=None if lone is None else payloads_of(trial, end.host, lone),
        sizes=_sizes(trial, end.host, connection),
    )


def payloads_of(trial: FlowTrial, host: str, connection: int) -> Payloads | None:
    """The pattern of what an end sent; None when that is not known or nothing."""
    sent = (pl.col("direction") == "out") & (pl.col("payload_bytes") > 0)
    log = read_log(trial, host, [connection], PAYLOAD_COLUMNS, where=sent)
    return None if log is None or log.is_empty() else find_payloads(payload_sequence(log))


def _sizes(trial: FlowTrial, host: str, connection: int | None) -> SizeHistogram | None:
    log = scan_log(trial, host, None if connection is None else [connection])
    if log is not None:
        return size_histogram(log, of="segments")
    counted = read_counters(trial, host)
    if counted is None:
        return None
    own = pl.lit(value=True) if connection is None else pl.col("connection") == connection
    return counted_histogram(counted.sizes.filter(own))


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
        "ends": {one.end.role: _end_json(one) for one in told.ends if host in {None, one.end.host}},
        "connections": told.connections.select(OVERVIEW).to_dicts(),
    }


def _end_json(told: EndTold) -> dict[str, Any]:
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
