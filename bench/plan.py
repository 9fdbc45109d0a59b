"""What is compared, and in which order."""

import random
from dataclasses import dataclass

WHYPERF, IPERF3, NUTTCP = "whyperf", "iperf3", "nuttcp"
TOOLS = (WHYPERF, IPERF3, NUTTCP)
PEERS = (IPERF3, NUTTCP)


@dataclass(frozen=True)
class Cell:
    """One setting that every tool is given."""

    connections: int
    write_size_bytes: int

    @property
    def name(self) -> str:
        """For people: `10 × 8 KB`."""
        return f"{self.connections} × {self.write_size_bytes // 1024} KB"


CELLS = tuple(Cell(connections, kbytes * 1024) for connections in (1, 10) for kbytes in (1, 8, 128))


@dataclass(frozen=True)
class Setting:
    """What is the same for all tools and cells."""

    congestion_control: str
    window_bytes: int | None
    """Socket buffers asked for at both ends; none leaves them to the kernel."""
    warmup_s: int
    """Whole seconds, the only kind that iperf3 can omit."""
    measure_s: int
    sender_cpu: int = 0
    receiver_cpu: int = 1

    @property
    def load_s(self) -> int:
        """How long a tool sends in all."""
        return self.warmup_s + self.measure_s


@dataclass(frozen=True)
class Turn:
    """One run of one tool."""

    pair: int
    cell: Cell
    tool: str


def turns(cells: tuple[Cell, ...], tools: tuple[str, ...], pairs: int, seed: int) -> list[Turn]:
    """Every tool once for each cell and pair, the tools of one pair side by side.

    Cells and tools stand in an order drawn anew for every pair, so that neither a drift of the
    machine nor the tool that ran before favors anyone.
    """
    chance = random.Random(seed)
    return [
        Turn(pair, cell, tool)
        for pair in range(pairs)
        for cell in chance.sample(cells, len(cells))
        for tool in chance.sample(tools, len(tools))
    ]
