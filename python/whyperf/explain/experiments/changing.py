"""The factors that experiments set, by what the load asks for and what the first look showed; none where there is
nothing to change.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from whyperf.explain.changes.commands import DEFAULT, largest, setter_of_buffer
from whyperf.explain.explanation import Level
from whyperf.explain.setup import Setup
from whyperf.profile import BY_NAME

LARGE_BYTES = 131_072
"""A write or read call of the usual load; the default (docs/reference/profiles.md)."""
_SEVERAL = 8
"""Requests under way at once; also the connections to which a path of others is put without being asked for."""
_USUAL_MTU_BYTES = 1500
"""Of Ethernet (IEEE 802.3, clause 3.2.7)."""


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

    @property
    def is_spared(self) -> bool:
        """True where the path is not to be loaded with more than the load itself asks for."""
        return self.is_foreign and not self.allows_harm


Levels = Mapping[str, Level]
Changing = Callable[[Setup, FirstRate], Levels]


def constant(**levels: Level) -> Changing:
    """The same factors for each load."""
    return lambda _, __: levels


def where_set(name: str, level: Level = DEFAULT) -> Changing:
    """The factor at that level, where the load asks for another one."""
    return lambda setup, _: {} if setup.level(name) == BY_NAME[name].default else {name: level}


def at_least(name: str, level: int) -> Changing:
    """The factor at that level, where the load has a lower one."""

    def changing(setup: Setup, _: FirstRate) -> Levels:
        now = setup.level(name)
        return {name: level} if isinstance(now, int | float) and now < level else {}

    return changing


def kernels_buffer(name: str) -> Changing:
    """The kernel's choice, where the load sets the buffer."""

    def changing(setup: Setup, _: FirstRate) -> Levels:
        factor = setter_of_buffer(name, setup)
        return {factor: DEFAULT} if factor else {}

    return changing


def set_buffer(name: str, letter: str, host: str) -> Changing:
    """The size that setsockopt may ask for, where the kernel chooses the buffer and may not choose as much."""

    def changing(setup: Setup, _: FirstRate) -> Levels:
        facts = setup.hosts.get(host, {})
        asked, chosen = (largest(facts, of) for of in (f"net.core.{letter}mem_max", f"net.ipv4.tcp_{letter}mem"))
        is_set = setter_of_buffer(name, setup) is not None
        return {} if is_set or asked is None or chosen is None or 2 * asked <= chosen else {name: asked}

    return changing


def set_receive_buffer(setup: Setup, seen: FirstRate) -> Levels:
    """The same of the receiving side, or where a smaller window was announced than such a buffer allows.

    A setting may be another one by now than the hosts had at first, so the window that was seen counts more.
    """
    asked = largest(setup.hosts.get("far", {}), "net.core.rmem_max")
    if asked is None or seen.announced_bytes is None or setter_of_buffer("receive_buffer_bytes", setup) is not None:
        return set_buffer("receive_buffer_bytes", "r", "far")(setup, seen)
    # Half of a buffer is for bookkeeping, and setsockopt doubles what it is asked for (net/core/sock.c).
    return {"receive_buffer_bytes": asked} if seen.announced_bytes < asked else {}


