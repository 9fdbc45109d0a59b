"""`make prove-fleet`: many hosts on one machine: connections, starts, lost hosts and slow hosts."""

import argparse
import sys
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path

from lab.bench.fleet import connections, losses, slow, starts
from lab.bench.fleet.setting import Setting
from lab.bench.parts import refuse_unknown, run_parts
from lab.bench.row import Row

PARTS: Mapping[str, Callable[[Setting], list[Row]]] = {
    "agents": starts.thousand,
    "ssh": starts.over_ssh,
    "skew": starts.skew,
    "connections": connections.run,
    "slow": slow.measure,
    "kills": losses.run,
}


def main(arguments: list[str]) -> int:
    """Runs the parts that were asked for; 1 if any bar is missed."""
    parser = argparse.ArgumentParser(prog="make prove-fleet PROVE_FLEET=…", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)} (all)")
    parser.add_argument("--seed", type=int, default=1995, help="of the moments and victims of kills (1995)")
    parser.add_argument("--quick", action="store_true", help="little of everything: shows only that it works")
    parser.add_argument("--json", type=Path, metavar="FILE", help="the rows (default: fleet.json in their folder)")
    parser.add_argument("--out", type=Path, default=Path("lab/bench/results"), help="folder of the results")
    given = parser.parse_args(arguments)
    refuse_unknown(parser, given.parts, PARTS)
    folder = (given.out / f"fleet-{datetime.now():%Y%m%d-%H%M%S}").absolute()
    folder.mkdir(parents=True)
    setting = Setting(is_quick=given.quick, folder=folder, seed=given.seed)
    return run_parts(PARTS, given.parts, setting, given.json or folder / "fleet.json")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
