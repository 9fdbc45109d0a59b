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
class HostFlow:
    """The segment flow that one host recorded in a trial, over its whole duration.

    `log` is None without a log. `payloads` is the pattern of the sent payloads of one connection. `sizes` counts the
    sent wire segments or, from counters, the sent packets. Both are None where they are not known.
    """

    end: FlowEnd
    log: Completeness | None
    connections_count: int
    facts: Mapping[str, Fact]
    payloads: Payloads | None
    sizes: SizeHistogram | None

    def value(self, name: str) -> float | None:
        """The value of a fact; None when no level has it."""
        return self.facts[name].value

    @property
    def level(self) -> str:
        """The evidence level of most facts of this host."""
        return self.facts["data_segments"].level or "user"


@dataclass(frozen=True)
class FlowSummary:
    """The segment flow of a trial: of all connections together, or of `connection`; the sender first.

    `connections` is the overview from the sender, or from the receiver where only that has one.
    """

    trial: FlowTrial
    connection: int | None
    hosts: Sequence[HostFlow]
    connections: pl.DataFrame

    @property
    def numbers(self) -> list[int]:
        """Numbers of all connections."""
        return [int(number) for number in self.connections["connection"]]

    @property
    def logs(self) -> list[Completeness]:
        """The completeness of each log."""
        return [host.log for host in self.hosts if host.log is not None]


def summarize_flow(trial: FlowTrial, connection: int | None = None) -> FlowSummary:
    """Summarizes `trial`, or one of its connections.

    Raises:
        RecordError: a table cannot be read.
    """
    ends = [end for role in ROLES if (end := trial.end(role)) is not None]
    table = overview(trial, ends[0].host) if ends else pl.DataFrame(schema={"connection": pl.UInt32()})
    lone = int(table["connection"][0]) if table.height == 1 else connection
    count = 1 if connection is not None else table.height
    with ThreadPoolExecutor(len(ROLES)) as threads:
        hosts = list(threads.map(lambda end: _host_flow(trial, end, connection, lone, count), ends))
    # Otherwise some hundred MB of columns stay in reference cycles while the next are read.
    gc.collect()
    return FlowSummary(trial, connection, hosts, table)


def _host_flow(trial: FlowTrial, end: FlowEnd, connection: int | None, lone: int | None, count: int) -> HostFlow:
    log = completeness(trial, end.host)
    alone = replace(trial, ends={end.host: end})
    facts = flow_facts(alone, connection, whole_life=True, completenesses={end.host: log}).facts
    # One after another: each holds a few hundred MB of a long log, and the other host has its own thread.
    return HostFlow(
        end=end,
        log=log,
        connections_count=count,
        facts={fact.quantity.name: fact for fact in facts},
        payloads=None if lone is None else payloads_of(trial, end.host, lone),
        sizes=_sizes(trial, end.host, connection),
    )


def payloads_of(trial: FlowTrial, host: str, connection: int) -> Payloads | None:
    """The pattern of the payloads that a host sent; None when it is not known or the host sent none."""
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


def flow_json(
    summary: FlowSummary,
    experiment: str,
    page: Path | None,
    host: str | None = None,
    stages: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The summary of both hosts, or of `host`, as JSON, with processing times where there are some. Unknown values are
    null.
    """
    found = {
        "experiment": experiment,
        "trial": summary.trial.trial,
        "cell": summary.trial.cell,
        "connection": summary.connection,
        "complete": bool(summary.logs) and all(log.complete for log in summary.logs),
        "page": None if page is None else str(page),
        "ends": {flow.end.role: _host_json(flow) for flow in summary.hosts if host in {None, flow.end.host}},
        "connections": summary.connections.select(OVERVIEW).to_dicts(),
    }
    return found if stages is None else found | {"stages": dict(stages)}


def _host_json(flow: HostFlow) -> dict[str, Any]:
    evidence = asdict(flow.end.evidence)
    evidence["missing"] = [{"name": name, "reason": reason} for name, reason in flow.end.evidence.missing]
    log = flow.log
    return {
        "host": flow.end.host,
        "evidence": evidence,
        "log": None
        if log is None
        else {"complete": log.complete, "complete_ratio": log.ratio, "reason": log.reason, "rows": log.rows_count},
        "facts": {
            name: {
                "value": fact.value,
                "unit": fact.quantity.unit,
                "level": fact.level,
                "words": fact.quantity.description,
            }
            for name, fact in flow.facts.items()
        },
        "payloads": None if flow.payloads is None else asdict(flow.payloads),
        "sizes": None
        if flow.sizes is None
        else {"of": flow.sizes.of, "level": flow.sizes.level, "rows": flow.sizes.sizes.to_dicts()},
    }
