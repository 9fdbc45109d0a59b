"""Synthetic experiments whose flows come and go by the seven regions, a second for each minute."""

from collections.abc import Sequence
from pathlib import Path

from tests.unit.analyze import synthetic as made

ACTIVE = ((0.0, 16.0), (2.0, 14.0), (4.0, 12.0), (6.0, 10.0))
GOODPUTS = {"reno": 60e6, "cubic": 85e6, "fast": 80e6}


def trial(protocol: str, rtt_ms: float, cell: str, block: int = 1) -> made.Trial:
    return made.Trial(
        cell=cell,
        block=block,
        rate_bps=GOODPUTS[protocol] * (1 + block / 100) / (1 + rtt_ms / 400),
        connections=len(ACTIVE),
        duration_s=ACTIVE[0][1],
        warmup_s=0,
        cooldown_s=0,
        active=ACTIVE,
        retransmitted=7,
        factors={
            "schedule": "seven-regions",
            "congestion_control": protocol,
            "path_rtt_ms": rtt_ms,
            "path_rate_bps": 100_000_000,
        },
    )


def wan_transports(blocks: int = 1) -> list[made.Trial]:
    """Three congestion controls at two of the study's round-trip times."""
    levels = [(protocol, rtt_ms) for protocol in GOODPUTS for rtt_ms in (10.0, 180.0)]
    return [
        trial(protocol, rtt_ms, f"c{number:04d}", block)
        for block in range(1, blocks + 1)
        for number, (protocol, rtt_ms) in enumerate(levels, start=1)
    ]


def write(folder: Path, trials: Sequence[made.Trial]) -> Path:
    return made.write(folder, trials)
