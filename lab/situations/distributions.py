"""The distributions that paths and loads are drawn from. Causes and their doses are in `causes`.

All sizes, rates and times are log-uniform, because users meet 1 ms as often as 100 ms.
"""

from dataclasses import dataclass
from math import exp, log
from random import Random
from typing import TypeVar

from whyperf.profile import Factors

T = TypeVar("T")

NONE_CAUSES = (0.03, 0.16, 0.40, 0.41)
"""Frequencies of none, one, two and three injected causes. Of those with one, 54 % counted, with two 81 %, with three
86 % (first look at seed 20261129), and 8 % are void: so two of three that are drawn have a cause that counts. With
fewer causes it were 62 % (seed 20261203)."""

NO_PATH = 0.25
"""Frequency of both sides being on one veth pair, without an emulated path."""
RTT_MS = (0.2, 300.0)
RATE_BPS = (1e6, 2e9)
"""Rates of access and site links; the router of the testbed carries them (docs/how-to/paths.md)."""
MAX_BDP_BYTES = 4_000_000
"""Bytes that a connection fills within the warm-up: a larger product of rate and RTT is drawn again."""
QUEUE_BDP = (0.05, 4.0)
MIN_QUEUE_BYTES = 15_000
"""Ten packets: less is a cause of its own, the small queue."""
DISCIPLINES = (("drop_tail", 0.70), ("codel", 0.18), ("red", 0.12))
ECN = 0.3
"""Frequency with which CoDel and RED mark instead of dropping."""
ASYMMETRIC = 0.2
"""Frequency with which the direction of the ACKs has a rate of its own, 10 % to 50 % of the other."""
IPV6 = 0.25
CONTROLS = (("cubic", 0.6), ("bbr", 0.22), ("reno", 0.18))
CONNECTIONS = (1, 64)
ONE_CONNECTION = 0.5
"""Frequency of one connection; otherwise their number is log-uniform."""
RECEIVES = 0.3
"""Frequency of sending by the far side."""

SCHEDULES = (("staircase", 1 / 60), ("seven-regions", 0.005), ("forward-reverse", 0.005))
"""Flows that come and go, or go both ways, with the scale at which their shortest region is 0.5 s or 0.6 s."""

LAN_RATE_BPS = 1e10
"""Rate that a veth pair of this kind of machine carries, in order of magnitude: doses that depend on a rate use it."""
LAN_RTT_S = 1e-4


@dataclass(frozen=True)
class Load:
    """A kind of load: its share of all situations, the traits that causes ask for, the workload, and what it adds."""

    name: str
    weight: float
    traits: frozenset[str]
    factors: Factors
    transports: tuple[tuple[str, float], ...] = (("tcp", 1.0),)


def _load(name: str, weight: float, traits: str, factors: Factors, **more: tuple[tuple[str, float], ...]) -> Load:
    return Load(name, weight, frozenset(traits.split()), factors, **more)


LOADS = (
    _load(
        "stream",
        0.29,
        "bulk",
        {},
        transports=(("tcp", 0.78), ("tls", 0.08), ("mptcp", 0.05), ("quic", 0.05), ("srt", 0.02), ("udt", 0.02)),
    ),
    _load("reader", 0.08, "bulk reads", {"workload": "reading", "io_model": "blocking"}),
    _load("computing-reader", 0.05, "bulk reads computes", {"workload": "computing-reading", "io_model": "blocking"}),
    _load("writer", 0.07, "bulk writes", {"workload": "writing", "io_model": "blocking"}),
    _load("computing-writer", 0.04, "bulk writes computes", {"workload": "computing-writing", "io_model": "blocking"}),
    _load("requests", 0.11, "exchange thinks", {"workload": "asking", "io_model": "blocking", "no_delay": True}),
    _load("uploads", 0.06, "exchange thinks uploads", {"workload": "asking", "io_model": "blocking", "no_delay": True}),
    _load("two-writes", 0.05, "exchange pieces", {"workload": "asking-in-pieces", "no_delay": True}),
    _load("burst", 0.02, "exchange", {"workload": "burst"}),
    _load("credit", 0.04, "exchange credit", {"workload": "asking", "io_model": "blocking", "no_delay": True}),
    _load("kept-connections", 0.05, "exchange connects", {"workload": "rr"}),
    _load("new-connections", 0.06, "exchange reconnects", {"workload": "crr"}),
    _load("schedule", 0.03, "bulk scheduled", {"schedule": "staircase"}),
    _load("datagrams", 0.05, "datagrams", {"workload": "udp-stream"}, transports=(("udp", 1.0),)),
)
"""The shares add up to 1. `bulk`: payload without answers; `exchange`: somebody waits for an answer. The workloads that
are not shipped are in `workloads.toml`."""


def log_uniform(rng: Random, low: float, high: float) -> float:
    """A number between two bounds, each factor as likely as any other."""
    return exp(rng.uniform(log(low), log(high)))


def log_integer(rng: Random, low: float, high: float) -> int:
    """The same as a whole number of at least 1, with three digits: what a user would write."""
    number = log_uniform(rng, low, high)
    step = 10 ** max(0, int(log(number, 10)) - 2) if number >= 1 else 1
    return max(1, round(number / step) * step)


def one_of(rng: Random, choices: tuple[tuple[T, float], ...]) -> T:
    """One of several, by their weights."""
    return rng.choices([choice for choice, _ in choices], [weight for _, weight in choices])[0]
