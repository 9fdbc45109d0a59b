"""The experiments tried for a second: the factors that each sets, and the causes whose limit it takes away.

An experiment that a user may keep is a remedy. The others only separate causes: they show that something in a
connection limits, and not what.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from whyperf.explain.causes import Cause
from whyperf.explain.changes.commands import DEFAULT, OFFLOADS, largest, setter_of_buffer
from whyperf.explain.experiments.goals import Kind
from whyperf.explain.experiments.load_settings import pauses_of
from whyperf.explain.experiments.outcomes import RAISED_BY_MORE, RAISED_ELSE, RAISED_TOGETHER
from whyperf.explain.explanation import Level, Verdict
from whyperf.explain.setup import Setup
from whyperf.plan import LOCAL, Plan
from whyperf.profile import BY_NAME

_LARGE_BYTES = 131_072
"""A write or read call of the usual load; the default (docs/reference/profiles.md)."""
_SEVERAL = 8
"""Requests under way at once; also the connections to which a path of others is put without being asked for."""
_USUAL_MTU_BYTES = 1500
"""Of Ethernet (IEEE 802.3, clause 3.2.7)."""

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
    *(Cause.SLOW_START, Cause.SEND_BUFFER, *_LOSSES),
)
"""The causes that hold up a load for a part of the time only, so that the path limits it in the rest."""


@dataclass(frozen=True)
class FirstRate:
    """The figures of the first look at the load, as far as experiments follow from them.

    Attributes:
        rate_bps: of all connections together; None where it is not known.
        loses: whether segments were lost.
        announced_bytes: the largest window that was announced; None where it is not known.
        is_turned: whether the payload goes the path's way back.
        is_foreign: whether others may use the path.
        allows_harm: whether the user lets experiments load a path of others with more.
    """

    rate_bps: float | None = None
    loses: bool = False
    announced_bytes: float | None = None
    is_turned: bool = False
    is_foreign: bool = False
    allows_harm: bool = False


Levels = Mapping[str, Level]
Changing = Callable[[Setup, FirstRate], Levels]


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
        is_slower: whether it shows by losses and delays, at a pace below the rate, what limits (beliefs.py).
        only_for: the kind of goal that it can be of help for; None for each.
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
    is_slower: bool = False
    only_for: Kind | None = None
    if_turned: tuple[Cause, ...] = ()
    first: Callable[[Setup, bool], Cause | None] = lambda _, __: None


@dataclass(frozen=True)
class Planned:
    """An experiment of a ladder, with its factors; `parts` are the names of those that it makes together.

    `takes_back` says that it undoes a setting that somebody chose.
    """

    name: str
    factors: Levels
    relieves: tuple[Cause, ...]
    is_remedy: bool = True
    parts: tuple[str, ...] = field(default=())
    raises_else: float = RAISED_ELSE
    may_raise: tuple[Cause, ...] = ()
    is_slower: bool = False
    takes_back: bool = False

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
        if each.only_for not in {None, kind}:
            continue
        factors = setup.possible(each.changing(setup, seen))
        if factors and all(factors != other.factors for other in single):
            relieves = (each.if_turned if seen.is_turned else ()) or each.relieves
            if (first := each.first(setup, seen.is_turned)) is not None:
                relieves = (first, *(cause for cause in relieves if cause is not first))
            made = Planned(each.name, factors, relieves, each.is_remedy, is_slower=each.is_slower)
            chosen = any(setup.level(name) != BY_NAME[name].default for name in factors)
            single.append(replace(made, raises_else=each.raises_else, may_raise=each.may_raise, takes_back=chosen))
    joined = {each.name for each in TRIES if each.is_remedy and each.is_joined}
    remedies = [each for each in single if each.name in joined]
    return single + together(remedies, lambda factors: setup.possible(factors) == factors)


def making(tries: Sequence[Planned], verdict: Verdict) -> list[Planned]:
    """The experiments of `tries` that make a verdict's change, each alone; the change itself where there is none."""
    wanted = {} if verdict.change is None else verdict.change.factors
    found = [each for each in tries if not each.parts and wanted.items() <= each.factors.items()]
    return found or [Planned(CHANGE, wanted, (verdict.cause,))]


