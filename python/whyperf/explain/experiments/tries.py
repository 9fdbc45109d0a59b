"""The experiments tried for a second: the factors that each sets, and the causes whose limit it takes away.

An experiment that a user may keep is a remedy. The others only separate causes: they show that something in a
connection limits, and not what.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from whyperf.explain.causes import Cause
from whyperf.explain.changes.commands import OFFLOADS
from whyperf.explain.experiments.changing import (
    LARGE_BYTES,
    Changing,
    FirstRate,
    Levels,
    as_datagrams,
    at_least,
    constant,
    fast_way_back,
    fast_way_of_acks,
    faster_path,
    fewer,
    half_buffer,
    half_the_load,
    kept_open,
    kernels_buffer,
    large_segments,
    larger_queue,
    longer_path,
    merged_datagrams,
    more_connections,
    no_rate,
    other_control,
    other_direction,
    outstanding,
    own_cpus,
    paced,
    paced_above,
    set_buffer,
    set_receive_buffer,
    smaller_writes,
    usual_reads,
    where_set,
)
from whyperf.explain.experiments.goals import Kind
from whyperf.explain.experiments.load_settings import pauses_of, way_back_of
from whyperf.explain.experiments.outcomes import RAISED_BY_MORE, RAISED_ELSE, RAISED_TOGETHER
from whyperf.explain.explanation import Verdict
from whyperf.explain.setup import Setup
from whyperf.plan import LOCAL, Plan
from whyperf.profile import BY_NAME

_LOSSES = (Cause.RANDOM_LOSS, Cause.BURST_LOSS, Cause.PATH_LOSS)
_PER_CONNECTION = (
    *(Cause.RECEIVE_BUFFER, Cause.SEND_BUFFER, Cause.WINDOW_SCALING, Cause.ROUND_TRIP, Cause.PACING_RATE),
    *(Cause.WRITE_WINDOW_MISMATCH, Cause.NAGLE_DELAYED_ACK, Cause.DELAYED_ACK, Cause.SMALL_QUEUE, Cause.REORDERING),
    *(Cause.ACK_PATH, Cause.ACK_THINNING, Cause.SLOW_WRITER, Cause.SLOW_READER, Cause.THINK_TIME, Cause.ASKED_RATE),
    *(Cause.SLOW_START, *_LOSSES),
)
"""The causes that hold up each connection by itself, so that four carry more than one."""
_OF_TCP = (
    *(Cause.RECEIVE_BUFFER, Cause.SEND_BUFFER, Cause.WINDOW_SCALING, Cause.ROUND_TRIP, Cause.PACING_RATE),
    *(Cause.WRITE_WINDOW_MISMATCH, Cause.REORDERING, Cause.ACK_PATH, Cause.ACK_THINNING, Cause.SLOW_START, *_LOSSES),
)
"""The causes that hold up TCP on a path that carries more."""
_SHARED = (
    *(Cause.CAPACITY, Cause.SENDER_CPU, Cause.RECEIVER_CPU, Cause.SHARED_CPU, Cause.OTHER_LOAD, Cause.CPU_QUOTA),
    *(Cause.BOTTLENECK, Cause.SHARED_BOTTLENECK, Cause.LOCAL_QUEUE, Cause.MANY_CONNECTIONS, Cause.ASKED_RATE),
    *(Cause.PACKET_FILTERS, Cause.OTHER_BPF, Cause.CALL_CHECKS, Cause.SOFTWARE_CHECKSUMS, Cause.OFFLOADS_OFF),
    *(Cause.LOCK_CONTENTION, Cause.MITIGATIONS, Cause.MEMORY_PRESSURE),
)
"""The causes in what requests use one after the other, so that of fewer each waits less."""
_IN_PART = (
    *(Cause.PAUSE, Cause.CPU_QUOTA, Cause.OTHER_LOAD, Cause.THINK_TIME, Cause.SLOW_READER, Cause.SLOW_WRITER),
    *(Cause.SLOW_START, Cause.SEND_BUFFER, Cause.LOCAL_QUEUE, *_LOSSES),
)
"""The causes that hold up a load for a part of the time only, so that the path limits it in the rest."""
_OF_DIRECTION = (
    *(Cause.RECEIVE_BUFFER, Cause.SEND_BUFFER, Cause.WINDOW_SCALING, Cause.SENDER_CPU, Cause.RECEIVER_CPU),
    *(Cause.CPU_QUOTA, Cause.OTHER_LOAD, Cause.PAUSE, Cause.SLOW_READER, Cause.SLOW_WRITER, Cause.LOCAL_QUEUE),
    *(Cause.BOTTLENECK, Cause.SHARED_BOTTLENECK, Cause.POLICER, Cause.SMALL_QUEUE, Cause.OFFLOADS_OFF, *_LOSSES),
)
"""The causes of one side, or of one way of the path, so that the other way may carry more."""
_POLL_US = 50
"""The recommended net.core.busy_read (Documentation/admin-guide/sysctl/net.rst)."""


@dataclass(frozen=True)
class Try:
    """An experiment.

    Attributes:
        name: as the record and `--json` have it.
        relieves: the causes whose limit it takes away, the one that it is made for first.
        changing: the factors that it sets; none where there is nothing to change.
        is_remedy: whether it undoes these causes and nothing else, so that a higher rate shows one of them.
        is_joined: whether it is made with all remedies at once: what can do harm is not.
        raises_else: how often it raises the rate where another cause limits.
        may_raise: causes where it may raise the rate or not (`outcomes.RAISED_IN_PART`).
        pace: the part of the rate at which it is paced, where losses and delays show what limits (beliefs.py).
        halves: causes whose limit it makes half as high, so that the rate falls as much where one of them limits.
        cost: how long a trial of it takes, as a multiple of others.
        only_for: the kind of goal that it can be of help for; None for each.
        asks_more: whether it may load the path with more than the load itself asks for.
        if_turned: what it relieves where the payload goes the path's way back; the same as else where there is nothing.
        first: the cause of `relieves` that it is made for with this load; None where the load does not say.
    """

    name: str
    relieves: tuple[Cause, ...]
    changing: Changing
    is_remedy: bool = True
    is_joined: bool = True
    raises_else: float = RAISED_ELSE
    may_raise: tuple[Cause, ...] = ()
    pace: float | None = None
    halves: tuple[Cause, ...] = ()
    cost: float = 1.0
    only_for: Kind | None = None
    asks_more: bool = False
    if_turned: tuple[Cause, ...] = ()
    first: Callable[[Setup, bool], Cause | None] = lambda _, __: None


@dataclass(frozen=True)
class Planned:
    """An experiment of a ladder, with its factors; `parts` are the names of those that it makes together.

    `takes_back` says that it undoes a setting that somebody chose, and `cost` how long a trial takes next to others.
    """

    name: str
    factors: Levels
    relieves: tuple[Cause, ...]
    is_remedy: bool = True
    parts: tuple[str, ...] = field(default=())
    raises_else: float = RAISED_ELSE
    may_raise: tuple[Cause, ...] = ()
    pace: float | None = None
    halves: tuple[Cause, ...] = ()
    takes_back: bool = False
    cost: float = 1.0

    @property
    def is_slower(self) -> bool:
        """True if it shows by losses and delays, at a pace below the rate, what limits (beliefs.py)."""
        return self.pace is not None

    @property
    def is_of_path(self) -> bool:
        """True if it changes what only the embedded testbed has in its hands: the path, and its hosts' settings."""
        return any(name in BY_NAME and BY_NAME[name].testbed for name in self.factors)


