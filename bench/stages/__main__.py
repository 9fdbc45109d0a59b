"""`python -m bench.stages`: holds stage times against CPU time, planted delays, and trials without them."""

import argparse
import sys
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path

from rich.console import Console

from bench.cost.experiment import Setting
from bench.cost.row import Row, is_missed, print_rows, write_rows
from bench.stages import doses, overhead, sums

PARTS: Mapping[str, Callable[[Setting], list[Row]]] = {"sums": sums.run, "doses": doses.run, "overhead": overhead.run}


def main(arguments: list[str]) -> int:
    """Runs the parts that were asked for; 1 if any bar is missed."""
    parser = argparse.ArgumentParser(prog="python -m bench.stages", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)} (all)")
    parser.add_argument("--quick", action="store_true", help="few short trials: shows only that it works")
    parser.add_argument("--out", type=Path, default=Path("bench/results"), help="folder of the results")
    given = parser.parse_args(arguments)
    unknown = [name for name in given.parts if name not in PARTS]
    if unknown:
        parser.error(f"{unknown[0]} is not one of {', '.join(PARTS)}")
    folder = given.out / f"stages-{datetime.now():%Y%m%d-%H%M%S}"
    console = Console(width=None if sys.stdout.isatty() else 140, highlight=False)
    rows: list[Row] = []
    for name in given.parts or PARTS:
        found = PARTS[name](Setting(given.quick, folder))
        rows += found
        print_rows(found, console)
        # After each part, so that a later failure loses nothing.
        write_rows(folder / "stages.json", rows)
    console.print(f"{folder} has the rows and the records")
    return 1 if is_missed(rows) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
