"""What to know about transactions and datagrams before believing their figures."""

from collections.abc import Iterator, Mapping, Sequence

from whyperf.analyze.cautions import Caution
from whyperf.analyze.quantity import count, percent, significant
from whyperf.analyze.summary import CellResult, Datagrams, Fact, Transactions

#: Part by which the begun rate may differ from the intended one.
RATE_MISSED_RATIO = 0.01
CLOSED_LOOP = (
    "Latencies are from a closed loop: a transaction begins when the one before has ended, so what would have waited "
    "to begin is not in them, and a stall counts once. With offered_rate_per_s they count from the intended begin."
)


def of_transactions(transactions: Transactions | None, factors: Mapping[str, object]) -> Iterator[Caution]:
    """Cautions about a cell's transactions."""
    if transactions is None:
        return
    if factors.get("kernel_timestamps") is True and transactions.wire is None and transactions.count:
        yield Caution("no_kernel_timestamps")
    failed, total = transactions.failed_count, transactions.count
    if failed:
        # An execution that failed has ended too.
        ratio = percent(failed / total) if total else "all"
        yield Caution("failed_transactions", {"count": count(failed, "transaction"), "ratio": ratio})
    intended, begun = transactions.intended_per_s, transactions.begun_per_s
    if intended and begun is not None and abs(begun - intended) > RATE_MISSED_RATIO * intended:
        rates = {"intended": significant(intended, 4), "begun": significant(begun, 4)}
        yield Caution("rate_missed", rates | {"ratio": percent(abs(begun - intended) / intended)})
    elif transactions.per_s.median is not None and intended:
        ended = transactions.per_s.median
        if abs(ended - intended) > RATE_MISSED_RATIO * intended:
            rates = {"intended": significant(intended, 4), "ended": significant(ended, 4)}
            yield Caution("overloaded", rates)
    if transactions.count == 0:
        yield Caution("no_transactions")


def of_datagrams(datagrams: Datagrams | None) -> Iterator[Caution]:
    """Cautions about a cell's datagrams."""
    if datagrams is not None and datagrams.kernel_drops_count:
        dropped = count(datagrams.kernel_drops_count, "datagram")
        yield Caution("receiver_dropped", {"count": dropped})


def closed_loop_fact(cells: Sequence[CellResult]) -> list[Fact]:
    """The usual caution about latencies of a closed loop, told once."""
    told = [cell.transactions for cell in cells if cell.metric == "transactions" and cell.transactions is not None]
    if any(not found.is_open_loop and found.latency is not None for found in told):
        return [Fact(code="closed_loop_latency", text=CLOSED_LOOP)]
    return []
