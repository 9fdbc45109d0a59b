"""The subjects of the comparison, and their order."""

import random
from dataclasses import dataclass
from typing import Literal

WHYPERF, IPERF3, IPERF2, NUTTCP, SOCKPERF, QPERF = "whyperf", "iperf3", "iperf2", "nuttcp", "sockperf", "qperf"
PEERS = (IPERF3, IPERF2, NUTTCP, SOCKPERF, QPERF)
TOOLS = (WHYPERF, *PEERS)

Workload = Literal["stream", "small", "rr", "crr", "udp"]
WORKLOADS: tuple[Workload, ...] = ("stream", "small", "rr", "crr", "udp")


@dataclass(frozen=True, order=True)
class Cell:
    """One setting that every tool is given.

    `stream`: writes of `size_bytes` in one direction. `small`: the same with Nagle off. `rr`: a request and a reply of
    that size, one outstanding, Nagle off. `crr`: the same on a new connection each time. `udp`: datagrams in one
    direction, as fast as the sender can.
    """

    workload: Workload
    connections: int
    size_bytes: int
    is_on_one_cpu: bool = False

    @property
    def name(self) -> str:
        """For people: `stream, 10 × 8 KB`."""
        size = f"{self.size_bytes // 1024} KB" if self.size_bytes % 1024 == 0 else f"{self.size_bytes} B"
        return f"{self.workload}, {self.connections} × {size}" + (", one CPU" if self.is_on_one_cpu else "")

    @property
    def counts_transactions(self) -> bool:
        """True where the figure is transactions a second; otherwise it is goodput in bit/s."""
        return self.workload in {"rr", "crr"}


CELLS = (
    *(Cell("stream", connections, kbytes * 1024) for connections in (1, 10) for kbytes in (1, 8, 128)),
    *(Cell("stream", connections, 131_072) for connections in (100, 1000)),
    *(Cell("small", connections, 64) for connections in (1, 100, 1000)),
    Cell("rr", 1, 64, is_on_one_cpu=True),
    *(Cell("rr", connections, 64) for connections in (1, 100, 1000)),
    *(Cell("crr", connections, 64) for connections in (1, 100, 1000)),
    *(Cell("udp", connections, 1400) for connections in (1, 100)),
)


@dataclass(frozen=True)
class Setting:
    """The settings that are the same for all tools and cells."""

    congestion_control: str
    window_bytes: int | None
    """Socket buffers asked for on both sides; none leaves them to the kernel."""
    warmup_s: int
    """Whole seconds, the only kind that iperf3 can omit."""
    measure_s: int
    sender_cpu: int = 0
    receiver_cpu: int = 1

    @property
    def load_s(self) -> int:
        """The time that a tool sends in all."""
        return self.warmup_s + self.measure_s

    def far_cpu(self, cell: Cell) -> int:
        """CPU of the far side's processes."""
        return self.sender_cpu if cell.is_on_one_cpu else self.receiver_cpu


@dataclass(frozen=True)
class ToolRun:
    """One run of one tool."""

    pair: int
    cell: Cell
    tool: str


def can(tool: str, cell: Cell) -> bool:
    """True where a tool can do what a cell asks."""
    match tool:
        case "iperf3":
            # It refuses more than 128 streams.
            return cell.workload in {"stream", "small", "udp"} and cell.connections <= 128
        case "iperf2":
            # A thousand of its bounce-back tests do not end in time.
            return cell.workload != "crr" and not (cell.workload == "rr" and cell.connections > 100)
        case "nuttcp":
            return (cell.workload == "stream" and cell.connections <= 100) or (
                cell.workload == "udp" and cell.connections == 1
            )
        case "sockperf":
            return cell.workload in {"small", "rr"} and cell.connections == 1
        case "qperf":
            return cell.workload in {"stream", "rr", "udp"} and cell.connections == 1
    return True


def runs(cells: tuple[Cell, ...], tools: tuple[str, ...], pairs: int, seed: int) -> list[ToolRun]:
    """Every tool once for each cell that it can do and pair, the tools of one pair side by side.

    Cells and tools stand in an order drawn anew for every pair, so that neither a drift of the
    machine nor the tool that ran before favors anyone.
    """
    rng = random.Random(seed)
    return [
        ToolRun(pair, cell, tool)
        for pair in range(pairs)
        for cell in rng.sample(cells, len(cells))
        for tool in rng.sample(tools, len(tools))
        if can(tool, cell)
    ]
