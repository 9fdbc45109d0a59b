"""A workload that has been read: what it says of itself, and what it becomes for a cell."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import get_args

from whyperf import wire
from whyperf.profile.factor import Level
from whyperf.profile.workload.tables import Metric, TransportName

#: The metrics of a workload's result.
METRICS: tuple[Metric, ...] = get_args(Metric)
#: The workloads that the sizes of a trial describe by themselves, without a list of operations.
STREAM, STREAM_RECEIVE = "stream", "stream-receive"
#: Every transport, for a workload that was made elsewhere.
TRANSPORTS: tuple[str, ...] = get_args(TransportName)


def near_receives(factors: Mapping[str, object]) -> bool:
    """True where the near host receives a plain stream; in all other cells it sends, or both sides do."""
    return factors.get("direction") == "receive" or factors.get("workload") == STREAM_RECEIVE


@dataclass(frozen=True)
class Workload:
    """The behavior of an application, with factors left open."""

    name: str
    about: str
    metric: Metric
    #: The transports that can carry it.
    transports: tuple[str, ...]
    #: Levels, or references to other factors, that hold where neither profile nor command line sets one.
    defaults: Mapping[str, Level]
    #: Factors it refers to.
    uses: frozenset[str]
    #: `Workload` of crates/schema/src/workload.rs for a cell, seed 0; None for a stream of datagrams.
    _groups: Callable[[Mapping[str, Level]], list[wire.Group]] | None = field(default=None, repr=False)
    #: `DatagramStream` of the same file for a cell.
    _datagrams: Callable[[Mapping[str, Level]], wire.DatagramStream] | None = field(default=None, repr=False)
    #: True where its transactions all have a count or a time of their own, so that the load ends with it.
    ends_itself: bool = False
    #: The file it is from, for messages; empty where a profile carries it.
    where: str = ""

    @property
    def load(self) -> str:
        """The load that its connections carry: `Load` of crates/schema/src/options.rs."""
        if self._datagrams is not None:
            return "datagrams"
        return "stream" if self.name in {STREAM, STREAM_RECEIVE} else "operations"

    def document(self, factors: Mapping[str, Level]) -> wire.Workload | None:
        """The workload of a cell as JSON, its seed 0; None when it is a stream of datagrams.

        Raises:
            ProfileError: the factors make no sense in it.
        """
        return None if self._groups is None else {"name": self.name, "seed": 0, "groups": self._groups(factors)}

    def datagrams(self, factors: Mapping[str, Level]) -> wire.DatagramStream | None:
        """The stream of datagrams of a cell as JSON, or None."""
        return None if self._datagrams is None else self._datagrams(factors)


def ready(document: wire.Workload, *, about: str, metric: Metric, transport: str, name: str | None = None) -> Workload:
    """A workload whose JSON was made elsewhere, such as from a uperf profile; no factor changes it.

    Args:
        document: `Workload` of crates/schema/src/workload.rs.
        about: what it does, in a sentence.
        metric: what its result is counted in.
        transport: what carries it.
        name: as a level of the factor `workload`; the document's when absent.
    """
    groups = document["groups"]
    defaults: dict[str, Level] = {"transport": transport}
    return Workload(
        name=name or document["name"],
        about=about,
        metric=metric,
        transports=(transport,),
        defaults=defaults,
        uses=frozenset(),
        _groups=lambda _: groups,
        ends_itself=all(
            transaction["repeat"]["by"] != "trial" for group in groups for transaction in group["transactions"]
        ),
    )


def has_exchange(document: wire.Workload) -> bool:
    """True where the near side both sends and receives in a transaction (`is_exchange` in crates/load/src/engine)."""
    transactions = [transaction for group in document["groups"] for transaction in group["transactions"]]
    operations = [{step["operation"]["operation"] for step in transaction["steps"]} for transaction in transactions]
    return any("read" in names and names & {"write", "send_file"} for names in operations)


def least_seconds(document: wire.Workload) -> float:
    """The times that a workload gives, durations and pauses, in s; what it moves takes time in addition.

    Transactions of the same number begin together in all groups.
    """
    groups = (map(_transaction_seconds, group["transactions"]) for group in document["groups"])
    return sum(map(max, zip_longest(*groups, fillvalue=0.0)))


def _transaction_seconds(transaction: wire.Transaction) -> float:
    repeat = transaction["repeat"]
    if repeat["by"] == "duration":
        return repeat["duration_ns"] / 1e9
    if repeat["by"] == "trial":
        return 0.0
    pauses_ns = sum(
        step["count"] * step["operation"]["duration_ns"]
        for step in transaction["steps"]
        if step["operation"]["operation"] == "think"
    )
    return repeat["count"] * pauses_ns / 1e9
