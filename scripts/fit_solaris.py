"""Searches the costs of study 2's hosts by Nelder and Mead's simplex, on half of the rows, and prints all rows' errors.

`.venv/bin/python scripts/fit_solaris.py EVALUATIONS` prints the errors of the fitted rows, of the rows held out, and
the numbers. The rows come from the example `study_solaris` of the crate whyperf-sim; `STUDY_SOLARIS` names its program.
Fitted are the columns with deferred ACKs, every second payload from the first on, and the gain of one connection from
`maxpsz_multiplier` 1 to 8. Held out are the other payloads, every row without deferred ACKs, and the other multipliers.
"""

import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import optimize

Floats = NDArray[np.float64]
PROGRAM = os.environ.get("STUDY_SOLARIS", "target/release/examples/study_solaris")
#: Key of the host and its bounds. What is not here is not determined by the tables, or has a source of its own.
BOUNDS: Mapping[str, tuple[float, float]] = {
    "write_call_us": (0.8, 6),
    "copy_in_us": (0.5, 5),
    "hand_over_us": (0, 8),
    "send_us": (15, 24),
    "send_mapped_us": (8, 16),
    "send_block_us": (0.5, 4),
    "receive_us": (2, 10),
    "receive_page_us": (2, 12),
    "wake_up_us": (10, 50),
    "copy_out_ns_per_byte": (1, 8),
    "dma_ns_per_byte": (4, 10),
}
#: Where the search begins: the shipped numbers, whose sums follow from the tables and whose shares are chosen.
START = (1.2, 3.3, 2.5, 20.2, 12, 2, 4, 7.5, 26, 6, 9.2)
FITTED: Mapping[str, tuple[int, ...]] = {
    "rr-on": (4, 100, 536, 1460),
    "nagle": (60, 250, 1024),
    "nodelay-on": (60, 250, 1024),
}
#: The gain of one connection by segments copied at once (study 2).
GAIN = 1.25


@dataclass(frozen=True)
class Figures:
    """Errors of the rows, relative to the study, and Mbit/s by connections and multiplier."""

    errors: Mapping[tuple[str, int], float]
    mbps: Mapping[tuple[int, int], float]


def figures(numbers: Floats) -> Figures:
    """Runs the model with these numbers.

    Raises:
        subprocess.CalledProcessError: the program refused them.
    """
    changes = [f"{key}={number:.2f}" for key, number in zip(BOUNDS, numbers, strict=True)]
    text = subprocess.run([PROGRAM, *changes], check=True, capture_output=True, text=True).stdout
    rows = [line.split() for line in text.splitlines()]
    errors = {(row[0], int(row[1])): float(row[3]) / float(row[2]) - 1 for row in rows if row[0] != "maxpsz"}
    return Figures(errors, {(int(row[1]), int(row[2])): float(row[3]) for row in rows if row[0] == "maxpsz"})


def loss(numbers: Floats) -> float:
    """Fourth powers of errors relative to the tolerances: the largest error counts most."""
    found = figures(numbers)
    tolerances = {"rr-on": 0.15}
    rows = [found.errors[table, size] / tolerances.get(table, 0.1) for table, sizes in FITTED.items() for size in sizes]
    gain = (found.mbps[1, 8] / found.mbps[1, 1] / GAIN - 1) / 0.05
    return float(np.sum(np.power([*rows, gain], 4)))


def main(evaluations: int) -> None:
    """Searches, and prints what was found."""
    start = np.array(START)
    simplex = np.vstack([start, start + np.diag(0.06 * start)])
    found = optimize.minimize(
        loss,
        start,
        method="Nelder-Mead",
        bounds=list(BOUNDS.values()),
        options={"maxfev": evaluations, "initial_simplex": simplex, "adaptive": True},
    )
    result = figures(found.x)
    lines = [
        f"{table:12} {size:5} {'fitted' if size in FITTED.get(table, ()) else 'held out':8} {error:+.1%}"
        for (table, size), error in result.errors.items()
    ]
    lines += [f"maxpsz {connections:3} {number:3} {mbps:.1f}" for (connections, number), mbps in result.mbps.items()]
    numbers = [f"{key}={number:.2f}" for key, number in zip(BOUNDS, found.x, strict=True)]
    sys.stdout.write("\n".join([*lines, f"loss {found.fun:.3f}", *numbers]) + "\n")


if __name__ == "__main__":
    main(int(sys.argv[1]))