def half_buffer(name: str, sysctl: str, host: str) -> Changing:
    """Half of the buffer that the load sets, or of the largest one that the kernel may choose."""

    def changing(setup: Setup, seen: FirstRate) -> Levels:
        factor = setter_of_buffer(name, setup)
        if factor is not None:
            now = setup.level(factor)
            return {factor: now // 2} if isinstance(now, int) else {}
        most = largest(setup.hosts.get(host, {}), sysctl)
        if name == "receive_buffer_bytes" and seen.announced_bytes is not None:
            # Half of a buffer is for bookkeeping.
            most = round(2 * seen.announced_bytes)
        # setsockopt doubles what it is asked for (net/core/sock.c).
        return {} if most is None else {name: max(_MIN_BUFFER_BYTES, most // 4)}

    return changing


_MIN_BUFFER_BYTES = 2304
"""The kernel grants no smaller one (SOCK_MIN_RCVBUF, include/net/sock.h)."""


def longer_path(setup: Setup, _: FirstRate) -> Levels:
    """Both ways as long again."""
    whole, back = setup.level("path_rtt_ms"), setup.level("path_delay_back_ms")
    twice = {"path_rtt_ms": 2 * whole} if isinstance(whole, int | float) else {}
    return twice | ({"path_delay_back_ms": 2 * back} if twice and isinstance(back, int | float) else {})


def other_direction(setup: Setup, _: FirstRate) -> Levels:
    """The payload the other way."""
    other = {"send": "receive", "receive": "send"}.get(str(setup.level("direction")))
    return {} if other is None else {"direction": other}


def smaller_writes(setup: Setup, _: FirstRate) -> Levels:
    """Writes that go into a small window."""
    now = setup.level("write_size_bytes")
    return {"write_size_bytes": _SMALL_BYTES} if isinstance(now, int) and now > _SMALL_BYTES else {}


_SMALL_BYTES = 16_384
"""A write that goes into a quarter of the window of 64 KB that hosts without window scaling have."""


def usual_reads(setup: Setup, _: FirstRate) -> Levels:
    """Reads of the usual size."""
    return {} if setup.level("read_size_bytes") == LARGE_BYTES else {"read_size_bytes": LARGE_BYTES}


def no_rate(setup: Setup, _: FirstRate) -> Levels:
    """The load as fast as it gets."""
    offered = setup.level("offered_rate_per_s")
    if isinstance(offered, int | float) and not isinstance(offered, bool):
        return {"offered_rate_per_s": 2.0 * offered}
    rate = setup.level("write_rate_bps")
    if not isinstance(rate, int):
        return {}
    return {"write_rate_bps": 2 * rate if setup.level("workload") == "datagrams" else DEFAULT}


def paced(times: float) -> Changing:
    """Each connection at so many times its present rate."""

    def changing(setup: Setup, seen: FirstRate) -> Levels:
        connections = setup.level("connections")
        if not seen.rate_bps or setup.level("transport") != "tcp" or not isinstance(connections, int):
            return {}
        if setup.level("pacing_rate_bps") != DEFAULT:
            return {}
        return {"pacing_rate_bps": max(_MIN_RATE_BPS, round(times * seen.rate_bps / connections))}

    return changing


def paced_above(setup: Setup, seen: FirstRate) -> Levels:
    """Nothing where no segment is lost: a pace prevents losses, and nothing else."""
    return paced(2.0)(setup, seen) if seen.loses else {}


_MIN_RATE_BPS = 100_000
"""Less is a packet in 100 ms."""


def as_datagrams(setup: Setup, seen: FirstRate) -> Levels:
    """Datagrams of UDP at twice the rate: what the path carries, whatever TCP does with it."""
    connections = setup.level("connections")
    if not isinstance(connections, int) or not seen.rate_bps or seen.rate_bps > _MAX_DATAGRAMS_BPS:
        return {}
    if setup.level("transport") != "tcp" or setup.level("workload") not in {"stream", "stream-receive"}:
        return {}
    rate = max(_MIN_RATE_BPS, round(2 * seen.rate_bps / connections))
    return {"workload": "udp-stream", "transport": "udp", "write_rate_bps": rate}


_MAX_DATAGRAMS_BPS = 1e9
"""A CPU sends 2.7 Gbit/s in datagrams (docs/background/performance.md)."""


def other_control(setup: Setup, _: FirstRate) -> Levels:
    """A control that does not take losses for a full queue, and cubic where such a one is used."""
    wanted = "cubic" if str(setup.level("congestion_control")).startswith("bbr") else "bbr"
    known = [facts.get("congestion_controls", ()) for facts in setup.hosts.values()]
    return {"congestion_control": wanted} if known and all(wanted in each for each in known) else {}


def more_connections(setup: Setup, seen: FirstRate) -> Levels:
    """Four times as many; on a path that is spared a few, and not where somebody chose the rate of each."""
    now = setup.level("connections")
    if not isinstance(now, int) or now > _MANY:
        return {}
    has_rate = any(setup.level(name) != BY_NAME[name].default for name in ("write_rate_bps", "pacing_rate_bps"))
    if seen.is_spared and (has_rate or 4 * now > _SEVERAL):
        return {}
    return {"connections": 4 * now}


_MANY = 16
"""More than four times as many take longer to open than to measure."""


def fewer(setup: Setup, _: FirstRate) -> Levels:
    """As many as the CPUs of a small host serve, where there are many."""
    now = setup.level("connections")
    return {"connections": 4} if isinstance(now, int) and now > _MANY else {}


def outstanding(setup: Setup, _: FirstRate) -> Levels:
    """Several times as many requests under way."""
    now = setup.level("outstanding")
    return {"outstanding": _SEVERAL * now} if isinstance(now, int) else {}


def half_the_load(setup: Setup, _: FirstRate) -> Levels:
    """Half of what is asked for, of what is under way on each connection, or of the connections."""
    offered = setup.level("offered_rate_per_s")
    if isinstance(offered, int | float):
        return {"offered_rate_per_s": offered / 2}
    counts = {name: setup.level(name) for name in ("outstanding", "connections")}
    return next(({name: of // 2} for name, of in counts.items() if isinstance(of, int) and of > 1), {})


def kept_open(setup: Setup, _: FirstRate) -> Levels:
    """Requests on connections that stay open, where each has its own."""
    return {"workload": "rr"} if setup.level("workload") == "crr" else {}


def own_cpus(setup: Setup, _: FirstRate) -> Levels:
    """The kernel's choice, where the load puts both sides on the same CPUs."""
    near, far = setup.level("near_cpus"), setup.level("far_cpus")
    return {"near_cpus": "auto", "far_cpus": "auto"} if near == far != "auto" else {}


def faster_path(setup: Setup, seen: FirstRate) -> Levels:
    """The payload's direction twice as fast; both where one rate is that of both, or both carry payload."""
    rate, back = setup.level("path_rate_bps"), setup.level("path_rate_back_bps")
    faster: Levels = {"path_rate_back_bps": 2 * back} if isinstance(back, int) else {}
    if seen.is_turned and faster:
        return faster
    if not isinstance(rate, int):
        return {}
    return {"path_rate_bps": 2 * rate, **(faster if is_answered(setup) else {})}


MIN_ANSWER_BYTES = 4 * 66
"""Four times an ACK, with its headers of Ethernet, IPv4, and TCP with time stamps: a smaller answer takes about as much
of a path as ACKs do."""


def is_answered(setup: Setup) -> bool:
    """True where the far side answers with more than ACKs, so that both ways of the path carry payload."""
    size = setup.level("response_size_bytes")
    return isinstance(size, int) and size >= MIN_ANSWER_BYTES


def merged_datagrams(setup: Setup, _: FirstRate) -> Levels:
    """Datagrams handed over several at a time, where each fits a packet: the kernel splits none of these (udp(7))."""
    size, mtu = setup.level("datagram_size_bytes"), setup.level("mtu_bytes")
    headers = 48 if setup.level("ip_version") == 6 else 28
    if isinstance(size, int) and size + headers > (mtu if isinstance(mtu, int) else _USUAL_MTU_BYTES):
        return {}
    return {"datagram_merge": True, "datagram_batch": 16}


def larger_queue(setup: Setup, _: FirstRate) -> Levels:
    """A queue that holds what is under way on the path; where it does, one that holds the largest packet of a host."""
    drops = {"path_discipline": "drop_tail"}
    wanted = {"path_queue": "bdp"} if not setup.has("path_queue", "bdp") else {"path_queue": _LARGEST_PACKET_BYTES}
    return {**wanted, **drops}


_LARGEST_PACKET_BYTES = 65_536
"""The most that TCP hands down at once (GSO_LEGACY_MAX_SIZE, include/linux/netdevice.h): a shorter queue may lose a
part of it, whatever the path carries."""


def fast_way_back(setup: Setup, seen: FirstRate) -> Levels:
    """The way back without loss, and as fast as the other one; where it carries the payload, no slower than it was."""
    rate, back = setup.level("path_rate_bps"), setup.level("path_rate_back_bps")
    is_faster = isinstance(rate, int) and isinstance(back, int) and back > rate
    rate_back: Levels = {} if seen.is_turned and is_faster else {"path_rate_back_bps": "same"}
    return {"path_loss_back": 0.0, **rate_back}


def fast_way_of_acks(setup: Setup, seen: FirstRate) -> Levels:
    """The way forth as fast as the one back, where that carries the payload and is faster."""
    rate, back = setup.level("path_rate_bps"), setup.level("path_rate_back_bps")
    is_slower = isinstance(rate, int) and isinstance(back, int) and rate < back
    return {"path_rate_bps": back} if seen.is_turned and is_slower else {}


def large_segments(setup: Setup, seen: FirstRate) -> Levels:
    """The kernel's choice where the load sets the largest segment, else the usual MTU."""
    if setup.level("mss_bytes") != DEFAULT:
        return {"mss_bytes": DEFAULT}
    return at_least("mtu_bytes", _USUAL_MTU_BYTES)(setup, seen)
