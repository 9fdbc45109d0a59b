"""`make prove-cost`: plants known costs, and checks that `whyperf cost` and `whyperf compare` find them."""

import argparse
import sys
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path

from lab.bench.cost import alike, overhead, pairs, perf, planted, sums
from lab.bench.cost.experiment import Setting
from lab.bench.cost.program import ProgramError
from lab.bench.parts import refuse_unknown, run_parts
from lab.bench.row import Row
from whyperf.cli.live import interrupts
from whyperf.compare import CompareError
from whyperf.profile import ProfileError
from whyperf.record import RecordError
from whyperf.run import RunError

PARTS: Mapping[str, Callable[[Setting], list[Row]]] = {
    "sums": sums.run,
    "planted": planted.run,
    "pairs": pairs.run,
    "alike": alike.run,
    "perf": perf.run,
    "overhead": overhead.run,
}


def main(arguments: list[str]) -> int:
    """Runs the parts that were asked for; 1 if any bar is missed."""
    parser = argparse.ArgumentParser(prog="make prove-cost PROVE_COST=…", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)} (all)")
    parser.add_argument("--quick", action="store_true", help="few short trials: shows only that it works")
    parser.add_argument("--json", type=Path, metavar="FILE", help="the rows (default: cost.json next to the records)")
    parser.add_argument("--out", type=Path, default=Path("lab/bench/results"), help="folder of the results")
    given = parser.parse_args(arguments)
    refuse_unknown(parser, given.parts, PARTS)
    folder = given.out / f"cost-{datetime.now():%Y%m%d-%H%M%S}"
    setting = Setting(given.quick, folder)
    out = given.json or folder / "cost.json"
    return run_parts(PARTS, given.parts, setting, out)


if __name__ == "__main__":
    try:
        with interrupts.handled():
            sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit("prove-cost: stopped")
    except (RunError, RecordError, ProfileError, CompareError, ProgramError, LookupError, OSError) as error:
        sys.exit(f"prove-cost: {error}")
