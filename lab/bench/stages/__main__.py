"""`make prove-stages`: holds stage times against CPU time, planted delays, stack samples, and trials without them."""

import argparse
import sys
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path

from lab.bench.cost.experiment import Setting
from lab.bench.parts import refuse_unknown, run_parts
from lab.bench.row import Row
from lab.bench.stages import bias, doses, driver, overhead, sums
from whyperf.cli.live import interrupts
from whyperf.profile import ProfileError
from whyperf.record import RecordError
from whyperf.run import RunError

PARTS: Mapping[str, Callable[[Setting], list[Row]]] = {
    "sums": sums.run,
    "doses": doses.run,
    "driver": driver.run,
    "overhead": overhead.run,
    "bias": bias.run,
}


def main(arguments: list[str]) -> int:
    """Runs the parts that were asked for; 1 if any bar is missed."""
    parser = argparse.ArgumentParser(prog="make prove-stages PROVE_STAGES=…", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)} (all)")
    parser.add_argument("--quick", action="store_true", help="few short trials: shows only that it works")
    parser.add_argument("--out", type=Path, default=Path("lab/bench/results"), help="folder of the results")
    given = parser.parse_args(arguments)
    refuse_unknown(parser, given.parts, PARTS)
    folder = given.out / f"stages-{datetime.now():%Y%m%d-%H%M%S}"
    return run_parts(PARTS, given.parts, Setting(given.quick, folder), folder / "stages.json")


if __name__ == "__main__":
    try:
        with interrupts.handled():
            sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit("prove-stages: stopped")
    except (RunError, RecordError, ProfileError, LookupError, OSError) as error:
        sys.exit(f"prove-stages: {error}")