def planned(setup: Setup, seen: FirstRate, kind: Kind = "rate") -> list[Planned]:
    """The experiments for a kind of goal that change something here, the remedies first; behind them what makes several
    at once.
    """
    single: list[Planned] = []
    for each in TRIES:
        if each.only_for not in {None, kind} or (each.asks_more and seen.is_spared):
            continue
        factors = setup.possible(each.changing(setup, seen))
        if factors and all(factors != other.factors for other in single):
            relieves = (each.if_turned if seen.is_turned else ()) or each.relieves
            if (first := each.first(setup, seen.is_turned)) is not None:
                relieves = (first, *(cause for cause in relieves if cause is not first))
            made = Planned(
                each.name, factors, relieves, each.is_remedy, pace=each.pace, halves=each.halves, cost=each.cost
            )
            chosen = any(setup.level(name) != BY_NAME[name].default for name in factors)
            single.append(replace(made, raises_else=each.raises_else, may_raise=each.may_raise, takes_back=chosen))
    joined = {each.name for each in TRIES if each.is_remedy and each.is_joined}
    remedies = [each for each in single if each.name in joined]
    return single + together(remedies, lambda factors: setup.possible(factors) == factors)


def spared(setup: Setup, seen: FirstRate, kind: Kind = "rate") -> list[str]:
    """Names of the experiments that are left out because others may use the path."""
    if not seen.is_spared:
        return []
    made = {each.name for each in planned(setup, seen, kind)}
    allowed = planned(setup, replace(seen, allows_harm=True), kind)
    return [each.name for each in allowed if not each.parts and each.name not in made]


