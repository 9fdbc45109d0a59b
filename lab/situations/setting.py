"""The parts of a situation that are drawn before its causes: the path, the load, and what follows from both."""

from dataclasses import dataclass
from random import Random

from lab.situations.distributions import (
    ASYMMETRIC,
    CONNECTIONS,
    CONTROLS,
    DISCIPLINES,
    ECN,
    IPV6,
    LAN_RATE_BPS,
    LAN_RTT_S,
    LOADS,
    MAX_BDP_BYTES,
    MIN_QUEUE_BYTES,
    NO_PATH,
    ONE_CONNECTION,
    QUEUE_BDP,
    RATE_BPS,
    RECEIVES,
    RTT_MS,
    SCHEDULES,
    Load,
    log_integer,
    log_uniform,
    one_of,
)
from whyperf.disturb.orders import Side
from whyperf.profile import Factors

TCP = frozenset({"tcp", "tls", "mptcp"})
"""Transports whose windows, timers and losses are those of the kernel's TCP."""

ENDING_S = 2.0
"""For connections to open and to end what they have begun."""
SCHEDULE_DEADLINE_S = 8.0
"""The longest of the schedules takes 4.8 s."""
LONG_BYTES = 100_000
"""More than a window has without its scale: what a connection needs to fill its share of a long path."""


@dataclass(frozen=True)
class Setting:
    """A drawn path and load; `traits` are what causes ask for, `factors` the whole of it as a profile has it."""

    load: Load
    factors: Factors
    traits: frozenset[str]
    rate_bps: float
    rtt_s: float
    connections: int
    #: The sides that write and read the payload that counts.
    sender: Side
    receiver: Side

    @property
    def is_forward(self) -> bool:
        """True where the payload goes the way that the factors of a path call forward.

        With `direction` that way turns with the payload; a workload whose answers count has its payload backward.
        """
        return "forward" in self.traits

    @property
    def share_bytes(self) -> float:
        """A connection's part of what fills the path: bandwidth-delay product over the connections."""
        return max(2920.0, self.rate_bps * self.rtt_s / 8 / self.connections)


def draw_setting(rng: Random) -> Setting:
    """A path and a load."""
    load = one_of(rng, tuple((load, load.weight) for load in LOADS))
    transport = one_of(rng, load.transports)
    has_path = rng.random() >= NO_PATH
    factors: Factors = dict(load.factors)
    rate_bps, rtt_s = LAN_RATE_BPS, LAN_RTT_S
    if has_path:
        path, rate_bps, rtt_s = draw_path(rng)
        factors |= path
    if transport not in {"tcp", "udp"}:
        factors["transport"] = transport
    if transport in TCP:
        factors["congestion_control"] = one_of(rng, CONTROLS)
    if rng.random() < IPV6:
        factors["ip_version"] = 6
    connections = 1 if rng.random() < ONE_CONNECTION else log_integer(rng, *CONNECTIONS)
    if connections > 1:
        factors["connections"] = connections
    far_sends = _shape(rng, load, factors, rate_bps, rtt_s)
    is_forward = not far_sends or "direction" in factors
    if not is_forward:
        # The rate of the payload's way is the one that doses are a part of.
        rate_bps = float(factors.get("path_rate_back_bps", rate_bps))
        if has_path:
            # Stated, so that a dose of the way for ACKs leaves it.
            factors["path_rate_back_bps"] = round(rate_bps)
    is_tcp = transport in TCP
    traits = set(load.traits) | {transport}
    traits |= {"kernel_tcp"} if is_tcp else set()
    traits |= {"forward"} if is_forward else set()
    traits |= {"many"} if connections >= 4 else set()
    traits |= set() if "ip_version" in factors else {"ipv4"}
    traits |= traits_of_path(factors, rate_bps * rtt_s / 8 / connections)
    if has_path and rng.random() >= 0.5:
        # Super-segments pass a router whole; without offloads each packet can be lost or policed alone.
        factors |= {"tso": False, "gso": False, "gro": False}
    if "tso" in factors:
        traits.add("packets")
    factors |= {"deadline_s": SCHEDULE_DEADLINE_S} if "schedule" in factors else _phases(rtt_s if has_path else 0.0)
    sender: Side = "far" if far_sends else "near"
    receiver: Side = "near" if far_sends else "far"
    return Setting(load, factors, frozenset(traits), rate_bps, rtt_s, connections, sender, receiver)


