"""Programs of others: how often each is drawn, what it can have injected, and what of it is the program's own limit."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from whyperf.explain.causes import Cause

PIECE_BYTES = 65_536
"""The amount that the Python program reads or writes at a time (lab/truth/watched/peer.py)."""


@dataclass(frozen=True)
class Served:
    """A pair of programs of a catalog.

    `traits` are what causes ask for (`lab.situations.distributions.Load`), `fill` what its commands have without a
    cause. `limits` are right to name where nothing that was injected counts, in addition to the capacity and the link.
    """

    name: str
    weight: float
    traits: frozenset[str]
    fill: Mapping[str, str] = field(default_factory=dict)
    client: tuple[str, ...] = ()
    server: tuple[str, ...] = ()
    limits: frozenset[str] = frozenset()


NO_WEB = {"listen": "", "serve": ""}
COMPUTES = frozenset({str(Cause.SENDER_CPU), str(Cause.RECEIVER_CPU)})
ASKS = frozenset({str(Cause.ROUND_TRIP)})

SERVED = (
    Served("iperf3", 0.20, frozenset({"bulk"})),
    Served("python", 0.16, frozenset({"bulk"})),
    Served(
        "python-requests",
        0.10,
        frozenset({"exchange"}),
        client=("--request", "32768"),
        server=("--request", "32768", "--no-delay"),
        limits=ASKS,
    ),
    Served("web", 0.14, frozenset({"bulk"}), NO_WEB),
    Served("web-h2", 0.08, frozenset({"bulk"}), NO_WEB),
    Served("haproxy", 0.08, frozenset({"bulk"}), NO_WEB),
    Served("redis-values", 0.07, frozenset({"exchange"}), {"clients": "4"}, limits=ASKS),
    Served("rsync", 0.06, frozenset({"bulk"}), limits=COMPUTES),
    Served(
        "ssh",
        0.06,
        frozenset({"bulk"}),
        {"cipher": "aes128-gcm@openssh.com", "mac": "hmac-sha2-512"},
        limits=COMPUTES | {str(Cause.ROUND_TRIP)},
    ),
    Served("postgresql", 0.05, frozenset({"bulk"}), {"reader": "cat"}, limits=COMPUTES | {str(Cause.SLOW_WRITER)}),
)
"""The shares add up to 1. ssh has a window of its own of 2 MB (channels.h of OpenSSH), so a long path limits it."""