def making(tries: Sequence[Planned], verdict: Verdict) -> list[Planned]:
    """The experiments of `tries` that make a verdict's change, each alone; the change itself where there is none."""
    wanted = {} if verdict.change is None else verdict.change.factors
    found = [each for each in tries if not each.parts and wanted.items() <= each.factors.items()]
    return found or [Planned(CHANGE, wanted, (verdict.cause,))]


CHANGE = "change"
"""The name of the change of a verdict for which there is no experiment."""


UNDOES_CAUSE = frozenset({"no-asked-rate", "no-pauses", "path-with-queue", "path-back"})
"""Remedies that undo the setting that the first of their causes is. They name it whatever the evidence says: a writer
at an asked rate looks slow, a reader that pauses looks like one that waits, a small queue loses bursts, and a slow way
back delays ACKs as well as answers."""
MORE_REQUESTS, AFTER_REST = "more-requests", "after-a-rest"
STARTS_FASTER = 0.15
"""The share of starts that are faster than the time after them where no bucket was full: before the first loss, or with
an empty queue. An assumption."""
REST_S, REST_COST = 2.0, 3.0
"""The time in which a bucket of tokens fills to what it lets through at its rate in as long; and how long such a trial
takes next to one without, of 0.4 s to 1 s and what surrounds it."""
TOGETHER, WITHOUT, THIRD = "all", "all-but-", "third-"
"""Names of experiments that make several: all remedies, all but one or some, and a part of them."""
THIRDS = 3
"""Parts that fit one block (ladder.AT_ONCE), so that a block narrows the remedies down to a part."""


def chosen(tries: Sequence[Planned]) -> frozenset[Cause]:
    """The causes that the load's own settings are: where more requests can be under way, each waits for an answer."""
    return frozenset({Cause.ROUND_TRIP} if any(each.name == MORE_REQUESTS for each in tries) else ())


def together(remedies: Sequence[Planned], is_possible: Callable[[Levels], bool]) -> list[Planned]:
    """All remedies at once, all but a third of them, and all but each: what is missing there shows which matter, also
    where it takes two of them.

    Remedies of one limit stand next to each other, so that a third has both. Of fewer than two in each, a third would
    be one remedy.
    """
    if len(remedies) < 2:
        return []
    made = [_joined(TOGETHER, remedies)]
    if len(remedies) >= 2 * THIRDS:
        ends = [round(number * len(remedies) / THIRDS) for number in range(THIRDS + 1)]
        made += [
            _all_but(f"{THIRD}{number + 1}", remedies, remedies[start:end])
            for number, (start, end) in enumerate(pairwise(ends))
        ]
    if len(remedies) > 2:
        made += [_all_but(left_out.name, remedies, [left_out]) for left_out in remedies]
    return [each for each in made if is_possible(each.factors)]


def _all_but(name: str, remedies: Sequence[Planned], left_out: Sequence[Planned]) -> Planned:
    return _joined(f"{WITHOUT}{name}", [each for each in remedies if each not in left_out])


def _joined(name: str, parts: Sequence[Planned]) -> Planned:
    factors = {factor: level for part in parts for factor, level in part.factors.items()}
    relieves = tuple(dict.fromkeys(cause for part in parts for cause in part.relieves))
    parted = tuple(part.name for part in parts)
    return Planned(name, factors, relieves, parts=parted, raises_else=RAISED_TOGETHER)


def is_foreign(plan: Plan) -> bool:
    """True if others may use the path of a plan: it is neither the embedded testbed nor the loopback or the model."""
    return plan.testbed.kind == "network" and plan.target != LOCAL


