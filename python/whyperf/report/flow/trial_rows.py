"""The segment flow of many log trials, one row each."""

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
from whyperf.report.flow.summary import FlowSummary, payloads_of

THREADS = 2


@dataclass(frozen=True)
class TrialRow:
    """The row of a log trial. Unknown values are None or empty.

    `warning` says why its logs are not complete. `pattern` is the pattern of the sender's payloads in a trial with one
    connection; `waited` lists the payloads that an ACK released.
    """

    trial: str
    cell: str
    warning: str
    segments: int | None = None
    packet_bytes_mean: float | None = None
    segments_per_ack: float | None = None
    retransmitted: int | None = None
    pattern: Payloads | None = None
    context: tuple[str, float] | None = None
    reason: tuple[str, float] | None = None
    waited: tuple[Waited, ...] = ()


def trial_rows(folders: Iterable[Path]) -> list[TrialRow]:
    """A row for each trial; a short trial takes about 50 ms."""
    with ThreadPoolExecutor(THREADS) as threads:
        return list(threads.map(_row_of_folder, folders))


def row_of_summary(summary: FlowSummary) -> TrialRow:
    """The row of a trial that is summarized already."""
    sender = next((flow for flow in summary.hosts if flow.end.role == "sender"), None)
    receiver = next((flow for flow in summary.hosts if flow.end.role == "receiver"), None)
    warning = " ".join(_warnings({flow.end.host: flow.log for flow in summary.hosts}))
    if sender is None:
        return TrialRow(summary.trial.trial, summary.trial.cell, warning)
    segments, retransmitted = sender.value("data_segments"), sender.value("retransmitted_packets")
    return TrialRow(
        trial=summary.trial.trial,
        cell=summary.trial.cell,
        warning=warning,
        segments=None if segments is None else round(segments),
        packet_bytes_mean=sender.value("packet_bytes_mean"),
        segments_per_ack=sender.value("segments_per_ack"),
        retransmitted=None if retransmitted is None else round(retransmitted),
        pattern=sender.payloads,
        context=next(iter(context_ratios(sender)), None),
        reason=None if receiver is None else next(iter(reason_ratios(receiver)), None),
        waited=_waited(summary.trial, sender.end.host),
    )


def _row_of_folder(folder: Path) -> TrialRow:
    try:
        return _row_of_trial(open_trial(folder))
    except RecordError as error:
        return TrialRow(folder.name, folder.name.rpartition("-")[2], str(error))


def _row_of_trial(trial: FlowTrial) -> TrialRow:
    sender, receiver = trial.end("sender"), trial.end("receiver")
    warning = " ".join(_warnings({host: completeness(trial, host) for host in trial.ends}))
    if sender is None:
        return TrialRow(trial.trial, trial.cell, warning)
    table = overview(trial, sender.host)
    sums = table.select(pl.col("data_segments", "data_packets", "data_bytes", "acks", "retransmitted_packets").sum())
    segments, packets, octets, acks, retransmitted = sums.row(0)
    log = scan_log(trial, sender.host)
    answers = None if receiver is None else scan_log(trial, receiver.host)
    found = payloads_of(trial, sender.host, int(table["connection"][0])) if table.height == 1 else None
    return TrialRow(
        trial=trial.trial,
        cell=trial.cell,
        warning=warning,
        segments=segments,
        packet_bytes_mean=octets / packets if packets else None,
        segments_per_ack=segments / acks if acks else None,
        retransmitted=retransmitted,
        pattern=found,
        context=_first(context_shares(contexts(log))) if log is not None else None,
        reason=_first(reason_shares(ack_reasons(answers))) if answers is not None else None,
        waited=_waited(trial, sender.host),
    )


def _waited(trial: FlowTrial, host: str) -> tuple[Waited, ...]:
    log = scan_log(trial, host)
    return () if log is None else tuple(waited_for_ack(log))


def _warnings(found: Mapping[str, Completeness | None]) -> list[str]:
    reasons = {
        host: "there is no log" if log is None else log.reason or "not complete"
        for host, log in found.items()
        if log is None or not log.complete
    }
    return [f"The {host} side: {reason}" for host, reason in reasons.items()]


def _first(shares: Sequence[tuple[str, float, int]]) -> tuple[str, float] | None:
    return shares[0][:2] if shares else None