CHANGE = "change"
"""The name of the change of a verdict for which there is no experiment."""


UNDOES_CAUSE = frozenset({"no-asked-rate", "no-pauses", "path-with-queue"})
"""Remedies that undo the setting that the first of their causes is. They name it whatever the evidence says: a writer
at an asked rate looks slow, a reader that pauses looks like one that waits, and a small queue loses bursts."""
TOGETHER, WITHOUT, THIRD = "all", "all-but-", "third-"
"""Names of experiments that make several: all remedies, all but one or some, and a part of them."""
THIRDS = 3
"""Parts that fit one block (ladder.AT_ONCE), so that a block narrows the remedies down to a part."""


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


def _constant(**levels: Level) -> Changing:
    return lambda _, __: levels


def _where_set(name: str, level: Level = DEFAULT) -> Changing:
    """The factor at that level, where the load asks for another one."""
    return lambda setup, _: {} if setup.level(name) == BY_NAME[name].default else {name: level}


def _at_least(name: str, level: int) -> Changing:
    def changing(setup: Setup, _: FirstRate) -> Levels:
        now = setup.level(name)
        return {name: level} if isinstance(now, int | float) and now < level else {}

    return changing


def _kernels_buffer(name: str) -> Changing:
    """The kernel's choice, where the load sets the buffer."""

    def changing(setup: Setup, _: FirstRate) -> Levels:
        factor = setter_of_buffer(name, setup)
        return {factor: DEFAULT} if factor else {}

    return changing


def _set_buffer(name: str, letter: str, host: str) -> Changing:
    """The size that setsockopt may ask for, where the kernel chooses the buffer and may not choose as much."""

    def changing(setup: Setup, _: FirstRate) -> Levels:
        facts = setup.hosts.get(host, {})
        asked, chosen = (largest(facts, of) for of in (f"net.core.{letter}mem_max", f"net.ipv4.tcp_{letter}mem"))
        is_set = setter_of_buffer(name, setup) is not None
        return {} if is_set or asked is None or chosen is None or 2 * asked <= chosen else {name: asked}

    return changing


def _set_receive_buffer(setup: Setup, seen: FirstRate) -> Levels:
    """The same of the receiving side, or where a smaller window was announced than such a buffer allows.

    A setting may be another one by now than the hosts had at first, so the window that was seen counts more.
    """
    asked = largest(setup.hosts.get("far", {}), "net.core.rmem_max")
    if asked is None or seen.announced_bytes is None or setter_of_buffer("receive_buffer_bytes", setup) is not None:
        return _set_buffer("receive_buffer_bytes", "r", "far")(setup, seen)
    # Half of a buffer is for bookkeeping, and setsockopt doubles what it is asked for (net/core/sock.c).
    return {"receive_buffer_bytes": asked} if seen.announced_bytes < asked else {}


def _smaller_writes(setup: Setup, _: FirstRate) -> Levels:
    now = setup.level("write_size_bytes")
    return {"write_size_bytes": _SMALL_BYTES} if isinstance(now, int) and now > _SMALL_BYTES else {}


_SMALL_BYTES = 16_384
"""A write that goes into a quarter of the window of 64 KB that hosts without window scaling have."""


def _reads(setup: Setup, _: FirstRate) -> Levels:
    return {} if setup.level("read_size_bytes") == _LARGE_BYTES else {"read_size_bytes": _LARGE_BYTES}


