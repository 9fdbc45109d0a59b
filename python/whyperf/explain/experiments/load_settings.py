"""The causes that the load's own settings exclude, and what its pauses are: whyperf made the load, and knows it."""

from collections.abc import Callable, Mapping

from whyperf.explain.causes import Cause
from whyperf.explain.changes.commands import OFFLOADS
from whyperf.explain.experiments.changing import is_answered
from whyperf.explain.setup import Setup
from whyperf.profile import BY_NAME, shipped_workload, shipped_workload_names


def excluded(setup: Setup) -> frozenset[Cause]:
    """The causes that the load's own settings exclude: those of a program that whyperf itself is."""
    out = {cause for cause, is_out in _EXCLUDED.items() if is_out(setup)}
    if setup.testbed == "veth":
        out |= {cause for cause, is_out in _EXCLUDED_ON_TESTBED.items() if is_out(setup)}
    return frozenset(out)


def _is_usual(*names: str) -> Callable[[Setup], bool]:
    return lambda setup: all(setup.level(name) == BY_NAME[name].default for name in names)


def _has_no_pauses(setup: Setup) -> bool:
    return setup.level("workload") in _WITHOUT_PAUSES and _is_usual("think_us", "write_rate_bps")(setup)


_WITHOUT_PAUSES = frozenset({"stream", "stream-receive", "rr", "crr", "bidirectional"})
"""Shipped workloads that pause only where a factor says so."""
_EXCLUDED: Mapping[Cause, Callable[[Setup], bool]] = {
    Cause.PACING_RATE: _is_usual("pacing_rate_bps"),
    Cause.ASKED_RATE: lambda setup: _has_no_pauses(setup) and _is_usual("offered_rate_per_s")(setup),
    Cause.THINK_TIME: _has_no_pauses,
    Cause.SLOW_WRITER: _has_no_pauses,
    Cause.SLOW_READER: _has_no_pauses,
    Cause.NAGLE_DELAYED_ACK: lambda setup: setup.level("no_delay") is True and setup.level("cork") is False,
    Cause.READ_SIZE: _is_usual("read_size_bytes"),
    Cause.TINY_WRITES: lambda setup: setup.level("workload") == "stream" and _is_usual("write_size_bytes")(setup),
    Cause.MANY_CONNECTIONS: _is_usual("connections"),
    Cause.CONNECTION_SETUP: lambda setup: setup.level("workload") in {"stream", "stream-receive", "rr"},
}
_EXCLUDED_ON_TESTBED: Mapping[Cause, Callable[[Setup], bool]] = {
    Cause.SMALL_MTU: _is_usual("mtu_bytes", "mss_bytes"),
    Cause.OFFLOADS_OFF: _is_usual(*OFFLOADS),
    Cause.QUICK_ACK: _is_usual("quick_ack"),
    Cause.REORDERING: _is_usual("path_reorder", "path_jitter_us"),
    Cause.RANDOM_LOSS: _is_usual("path_loss", "path_loss_back"),
    Cause.ACK_THINNING: _is_usual("path_ack_thinning", "path_loss_back", "path_rate_back_bps"),
    # Without a rate of the path nothing has a queue but the hosts themselves (profile/path.py).
    **dict.fromkeys((Cause.BOTTLENECK, Cause.SHARED_BOTTLENECK, Cause.SMALL_QUEUE), _is_usual("path_rate_bps")),
}


def way_back_of(setup: Setup, is_turned: bool) -> Cause | None:
    """The cause that a slow or lossy way back is, where it carries payload; None where it carries ACKs alone."""
    if not is_turned and not is_answered(setup):
        return None
    return Cause.BOTTLENECK if isinstance(setup.level("path_rate_back_bps"), int) else Cause.PATH_LOSS


def pauses_of(setup: Setup, is_turned: bool) -> Cause | None:
    """The cause that the pauses of a workload are, by what it does next to them; None where it has none of its own."""
    name = str(setup.level("workload"))
    workload = setup.workloads.get(name) or (shipped_workload(name) if name in shipped_workload_names() else None)
    document = None if workload is None else workload.document(setup.factors)
    transactions = [each for group in (document or {"groups": []})["groups"] for each in group["transactions"]]
    operations = [step["operation"] for each in transactions for step in each["steps"]]
    kinds = {operation["operation"] for operation in operations}
    if "think" not in kinds:
        return None
    computes = any(operation["operation"] == "think" and operation["is_busy"] for operation in operations)
    if not computes and "read" in kinds and kinds & {"write", "send_file"}:
        return Cause.THINK_TIME
    is_reader = "read" in kinds if kinds.isdisjoint({"write", "send_file"}) else is_turned
    if computes:
        return Cause.RECEIVER_CPU if is_reader else Cause.SENDER_CPU
    return Cause.SLOW_READER if is_reader else Cause.SLOW_WRITER
