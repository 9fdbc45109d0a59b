"""Warnings that figures of transactions and datagrams raise."""

from collections.abc import Iterator, Mapping, Sequence

from whyperf.analyze.summary import CellResult, Cpu, Datagrams, Fact, Transactions
from whyperf.analyze.text import count, percent, seconds, significant
from whyperf.analyze.warnings.catalog import RaisedWarning

#: Share by which the begun rate may differ from the intended one.
RATE_MISSED_RATIO = 0.01
#: From here on all connections are taken for most arrivals, and the generator has no place to begin in.
PLACES_TAKEN_RATIO = 0.9
#: Share of the transactions that must have the kernel's stamps for these to represent all.
MIN_STAMPED_RATIO = 0.99
CLOSED_LOOP = (
    "Latencies are from a closed loop: a transaction begins when the one before has ended, so what would have waited "
    "to begin is not in them, and a stall counts once. With offered_rate_per_s they count from the intended begin."
)


def of_transactions(
    transactions: Transactions | None, factors: Mapping[str, object], cpu: Cpu | None = None
) -> Iterator[RaisedWarning]:
    """Warnings about a cell's transactions; `cpu` is the CPU time of both sides, printed as evidence."""
    if transactions is None:
        return
    if factors.get("kernel_timestamps") is True and transactions.wire is None and transactions.count:
        yield RaisedWarning("no_kernel_timestamps")
    if transactions.wire is not None and transactions.latency is not None:
        stamped = transactions.wire.count / transactions.latency.count
        if stamped < MIN_STAMPED_RATIO:
            yield RaisedWarning("few_kernel_timestamps", {"ratio": percent(stamped)})
    failed, total = transactions.failed_count, transactions.count
    if failed:
        # An execution that failed has ended too.
        ratio = percent(failed / total) if total else "all"
        yield RaisedWarning("failed_transactions", {"count": count(failed, "transaction"), "ratio": ratio})
    yield from _of_schedule(transactions, cpu or Cpu())
    if transactions.count == 0:
        yield RaisedWarning("no_transactions")


def _of_schedule(transactions: Transactions, cpu: Cpu) -> Iterator[RaisedWarning]:
    """Judges whether an open loop kept its schedule; if not, whether the ends or the generator were in the way.

    A transaction that cannot begin because all places are taken waits for the ends; one that does not begin
    although there is a place waits for the generator.
    """
    intended, begun, ended = transactions.intended_per_s, transactions.begun_per_s, transactions.per_s.median
    if not intended or begun is None or ended is None:
        return
    busy = transactions.places_busy_ratio
    rates = {"intended": significant(intended, 4), "begun": significant(begun, 4), "ended": significant(ended, 4)}
    is_late = abs(begun - intended) > RATE_MISSED_RATIO * intended
    if is_late and (busy is None or busy < PLACES_TAKEN_RATIO):
        evidence = "" if busy is None else f"; the connections were busy for {percent(busy)} of the time only"
        yield RaisedWarning(
            "rate_missed", rates | {"ratio": percent(abs(begun - intended) / intended), "evidence": evidence}
        )
    elif is_late or abs(ended - intended) > RATE_MISSED_RATIO * intended:
        yield RaisedWarning("overloaded", rates | {"evidence": _backlog(transactions, intended - ended, cpu)})


def _backlog(transactions: Transactions, grows_per_s: float, cpu: Cpu) -> str:
    """The signs that transactions waited for the ends, in a sentence."""
    parts = [f"the backlog grew by {significant(grows_per_s)} a second"] if grows_per_s > 0 else []
    if transactions.places_busy_ratio is not None:
        parts.append(f"the connections were busy for {percent(transactions.places_busy_ratio)} of the time")
    if transactions.begin_wait_ns_mean is not None:
        parts.append(f"a transaction waited {seconds(transactions.begin_wait_ns_mean)} on average to begin")
    ends = {"near": cpu.sender, "far": cpu.receiver}
    shares = [
        f"{percent(end.busy_ratio)} at the {name} end"
        for name, end in ends.items()
        if end is not None and end.busy_ratio is not None
    ]
    if shares:
        parts.append(f"the CPUs were busy for {' and '.join(shares)}")
    return f": {', '.join(parts)}" if parts else ""


def of_datagrams(datagrams: Datagrams | None) -> Iterator[RaisedWarning]:
    """Warnings about a cell's datagrams."""
    if datagrams is not None and datagrams.kernel_drops_count:
        dropped = count(datagrams.kernel_drops_count, "datagram")
        yield RaisedWarning("receiver_dropped", {"count": dropped})


def closed_loop_fact(cells: Sequence[CellResult]) -> list[Fact]:
    """The usual warning about latencies of a closed loop, raised once."""
    closed = [cell.transactions for cell in cells if cell.metric == "transactions" and cell.transactions is not None]
    if any(not found.is_open_loop and found.latency is not None for found in closed):
        return [Fact(code="closed_loop_latency", text=CLOSED_LOOP)]
    return []