def _no_rate(setup: Setup, seen: FirstRate) -> Levels:
    """The load as fast as it gets; at a path of others only where the user allows it."""
    if seen.is_foreign and not seen.allows_harm:
        return {}
    offered = setup.level("offered_rate_per_s")
    if isinstance(offered, int | float) and not isinstance(offered, bool):
        return {"offered_rate_per_s": 2.0 * offered}
    rate = setup.level("write_rate_bps")
    if not isinstance(rate, int):
        return {}
    return {"write_rate_bps": 2 * rate if setup.level("workload") == "datagrams" else DEFAULT}


def _paced(setup: Setup, seen: FirstRate, times: float) -> Levels:
    """Each connection at so many times its present rate."""
    connections = setup.level("connections")
    if not seen.rate_bps or setup.level("transport") != "tcp" or not isinstance(connections, int):
        return {}
    if setup.level("pacing_rate_bps") != DEFAULT:
        return {}
    return {"pacing_rate_bps": max(_MIN_RATE_BPS, round(times * seen.rate_bps / connections))}


def _paced_below(setup: Setup, seen: FirstRate) -> Levels:
    return _paced(setup, seen, 0.8)


def _paced_above(setup: Setup, seen: FirstRate) -> Levels:
    """Nothing where no segment is lost: a pace prevents losses, and nothing else."""
    return _paced(setup, seen, 2.0) if seen.loses else {}


_MIN_RATE_BPS = 100_000
"""Less is a packet in 100 ms."""


def _datagrams(setup: Setup, seen: FirstRate) -> Levels:
    """Datagrams of UDP at twice the rate: what the path carries, whatever TCP does with it."""
    connections = setup.level("connections")
    if (seen.is_foreign and not seen.allows_harm) or not isinstance(connections, int):
        return {}
    if not seen.rate_bps or seen.rate_bps > _MAX_DATAGRAMS_BPS:
        return {}
    if setup.level("transport") != "tcp" or setup.level("workload") not in {"stream", "stream-receive"}:
        return {}
    rate = max(_MIN_RATE_BPS, round(2 * seen.rate_bps / connections))
    return {"workload": "udp-stream", "transport": "udp", "write_rate_bps": rate}


_MAX_DATAGRAMS_BPS = 1e9
"""A CPU sends 2.7 Gbit/s in datagrams (docs/background/performance.md)."""


def _control(setup: Setup, _: FirstRate) -> Levels:
    """A control that does not take losses for a full queue, and cubic where such a one is used."""
    wanted = "cubic" if str(setup.level("congestion_control")).startswith("bbr") else "bbr"
    known = [facts.get("congestion_controls", ()) for facts in setup.hosts.values()]
    return {"congestion_control": wanted} if known and all(wanted in each for each in known) else {}


def _connections(setup: Setup, seen: FirstRate) -> Levels:
    now = setup.level("connections")
    if not isinstance(now, int) or (seen.is_foreign and not seen.allows_harm and 4 * now > _SEVERAL):
        return {}
    return {"connections": 4 * now} if now <= _MANY else {}


_MANY = 16
"""More than four times as many take longer to open than to measure."""


def _fewer(setup: Setup, _: FirstRate) -> Levels:
    now = setup.level("connections")
    return {"connections": 4} if isinstance(now, int) and now > _MANY else {}


def _outstanding(setup: Setup, _: FirstRate) -> Levels:
    now = setup.level("outstanding")
    return {"outstanding": _SEVERAL * now} if isinstance(now, int) else {}