TRIES: tuple[Try, ...] = (
    Try("receive-window", (Cause.RECEIVE_BUFFER, Cause.WRITE_WINDOW_MISMATCH), kernels_buffer("receive_buffer_bytes")),
    Try("send-buffer", (Cause.SEND_BUFFER, Cause.WRITE_WINDOW_MISMATCH), kernels_buffer("send_buffer_bytes")),
    Try(
        "set-receive-buffer",
        (Cause.RECEIVE_BUFFER, Cause.WRITE_WINDOW_MISMATCH),
        set_receive_buffer,
        is_joined=False,
    ),
    Try("set-send-buffer", (Cause.SEND_BUFFER,), set_buffer("send_buffer_bytes", "w", "near"), is_joined=False),
    Try("larger-writes", (Cause.TINY_WRITES, Cause.SENDER_CPU), at_least("write_size_bytes", LARGE_BYTES)),
    Try("usual-reads", (Cause.READ_SIZE, Cause.RECEIVER_CPU), usual_reads),
    Try(
        "no-pauses",
        (Cause.THINK_TIME, Cause.SLOW_WRITER, Cause.SLOW_READER, Cause.SENDER_CPU, Cause.RECEIVER_CPU),
        where_set("think_us", 0),
        first=pauses_of,
    ),
    Try("no-asked-rate", (Cause.ASKED_RATE, Cause.SLOW_WRITER), no_rate, only_for="rate", asks_more=True),
    Try("no-delay", (Cause.NAGLE_DELAYED_ACK, Cause.DELAYED_ACK), constant(no_delay=True, cork=False)),
    Try("quick-ack", (Cause.DELAYED_ACK, Cause.NAGLE_DELAYED_ACK), constant(quick_ack=True)),
    Try("delayed-ack", (Cause.QUICK_ACK,), where_set("quick_ack", level=False)),
    Try("no-pacing", (Cause.PACING_RATE,), where_set("pacing_rate_bps"), asks_more=True),
    Try("usual-segments", (Cause.SMALL_MTU,), large_segments),
    Try("offloads", (Cause.OFFLOADS_OFF,), constant(**dict.fromkeys(OFFLOADS, True))),
    Try("own-cpus", (Cause.SHARED_CPU, Cause.SENDER_CPU, Cause.RECEIVER_CPU), own_cpus),
    Try("free-cpus", (Cause.SHARED_CPU, Cause.OTHER_LOAD), constant(near_cpus="auto", far_cpus="auto")),
    Try("fewer-connections", (Cause.MANY_CONNECTIONS,), fewer),
    Try("kept-connections", (Cause.CONNECTION_SETUP, Cause.SLOW_START), kept_open),
    Try("longer-transfer", (Cause.SLOW_START,), where_set("transfer_bytes")),
    Try(
        "merged-datagrams",
        (Cause.TINY_WRITES, Cause.RECEIVER_LOSS),
        merged_datagrams,
    ),
    Try("no-firewall-rules", (Cause.PACKET_FILTERS,), where_set("firewall_rules", 0)),
    Try("path-without-loss", _LOSSES, constant(path_loss=0.0), if_turned=(Cause.ACK_PATH, *_LOSSES)),
    Try(
        "path-with-queue",
        (Cause.SMALL_QUEUE, Cause.BURST_LOSS),
        larger_queue,
    ),
    Try(
        "path-with-codel",
        (Cause.BOTTLENECK, Cause.SHARED_BOTTLENECK),
        constant(path_discipline="codel"),
        only_for="latency",
    ),
    Try(
        "path-alone",
        (Cause.SHARED_BOTTLENECK,),
        constant(path_cross_rate_bps=0, path_cross_amplitude_bps=0),
    ),
    Try(
        "path-in-order",
        (Cause.REORDERING,),
        constant(path_reorder=0.0, path_jitter_us=0, path_duplicate=0.0),
    ),
    Try("path-with-acks", (Cause.ACK_THINNING,), constant(path_ack_thinning=1)),
    Try(
        "path-back",
        (Cause.ACK_PATH,),
        fast_way_back,
        if_turned=(Cause.BOTTLENECK, *_LOSSES),
        first=way_back_of,
    ),
    Try("path-forth", (Cause.ACK_PATH,), fast_way_of_acks),
    Try(
        "path-twice-as-fast",
        (Cause.BOTTLENECK, Cause.SHARED_BOTTLENECK, Cause.SMALL_QUEUE, Cause.ACK_PATH, Cause.ACK_THINNING),
        faster_path,
        is_remedy=False,
        may_raise=_IN_PART,
    ),
    Try("smaller-writes", (Cause.WRITE_WINDOW_MISMATCH,), smaller_writes, is_remedy=False),
    Try("paced-at-80-percent", (), paced(0.8), is_remedy=False, pace=0.8, only_for="rate"),
    Try("paced-at-half", (), paced(0.5), is_remedy=False, pace=0.5, only_for="rate"),
    Try("paced-at-a-quarter", (), paced(0.25), is_remedy=False, pace=0.25, only_for="rate"),
    Try(
        "drained-queue",
        (Cause.BOTTLENECK, Cause.LOCAL_QUEUE, Cause.SMALL_QUEUE, Cause.POLICER),
        paced(0.8),
        is_remedy=False,
        only_for="latency",
    ),
    Try("half-the-load", _SHARED, half_the_load, is_remedy=False, only_for="latency"),
    Try("paced-at-twice", (Cause.SMALL_QUEUE, Cause.POLICER, Cause.BURST_LOSS), paced_above, is_remedy=False),
    Try(
        "other-control",
        (*_LOSSES, Cause.SMALL_QUEUE, Cause.REORDERING, Cause.ACK_THINNING, Cause.ACK_PATH),
        other_control,
        is_remedy=False,
        raises_else=RAISED_BY_MORE,
    ),
    Try(
        "four-times-the-connections",
        _PER_CONNECTION,
        more_connections,
        is_remedy=False,
        raises_else=RAISED_BY_MORE,
        only_for="rate",
    ),
    Try(
        "datagrams-at-twice",
        (*_OF_TCP, Cause.MEMORY_LIMIT),
        as_datagrams,
        is_remedy=False,
        # What TCP gets of a short queue, or next to others, is less than what such a path carries.
        may_raise=(Cause.LOCAL_QUEUE, Cause.SMALL_QUEUE, Cause.SHARED_BOTTLENECK),
        only_for="rate",
        asks_more=True,
    ),
    Try(
        MORE_REQUESTS,
        (Cause.ROUND_TRIP, Cause.DELAYED_ACK, Cause.THINK_TIME),
        outstanding,
        is_remedy=False,
        only_for="rate",
    ),
    Try(
        "half-receive-buffer",
        (),
        half_buffer("receive_buffer_bytes", "net.ipv4.tcp_rmem", "far"),
        is_remedy=False,
        halves=(Cause.RECEIVE_BUFFER, Cause.WINDOW_SCALING),
        only_for="rate",
    ),
    Try(
        "half-send-buffer",
        (),
        half_buffer("send_buffer_bytes", "net.ipv4.tcp_wmem", "near"),
        is_remedy=False,
        halves=(Cause.SEND_BUFFER,),
        only_for="rate",
    ),
    Try(
        "path-twice-as-long",
        (),
        longer_path,
        is_remedy=False,
        halves=(Cause.RECEIVE_BUFFER, Cause.SEND_BUFFER, Cause.WINDOW_SCALING, Cause.ROUND_TRIP),
        only_for="rate",
    ),
    Try(
        "other-direction",
        (),
        other_direction,
        is_remedy=False,
        may_raise=_OF_DIRECTION,
        only_for="rate",
        asks_more=True,
    ),
    Try(
        AFTER_REST,
        (),
        constant(rest_s=REST_S, warmup_s=0.0),
        is_remedy=False,
        may_raise=(Cause.POLICER, Cause.BOTTLENECK, Cause.LOCAL_QUEUE),
        raises_else=STARTS_FASTER,
        cost=REST_COST,
        only_for="rate",
    ),
    Try("busy-polling", (), constant(busy_poll_us=_POLL_US), is_remedy=False, may_raise=(Cause.ROUND_TRIP,)),
    Try("zero-copy", (Cause.SENDER_CPU, Cause.CAPACITY), constant(zero_copy=True), is_remedy=False),
    Try("no-receive-copy", (Cause.RECEIVER_CPU, Cause.CAPACITY), constant(truncate=True), is_remedy=False),
)
"""All experiments, by the order in which they are listed."""