def traits_of_path(factors: Factors, share_bytes: float) -> set[str]:
    """The traits that causes ask for of a path; `share_bytes` is what a connection has in flight where it is full."""
    if "path_rtt_ms" not in factors:
        return {"lan"}
    found = {"path"}
    found |= set() if "path_discipline" in factors else {"drop_tail"}
    return found | ({"long"} if share_bytes > LONG_BYTES else set())


def draw_path(rng: Random) -> tuple[Factors, float, float]:
    """The factors of a path, its rate in bit/s and its RTT in s."""
    while True:
        rtt_ms, rate = round(log_uniform(rng, *RTT_MS), 1), log_integer(rng, *RATE_BPS)
        bdp = rate * rtt_ms / 8000
        if bdp <= MAX_BDP_BYTES:
            break
    queue = max(MIN_QUEUE_BYTES, round(log_uniform(rng, *QUEUE_BDP) * bdp))
    factors: Factors = {"path_rtt_ms": rtt_ms, "path_rate_bps": rate, "path_queue": queue}
    discipline = one_of(rng, DISCIPLINES)
    if discipline != "drop_tail":
        factors["path_discipline"] = discipline
        if rng.random() < ECN:
            factors["path_ecn"] = True
    if rng.random() < ASYMMETRIC:
        factors["path_rate_back_bps"] = max(100_000, round(rate * log_uniform(rng, 0.1, 0.5)))
    return factors, float(rate), rtt_ms / 1000


def _shape(rng: Random, load: Load, factors: Factors, rate_bps: float, rtt_s: float) -> bool:
    """Sets the sizes and directions that the load has; returns whether the far side sends what counts."""
    connections = int(factors.get("connections", 1))
    bdp = rate_bps * rtt_s / 8 / connections
    match load.name:
        case "stream":
            if rng.random() < RECEIVES:
                factors["direction"] = "receive"
                return True
        case "reader" | "computing-reader":
            # The near side reads: the far side writes as fast as it is read.
            factors["response_size_bytes"] = log_integer(rng, 16_384, 262_144)
            return True
        case "writer" | "computing-writer":
            factors["request_size_bytes"] = log_integer(rng, 16_384, 262_144)
        case "requests":
            factors["request_size_bytes"] = log_integer(rng, 64, 4096)
            factors["response_size_bytes"] = log_integer(rng, 64, 1 << 20)
            return True
        case "uploads" | "credit":
            # Several windows of the path in each request, so that the path and not the answer is the limit.
            factors["request_size_bytes"] = min(16 << 20, round(max(65_536, 4 * bdp)))
            factors["response_size_bytes"] = 64
        case "two-writes":
            factors["request_size_bytes"] = log_integer(rng, 100, 1200)
            factors["response_size_bytes"] = log_integer(rng, 64, 8192)
        case "kept-connections" | "new-connections":
            factors["request_size_bytes"] = log_integer(rng, 64, 1024)
            factors["response_size_bytes"] = log_integer(rng, 64, 65_536)
            return True
        case "schedule":
            factors["schedule"], factors["schedule_scale"] = rng.choice(SCHEDULES)
        case "datagrams":
            factors["write_rate_bps"] = max(100_000, round(min(rate_bps, 1e9) * 0.8 / connections))
        case _:
            pass
    return False


def _phases(rtt_s: float) -> Factors:
    """A warm-up of 12 round trips: slow start fills 4 MB from ten segments in nine.

    What does not end by itself is cut soon after the measurement, and what it moved until then counts.
    """
    warmup_s, duration_s = round(0.3 + 12 * rtt_s, 1), round(max(0.8, 4 * rtt_s), 1)
    return {"warmup_s": warmup_s, "duration_s": duration_s, "deadline_s": round(warmup_s + duration_s + ENDING_S, 1)}