def _half(setup: Setup, _: FirstRate) -> Levels:
    """Half of what is asked for, of what is under way on each connection, or of the connections."""
    offered = setup.level("offered_rate_per_s")
    if isinstance(offered, int | float):
        return {"offered_rate_per_s": offered / 2}
    counts = {name: setup.level(name) for name in ("outstanding", "connections")}
    return next(({name: of // 2} for name, of in counts.items() if isinstance(of, int) and of > 1), {})


def _kept_open(setup: Setup, _: FirstRate) -> Levels:
    return {"workload": "rr"} if setup.level("workload") == "crr" else {}


def _own_cpus(setup: Setup, _: FirstRate) -> Levels:
    """The kernel's choice, where the load puts both sides on the same CPUs."""
    near, far = setup.level("near_cpus"), setup.level("far_cpus")
    return {"near_cpus": "auto", "far_cpus": "auto"} if near == far != "auto" else {}


def _faster_path(setup: Setup, seen: FirstRate) -> Levels:
    """The payload's direction twice as fast; both where one rate is that of both."""
    rate, back = setup.level("path_rate_bps"), setup.level("path_rate_back_bps")
    if seen.is_turned and isinstance(back, int):
        return {"path_rate_back_bps": 2 * back}
    return {"path_rate_bps": 2 * rate} if isinstance(rate, int) else {}


def _large_segments(setup: Setup, seen: FirstRate) -> Levels:
    if setup.level("mss_bytes") != DEFAULT:
        return {"mss_bytes": DEFAULT}
    return _at_least("mtu_bytes", _USUAL_MTU_BYTES)(setup, seen)


TRIES: tuple[Try, ...] = (
    Try("receive-window", (Cause.RECEIVE_BUFFER, Cause.WRITE_WINDOW_MISMATCH), _kernels_buffer("receive_buffer_bytes")),
    Try("send-buffer", (Cause.SEND_BUFFER, Cause.WRITE_WINDOW_MISMATCH), _kernels_buffer("send_buffer_bytes")),
    Try(
        "set-receive-buffer",
        (Cause.RECEIVE_BUFFER, Cause.WRITE_WINDOW_MISMATCH),
        _set_receive_buffer,
        is_joined=False,
    ),
    Try("set-send-buffer", (Cause.SEND_BUFFER,), _set_buffer("send_buffer_bytes", "w", "near"), is_joined=False),
    Try("larger-writes", (Cause.TINY_WRITES, Cause.SENDER_CPU), _at_least("write_size_bytes", _LARGE_BYTES)),
    Try("usual-reads", (Cause.READ_SIZE, Cause.RECEIVER_CPU), _reads),
    Try(
        "no-pauses",
        (Cause.THINK_TIME, Cause.SLOW_WRITER, Cause.SLOW_READER, Cause.SENDER_CPU, Cause.RECEIVER_CPU),
        _where_set("think_us", 0),
        first=pauses_of,
    ),
    Try("no-asked-rate", (Cause.ASKED_RATE, Cause.SLOW_WRITER), _no_rate, only_for="rate"),
    Try("no-delay", (Cause.NAGLE_DELAYED_ACK, Cause.DELAYED_ACK), _constant(no_delay=True, cork=False)),
    Try("quick-ack", (Cause.DELAYED_ACK, Cause.NAGLE_DELAYED_ACK), _constant(quick_ack=True)),
    Try("delayed-ack", (Cause.QUICK_ACK,), _where_set("quick_ack", level=False)),
    Try("no-pacing", (Cause.PACING_RATE,), _where_set("pacing_rate_bps")),
    Try("usual-segments", (Cause.SMALL_MTU,), _large_segments),
    Try("offloads", (Cause.OFFLOADS_OFF,), _constant(**dict.fromkeys(OFFLOADS, True))),
    Try("own-cpus", (Cause.SHARED_CPU, Cause.SENDER_CPU, Cause.RECEIVER_CPU), _own_cpus),
    Try("free-cpus", (Cause.SHARED_CPU, Cause.OTHER_LOAD), _constant(near_cpus="auto", far_cpus="auto")),
    Try("fewer-connections", (Cause.MANY_CONNECTIONS,), _fewer),
    Try("kept-connections", (Cause.CONNECTION_SETUP, Cause.SLOW_START), _kept_open),
    Try("longer-transfer", (Cause.SLOW_START,), _where_set("transfer_bytes")),
    Try(
        "merged-datagrams",
        (Cause.TINY_WRITES, Cause.RECEIVER_LOSS),
        _constant(datagram_merge=True, datagram_batch=16),
    ),
    Try("no-firewall-rules", (Cause.PACKET_FILTERS,), _where_set("firewall_rules", 0)),
    Try("path-without-loss", _LOSSES, _constant(path_loss=0.0), if_turned=(Cause.ACK_PATH,)),
    Try(
        "path-with-queue",
        (Cause.SMALL_QUEUE, Cause.BURST_LOSS),
        _constant(path_queue="bdp", path_discipline="drop_tail"),
    ),
    Try(
        "path-with-codel",
        (Cause.BOTTLENECK, Cause.SHARED_BOTTLENECK),
        _constant(path_discipline="codel"),
        only_for="latency",
    ),
    Try(
        "path-alone",
        (Cause.SHARED_BOTTLENECK,),
        _constant(path_cross_rate_bps=0, path_cross_amplitude_bps=0),
        if_turned=(Cause.ACK_PATH,),
    ),
    Try(
        "path-in-order",
        (Cause.REORDERING,),
        _constant(path_reorder=0.0, path_jitter_us=0, path_duplicate=0.0),
    ),
    Try("path-with-acks", (Cause.ACK_THINNING,), _constant(path_ack_thinning=1)),
    Try(
        "path-back",
        (Cause.ACK_PATH,),
        _constant(path_rate_back_bps="same", path_loss_back=0.0),
        if_turned=(Cause.BOTTLENECK, *_LOSSES),
    ),
    Try(
        "path-twice-as-fast",
        (Cause.BOTTLENECK, Cause.SHARED_BOTTLENECK, Cause.SMALL_QUEUE, Cause.ACK_PATH, Cause.ACK_THINNING),
        _faster_path,
        is_remedy=False,
        may_raise=_IN_PART,
    ),
    Try("smaller-writes", (Cause.WRITE_WINDOW_MISMATCH,), _smaller_writes, is_remedy=False),
    Try("paced-at-80-percent", (), _paced_below, is_remedy=False, is_slower=True, only_for="rate"),
    Try(
        "drained-queue",
        (Cause.BOTTLENECK, Cause.LOCAL_QUEUE, Cause.SMALL_QUEUE, Cause.POLICER),
        _paced_below,
        is_remedy=False,
        only_for="latency",
    ),
    Try("half-the-load", _SHARED, _half, is_remedy=False, only_for="latency"),
    Try("paced-at-twice", (Cause.SMALL_QUEUE, Cause.POLICER, Cause.BURST_LOSS), _paced_above, is_remedy=False),
    Try(
        "other-control",
        (*_LOSSES, Cause.SMALL_QUEUE, Cause.REORDERING, Cause.ACK_THINNING, Cause.ACK_PATH),
        _control,
        is_remedy=False,
        raises_else=RAISED_BY_MORE,
    ),
    Try(
        "four-times-the-connections",
        _PER_CONNECTION,
        _connections,
        is_remedy=False,
        raises_else=RAISED_BY_MORE,
        only_for="rate",
    ),
    Try(
        "datagrams-at-twice",
        (*_OF_TCP, Cause.MEMORY_LIMIT),
        _datagrams,
        is_remedy=False,
        # What TCP gets of a short queue, or next to others, is less than what such a path carries.
        may_raise=(Cause.LOCAL_QUEUE, Cause.SMALL_QUEUE, Cause.SHARED_BOTTLENECK),
        only_for="rate",
    ),
    Try(
        "more-requests",
        (Cause.ROUND_TRIP, Cause.DELAYED_ACK, Cause.THINK_TIME),
        _outstanding,
        is_remedy=False,
        only_for="rate",
    ),
    Try("zero-copy", (Cause.SENDER_CPU, Cause.CAPACITY), _constant(zero_copy=True), is_remedy=False),
    Try("no-receive-copy", (Cause.RECEIVER_CPU, Cause.CAPACITY), _constant(truncate=True), is_remedy=False),
)
"""All experiments, by the order in which they are listed."""
