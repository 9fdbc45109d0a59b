"""The benchmark's command line."""

import argparse
from dataclasses import dataclass
from pathlib import Path

from lab.bench.plan import CELLS, WORKLOADS, Cell

# Agents, servers and namespaces entered: what a run takes in addition to its load.
RUN_OVERHEAD_S = 0.6


@dataclass(frozen=True)
class Options:
    """The options that were asked for."""

    pairs: int
    seconds: int
    warmup_seconds: int
    window: int | None
    seed: int
    out: Path
    cells: tuple[Cell, ...]


def parse(arguments: list[str]) -> Options:
    """Reads the options; ends the program with a sentence when they make no sense."""
    parser = argparse.ArgumentParser(
        prog="make bench BENCH=…",
        description="Rates and CPU cost of whyperf compared with its peers, on the embedded testbed.",
        epilog='Example: make bench BENCH="--pairs 3 --only rr,small"',
    )
    parser.add_argument("--pairs", type=_positive, default=5, help="runs of every tool in every cell (5)")
    parser.add_argument("--seconds", type=_positive, default=2, help="measured seconds of a run (2)")
    parser.add_argument("--warmup-seconds", type=_positive, default=1, help="seconds before, whole ones (1)")
    parser.add_argument("--window", type=_positive, help="socket buffers in bytes on both sides (kernel's default)")
    parser.add_argument("--seed", type=int, default=1995, help="of the order and of the intervals (1995)")
    parser.add_argument("--out", type=Path, default=Path("lab/bench/results"), help="folder of the results")
    parser.add_argument("--only", type=_workloads, default=CELLS, help=f"loads, of {', '.join(WORKLOADS)} (all)")
    given = parser.parse_args(arguments)
    return Options(given.pairs, given.seconds, given.warmup_seconds, given.window, given.seed, given.out, given.only)


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{number} is not 1 or more")
    return number


def _workloads(text: str) -> tuple[Cell, ...]:
    names = text.split(",")
    for name in names:
        if name not in WORKLOADS:
            raise argparse.ArgumentTypeError(f"{name} is not one of {', '.join(WORKLOADS)}")
    return tuple(cell for cell in CELLS if cell.workload in names)
