"""Reports of the sockets on themselves: buffers, calls, and TCP_INFO; and those that different things hold.

Each population of connections is judged by itself. The mean of a connection that waits for its window and of one that
waits for its application is true of neither.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from whyperf.analyze.flow import FlowEnd, FlowTrial
from whyperf.analyze.measures.adapters import busiest_device, device_link_bps, model_link_bps
from whyperf.explain.explanation import Budget
from whyperf.explain.gather.read import ALWAYS, Active, first, least_trip_ns, read_columns
from whyperf.explain.host_facts import Sockets
from whyperf.explain.path_facts import Pacing, WindowFacts
from whyperf.explain.states import SenderState as S
from whyperf.explain.trial_facts import Population

Hosts = Mapping[str, Mapping[str, Any]]

PAIR = 2


def stated_link_bps(trial: FlowTrial, hosts: Hosts, factors: Mapping[str, object]) -> float | None:
    """The slower of the links of both hosts in bit/s; None where no device with a link states one.

    Args:
        trial: whose tables show which device carried the load.
        hosts: the record's facts of each host.
        factors: of the cell: the link between two hosts of the model is no path's, but their devices'.

    Raises:
        RecordError: a table cannot be read.
    """
    # What several hosts send or get goes over the far one's link together, and over each of theirs in part.
    ends = hosts if len(hosts) <= PAIR else {"far": hosts.get("far", {})}
    stated = [
        model_link_bps(facts, factors) or device_link_bps(carrying_device(trial, host, facts))
        for host, facts in ends.items()
    ]
    return min((rate for rate in stated if rate), default=None)


def carrying_device(trial: FlowTrial, host: str, facts: Mapping[str, Any]) -> Mapping[str, Any]:
    """The record's facts of the device that carried most of the packets; empty where it is not known.

    Raises:
        RecordError: the table cannot be read.
    """
    rows = read_columns(trial, "devices", host, ("device", "tx_packets", "rx_packets"))
    return {} if rows is None else busiest_device(rows, facts)


_COUNTS = (
    *("retransmitted_segments", "data_segments_out", "duplicate_sacks_count", "reordering_events_count"),
    "data_segments_in",
)
_FLOWS = (
    *("connection", "send_buffer_granted_bytes", "receive_buffer_granted_bytes", "window_clamp_bytes", "mss_bytes"),
    *("transport", "no_delay", "first_call_mono_ns", "last_call_mono_ns", "payload_bytes", "calls_count"),
)
_INFO = (
    *("connection", "sample_mono_ns", "final", "rtt_ns", "rtt_ns_min", "cwnd_segments"),
    *("send_mss_bytes", "unacked_segments", "peer_window_bytes", "not_sent_bytes", "pacing_rate_bytes_per_second"),
    *("application_limited", "bytes_acked"),
    *_COUNTS,
)
UNLIMITED = 2**63
"""Pacing rates from here on mean none (~0UL in the kernel)."""
_MIN_RTT_NS = 1
STEP_NS = 500_000_000
"""Some round trips of most paths: what fills a hole in the sequence is acknowledged all at once."""
MIN_STEPS = 10


def sockets(trial: FlowTrial, end: FlowEnd) -> Sockets:
    """The connections that moved payload, from the table `flows`."""
    flows = read_columns(trial, "flows", end.host, _FLOWS)
    if flows is None:
        return Sockets()
    flows = flows.filter(pl.col("payload_bytes") > 0)
    buffer = "send_buffer_granted_bytes" if end.role == "sender" else "receive_buffer_granted_bytes"
    no_delay = first(flows, pl.col("no_delay").all().cast(pl.Int8))
    # Without BPF nobody sees which options another program has set.
    is_unseen = trial.is_watched and end.evidence.got == "user"
    life = first(flows, (pl.col("last_call_mono_ns").max() - pl.col("first_call_mono_ns").min()).cast(pl.Int64))
    return Sockets(
        connections=flows.height,
        life_ns=int(life or 0),
        each_ns=_whole(first(flows, (pl.col("last_call_mono_ns") - pl.col("first_call_mono_ns")).median())),
        payload_bytes=int(first(flows, pl.col("payload_bytes").sum()) or 0),
        # Nobody counts the calls of another program.
        calls_count=None if trial.is_watched else _whole(first(flows, pl.col("calls_count").sum())),
        buffer_bytes=_whole(first(flows, pl.col(buffer).median())),
        mss_bytes=_whole(first(flows, pl.col("mss_bytes").median())),
        no_delay=None if no_delay is None or is_unseen or flows["no_delay"].null_count() else bool(no_delay),
        transport=_transport(flows),
    )


@dataclass(frozen=True)
class Sampled:
    """Figures of the sender's TCP_INFO. Counts are of all connections and of their whole lives.

    Attributes:
        windows: windows and round trips.
        data_segments: data segments sent, and `retransmitted_segments` of them more than once.
        duplicate_sacks: segments that the receiver reported to have come twice (RFC 2883); None on an old record.
        reordering_events: times that the sender saw reordering; None on an old record.
        data_segments_back: segments with data that came from the receiver.
    """

    windows: WindowFacts = field(default_factory=WindowFacts)
    data_segments: int | None = None
    retransmitted_segments: int | None = None
    duplicate_sacks: int | None = None
    reordering_events: int | None = None
    data_segments_back: int | None = None
    pacing: Pacing = field(default_factory=Pacing)

    @property
    def retransmitted_ratio(self) -> float | None:
        """Share of the data segments that was sent again."""
        again, data = self.retransmitted_segments, self.data_segments
        return None if again is None or not data else again / data

    @property
    def spurious_ratio(self) -> float | None:
        """Of what was sent again, the part that had not been lost."""
        again, twice = self.retransmitted_segments, self.duplicate_sacks
        return None if not again or twice is None else min(1.0, twice / again)


def sampled(trial: FlowTrial, sender: FlowEnd, active: Active = ALWAYS) -> Sampled:
    """Windows, round trips and retransmissions by TCP_INFO of the sender, while its connections are at work."""
    info = read_columns(trial, "tcp_info", sender.host, _INFO)
    info = None if info is None else active.rows(info, trial, sender)
    if info is None or info.is_empty():
        return Sampled()
    seen = info.filter(pl.col("rtt_ns") >= _MIN_RTT_NS)
    high, most = _delivered(trial, sender)
    info = info.with_columns(_segment_bytes())
    flight = pl.col("unacked_segments").cast(pl.Int64) * pl.col("segment_bytes")
    too_little = (pl.col("not_sent_bytes") == 0) | pl.col("application_limited").cast(pl.Boolean).fill_null(value=False)
    windows = WindowFacts(
        announced_bytes_max=_whole(first(info, pl.col("peer_window_bytes").max())),
        announced_bytes_median=_whole(first(info, pl.col("peer_window_bytes").median())),
        flight_bytes_max=_whole(first(info, flight.max())),
        flight_bytes_median=_whole(first(info, flight.median())),
        rtt_ns_min=least_trip_ns(seen),
        rtt_ns_median=_whole(first(seen, pl.col("rtt_ns").median())),
        cwnd_segments_median=_whole(first(info, pl.col("cwnd_segments").median())),
        delivered_bps_high=high,
        delivered_bps_max=most,
        application_limited_ratio=first(info.filter(~pl.col("final").fill_null(value=False)), too_little.mean()),
        window_scaling=_window_scaling(trial, sender),
    )
    counted = pl.col(*_COUNTS).cast(pl.Int64)
    # A watched connection may have been open before.
    last = info.group_by("connection").agg(counted.max() - counted.min() if trial.is_watched else counted.max())
    again, data, twice, reordered, back = (
        _whole(first(last, pl.when(pl.col(name).is_not_null().any()).then(pl.col(name).sum()))) for name in _COUNTS
    )
    return Sampled(windows, data, again, twice, reordered, back, pacing(info))


def _segment_bytes() -> pl.Expr:
    """Payload of a connection's segments: TCP counts what is in flight in segments, which small writes do not fill."""
    acked, sent, again = (
        pl.col(name).cast(pl.Int64).max().over("connection") - pl.col(name).cast(pl.Int64).min().over("connection")
        for name in ("bytes_acked", "data_segments_out", "retransmitted_segments")
    )
    mean = pl.when(sent > again).then(acked / (sent - again))
    return pl.min_horizontal(mean, "send_mss_bytes").alias("segment_bytes")


