"""`make prove-watch`: what `whyperf watch` costs, how soon it answers, and that it leaves nothing behind."""

import argparse
import sys
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import get_args

from lab.bench.parts import refuse_unknown, run_parts
from lab.bench.row import Row
from lab.bench.watch import first_verdict, kills, log, overhead, sockets
from lab.bench.watch.place import PlaceError
from lab.bench.watch.setting import Setting
from whyperf.cli.live import interrupts
from whyperf.plan import Level
from whyperf.record import RecordError
from whyperf.run import RunError

PARTS: Mapping[str, Callable[[Setting], list[Row]]] = {
    "overhead": overhead.run,
    "sockets": sockets.run,
    "first-verdict": first_verdict.run,
    "kills": kills.run,
    "log": log.run,
}


def main(arguments: list[str]) -> int:
    """Runs the parts that were asked for; 1 if any bar is missed."""
    parser = argparse.ArgumentParser(prog="make prove-watch PROVE_WATCH=…", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)} (all)")
    parser.add_argument("--pairs", type=int, metavar="N", help="pairs with and without a watch, for each level (30)")
    parser.add_argument("--kills", type=int, metavar="N", help="watches that are killed (200)")
    parser.add_argument("--levels", default=",".join(get_args(Level)), help="levels of `overhead` and `kills` (all)")
    parser.add_argument("--seed", type=int, default=1995, help="of the order, the moments and the intervals (1995)")
    parser.add_argument("--quick", action="store_true", help="little of everything: shows only that it works")
    parser.add_argument("--json", type=Path, metavar="FILE", help="the rows (default: watch.json in their folder)")
    parser.add_argument("--out", type=Path, default=Path("lab/bench/results"), help="folder of the results")
    given = parser.parse_args(arguments)
    refuse_unknown(parser, given.parts, PARTS)
    levels = [level for level in get_args(Level) if level in given.levels.split(",")]
    if len(levels) != len(set(given.levels.split(","))):
        parser.error(f"levels are {', '.join(get_args(Level))}")
    folder = (given.out / f"watch-{datetime.now():%Y%m%d-%H%M%S}").absolute()
    folder.mkdir(parents=True)
    setting = Setting(
        is_quick=given.quick,
        folder=folder,
        pairs=given.pairs or (2 if given.quick else 30),
        kills=given.kills or (3 if given.quick else 200),
        levels=tuple(levels),
        seed=given.seed,
    )
    out = given.json or folder / "watch.json"
    return run_parts(PARTS, given.parts, setting, out)


if __name__ == "__main__":
    try:
        with interrupts.handled():
            sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit("prove-watch: stopped")
    except (RunError, RecordError, PlaceError, LookupError, OSError) as error:
        sys.exit(f"prove-watch: {error}")
