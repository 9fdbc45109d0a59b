"""Tables of stages with planted costs: what analysis finds must be what was put into them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import polars as pl

from whyperf.analyze.stages import HostStages, StagesReport
from whyperf.analyze.stages.of_host import COLUMNS, prepared

EMPTY_PAIR_NS = 40
BLOCK_BYTES = 65_536
FIRST_SEQUENCE = 4_294_900_000
"""Wraps after 67 KB."""

COSTS: Mapping[str, tuple[float, float]] = {
    "call_entry": (180, 0),
    "copy_in": (90, 0.11),
    "tcp_out": (900, 0.004),
    "qdisc_out": (70, 0),
    "driver_out": (240, 0.001),
    "call_exit": (120, 0),
    "driver_in": (160, 0.002),
    "gro": (60, 0),
    "ip_in": (210, 0),
    "tcp_in": (420, 0.001),
    "wakeup": (300, 0),
    "copy_out": (110, 0.17),
}
"""CPU time of a stage each time, and for each byte, in ns."""
WAITS: Mapping[str, float] = {"qdisc_wait": 2_000, "softirq_wait": 900, "wakeup_wait": 4_000, "socket_wait": 1_500}
"""Time of a stage that waits, in ns."""
OUT = ("call_entry", "copy_in", "tcp_out", "qdisc_out", "qdisc_wait", "driver_out", "call_exit")
IN = ("softirq_wait", "driver_in", "gro", "ip_in", "tcp_in", "wakeup", "wakeup_wait", "copy_out", "call_exit")
BY_SOFTIRQ = frozenset({"softirq_wait", "driver_in", "gro", "ip_in", "tcp_in", "wakeup"})
PATH_NS = 700
HELD_NS = 350


@dataclass
class Planted:
    """Messages of these sizes, one after another; each is a packet of its own.

    `costs` and `waits` replace the usual ones; `delays` add time before a stage, by message; `left_out` are stages
    without rows; `jitter` is the relative spread of every time.
    """

    sizes: Sequence[int]
    costs: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    waits: Mapping[str, float] = field(default_factory=dict)
    extra_ns: Mapping[str, np.ndarray] = field(default_factory=dict)
    left_out: frozenset[str] = frozenset()
    jitter: float = 0.0
    probes: int = 2
    connection: int = 0
    clock_ns: int = 0
    seed: int = 0

    def host(self, role: str) -> HostStages:
        """What the sender or the receiver of the messages wrote, as analysis reads it."""
        report = StagesReport(block_bytes=BLOCK_BYTES, one_in=64, empty_pair_ns=EMPTY_PAIR_NS)
        side = "near" if role == "sender" else "far"
        table = self.table(role)
        return HostStages(side, role, prepared(table, report, self.clock_ns if role == "receiver" else 0), report)

    def table(self, role: str) -> pl.DataFrame:
        """The table `stages` of the host with this role."""
        rows = [row for row in self._rows() if row["direction"] == ("out" if role == "sender" else "in")]
        return pl.DataFrame(rows, schema=dict(COLUMNS))

    def _rows(self) -> list[dict[str, object]]:
        generator = np.random.default_rng(self.seed)
        costs, waits = {**COSTS, **self.costs}, {**WAITS, **self.waits}
        sequence, clock, rows = FIRST_SEQUENCE, 1_000_000, []
        for number, size in enumerate(self.sizes):
            for direction, stages in (("out", OUT), ("in", IN)):
                clock += PATH_NS if direction == "in" else 10_000
                for stage in stages:
                    clock += HELD_NS if stage == "tcp_out" else 0
                    if stage in waits:
                        wall, cpu, probes = waits[stage], 0.0, 0
                    else:
                        fixed, per_byte = costs[stage]
                        cpu = (fixed + per_byte * size) * (1 + self.jitter * generator.standard_normal())
                        probes = self.probes
                        wall = cpu
                    wall += float(self.extra_ns[stage][number]) if stage in self.extra_ns else 0.0
                    own = probes * EMPTY_PAIR_NS
                    if stage not in self.left_out:
                        rows.append(
                            {
                                "connection": self.connection,
                                "direction": direction,
                                "stage": stage,
                                "sequence": sequence % (1 << 32),
                                "payload_bytes": size,
                                "wire_segments": -(-size // 1448) if stage in {"tcp_out", "tcp_in"} else 0,
                                "start_mono_ns": round(clock) + (self.clock_ns if direction == "in" else 0),
                                "wall_ns": round(wall) + own,
                                "cpu_ns": round(cpu) + own,
                                "probes_count": probes,
                                "copied_bytes": size if stage in {"copy_in", "copy_out"} else 0,
                                "thread": 1,
                                "context": "net_rx" if stage in BY_SOFTIRQ else "process",
                                "retransmission": None,
                                "one_in_count": 64,
                                "cpu": 0,
                            }
                        )
                    clock += round(wall) + own
            sequence += size
        return rows