def _window_scaling(trial: FlowTrial, sender: FlowEnd) -> bool | None:
    """True where every connection has window scaling; None where the record does not say."""
    options = read_columns(trial, "tcp_options", sender.host, ("window_scaling",))
    agreed = first(options, pl.col("window_scaling").cast(pl.Boolean).all(ignore_nulls=False).cast(pl.Int8))
    return None if agreed is None else bool(agreed)


HIGHEST_QUANTILE = 0.95
"""Rates above it may be of the time before the limit was set."""


def pacing(rows: pl.DataFrame) -> Pacing:
    """The pacing rate in bit/s that most samples or segments have, and the part of them that have it."""
    # Of a record from before there was this column it has no type.
    rates = rows["pacing_rate_bytes_per_second"].cast(pl.UInt64).drop_nulls()
    rates = rates.filter(rates < UNLIMITED)
    if rates.is_empty():
        return Pacing()
    value, number = rates.value_counts(sort=True).row(0)
    if value < float(rates.quantile(HIGHEST_QUANTILE) or 0.0):
        # A limit is the highest rate; a rate that stands still below it is one of a pause.
        return Pacing(float(value) * 8, 0.0)
    return Pacing(float(value) * 8, float(number) / rows.height)


def _delivered(trial: FlowTrial, sender: FlowEnd) -> tuple[float | None, float | None]:
    """Rate acknowledged to all connections together in steps of half a second, in bit/s: the 90th percentile, and
    the most; None of a trial that is too short to have 10 % of its steps.
    """
    info = read_columns(trial, "tcp_info", sender.host, ("sample_mono_ns", "connection", "bytes_acked"))
    if info is None:
        return None, None
    step, acked = pl.col("sample_mono_ns").cast(pl.Int64) // STEP_NS, pl.col("bytes_acked").cast(pl.Int64)
    each = info.group_by(step.alias("step"), "connection").agg(acked.max()).sort("step")
    moved = each.select("step", pl.col("bytes_acked").diff().over("connection"))
    together = moved.drop_nulls().group_by("step").agg(pl.col("bytes_acked").sum() * 8e9 / STEP_NS)
    if together.height < MIN_STEPS:
        return None, None
    return first(together, pl.col("bytes_acked").quantile(0.9)), first(together, pl.col("bytes_acked").max())


