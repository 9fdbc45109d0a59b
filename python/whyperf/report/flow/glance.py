"""The segment flow of many log trials, a line each."""

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from whyperf.analyze.flow import (
    Completeness,
    FlowTrial,
    Payloads,
    Waited,
    ack_reasons,
    completeness,
    contexts,
    open_trial,
    overview,
    scan_log,
    waited_for_ack,
)
from whyperf.record.errors import RecordError
from whyperf.report.flow.about import context_shares, reason_shares
from whyperf.report.flow.rows import context_ratios, reason_ratios
from whyperf.report.flow.summary import Told, payloads_of

THREADS = 2


@dataclass(frozen=True)
class Glance:
    """What a log trial comes to. What is not known is None or empty.

    `doubt` says why its logs are not complete. `pattern` is what the sender's payloads look like,
    of a trial with one connection, `waited` which of them an ACK released.
    """

    trial: str
    cell: str
    doubt: str
    segments: int | None = None
    packet_bytes_mean: float | None = None
    segments_per_ack: float | None = None
    again: int | None = None
    pattern: Payloads | None = None
    context: tuple[str, float] | None = None
    reason: tuple[str, float] | None = None
    waited: tuple[Waited, ...] = ()


def glances(folders: Iterable[Path]) -> list[Glance]:
    """A line for each trial; about 50 ms for a short one."""
    with ThreadPoolExecutor(THREADS) as threads:
        return list(threads.map(_glance, folders))


def of_told(told: Told) -> Glance:
    """The line of a trial of which everything is told already."""
    sender = next((one for one in told.ends if one.end.role == "sender"), None)
    receiver = next((one for one in told.ends if one.end.role == "receiver"), None)
    doubt = " ".join(_doubts({one.end.host: one.log for one in told.ends}))
    if sender is None:
        return Glance(told.trial.trial, told.trial.cell, doubt)
    segments, again = sender.value("data_segments"), sender.value("retransmitted_packets")
    return Glance(
        trial=told.trial.trial,
        cell=told.trial.cell,
        doubt=doubt,
        segments=None if segments is None else round(segments),
        packet_bytes_mean=sender.value("packet_bytes_mean"),
        segments_per_ack=sender.value("segments_per_ack"),
        again=None if again is None else round(again),
        pattern=sender.payloads,
        context=next(iter(context_ratios(sender)), None),
        reason=None if receiver is None else next(iter(reason_ratios(receiver)), None),
        waited=_waited(told.trial, sender.end.host),
    )


def _glance(folder: Path) -> Glance:
    try:
        return _seen(open_trial(folder))
    except RecordError as error:
        return Glance(folder.name, folder.name.rpartition("-")[2], str(error))


def _seen(trial: FlowTrial) -> Glance:
    sender, receiver = trial.end("sender"), trial.end("receiver")
    doubt = " ".join(_doubts({host: completeness(trial, host) for host in trial.ends}))
    if sender is None:
        return Glance(trial.trial, trial.cell, doubt)
    table = overview(trial, sender.host)
    sums = table.select(pl.col("data_segments", "data_packets", "data_bytes", "acks", "retransmitted_packets").sum())
    segments, packets, octets, acks, again = sums.row(0)
    log = scan_log(trial, sender.host)
    answers = None if receiver is None else scan_log(trial, receiver.host)
    found = payloads_of(trial, sender.host, int(table["connection"][0])) if table.height == 1 else None
    return Glance(
        trial=trial.trial,
        cell=trial.cell,
        doubt=doubt,
        segments=segments,
        packet_bytes_mean=octets / packets if packets else None,
        segments_per_ack=segments / acks if acks else None,
        again=again,
        pattern=found,
        context=_first(context_shares(contexts(log))) if log is not None else None,
        reason=_first(reason_shares(ack_reasons(answers))) if answers is not None else None,
        waited=_waited(trial, sender.host),
    )


def _waited(trial: FlowTrial, host: str) -> tuple[Waited, ...]:
    log = scan_log(trial, host)
    return () if log is None else tuple(waited_for_ack(log))


def _doubts(found: Mapping[str, Completeness | None]) -> list[str]:
    reasons = {
        host: "there is no log" if log is None else log.reason or "not complete"
        for host, log in found.items()
        if log is None or not log.complete
    }
    return [f"The {host} end: {reason}" for host, reason in reasons.items()]


def _first(shares: Sequence[tuple[str, float, int]]) -> tuple[str, float] | None:
    return shares[0][:2] if shares else None