def _transport(flows: pl.DataFrame) -> str | None:
    known = flows["transport"].drop_nulls()
    return None if known.is_empty() else str(known[0])


def _whole(value: float | None) -> int | None:
    return None if value is None else round(value)


_HOLDERS: Mapping[str, tuple[S, ...]] = {
    "application": (S.NOT_WRITING,),
    "window": (S.RECEIVE_WINDOW_BUFFER, S.RECEIVE_WINDOW_READER, S.ZERO_WINDOW, S.RECEIVE_WINDOW),
    "buffer": (S.SEND_BUFFER,),
    "nagle": (S.NAGLE,),
    "cpu": (S.WRITE_CALL, S.WAITS_FOR_CPU),
    "path": (*(S.CONGESTION_WINDOW, S.SLOW_START, S.LOSS_RECOVERY, S.RTO_WAIT, S.PACING, S.DEVICE, S.UNKNOWN),),
}
"""Who holds a sender, by its state."""
MIN_HELD_RATIO = 0.5
"""Part of the time that a population's holder has of it in the mean."""
MIN_DIFFERENCE = 0.3
"""Amount by which that holder has less of each other population; less may be how connections of one kind differ."""

Shares = Callable[[list[Budget], Active], Mapping[str, float]]


def populations(
    budgets: Sequence[Budget], active: Active, shares: Shares, windows: Callable[[Active], WindowFacts]
) -> tuple[Population, ...]:
    """The populations of a sender's connections, the largest first; nothing where all are alike.

    Args:
        budgets: the sender's.
        active: which connections, and when they are at work.
        shares: the states of budgets together.
        windows: windows and round trips of connections.
    """
    own = [budget for budget in budgets if active.has(budget.connection)]
    holders = {budget.connection: _holder(shares([budget], active)) for budget in own}
    if len(set(holders.values())) < 2:
        return ()
    together = {
        holder: shares([budget for budget in own if holders[budget.connection] == holder], active)
        for holder in set(holders.values())
    }
    if any(_held(found, holder) < MIN_HELD_RATIO for holder, found in together.items()) or any(
        _held(found, holder) > _held(together[holder], holder) - MIN_DIFFERENCE
        for holder in together
        for other, found in together.items()
        if other != holder
    ):
        return ()
    found = []
    for holder, number in Counter(holders.values()).most_common():
        members = frozenset(connection for connection, name in holders.items() if name == holder)
        found.append(Population(number, len(holders), together[holder], windows(Active(members, active.spans))))
    return tuple(found)


def _held(shares: Mapping[str, float], holder: str) -> float:
    return sum(shares.get(state.value, 0.0) for state in _HOLDERS[holder])


def _holder(shares: Mapping[str, float]) -> str:
    return max(_HOLDERS, key=lambda holder: _held(shares, holder))
