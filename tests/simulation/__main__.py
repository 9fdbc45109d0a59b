"""`python -m tests.simulation --seeds 10000`: simulates seeds in parallel and prints the violations.

With `--watch`, seeds of watches instead of runs.
"""

import argparse
import multiprocessing
import os
import sys
import time

from tests.simulation.life import Outcome, run_seed, summary_of_seed
from tests.simulation.watches import WatchOutcome, summary_of_watch, watch_seed


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--seeds", type=int, default=1000, help="how many seeds")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="how many processes")
    parser.add_argument("--stop", action="store_true", help="stop at the first violation")
    parser.add_argument("--trace", type=int, help="print what happens in this seed, and no other")
    parser.add_argument("--watch", action="store_true", help="watches instead of runs")
    asked = parser.parse_args()
    if asked.trace is not None:
        return _trace(watch_seed(asked.trace) if asked.watch else run_seed(asked.trace))
    began = time.monotonic()
    done = violations = lives = 0
    seeds = range(asked.first, asked.first + asked.seeds)
    # polars cannot be used in a forked process. It reads small tables: more threads only wait for each other.
    os.environ.setdefault("POLARS_MAX_THREADS", "1")
    with multiprocessing.get_context("spawn").Pool(asked.jobs) as pool:
        for violation, count in pool.imap(summary_of_watch if asked.watch else summary_of_seed, seeds, chunksize=4):
            done, lives = done + 1, lives + count
            if violation is not None:
                violations += 1
                print(violation, flush=True)
                if asked.stop:
                    break
    seconds = time.monotonic() - began
    print(f"{done:,} seeds, {lives:,} runs of a controller, {violations} violations, {seconds:.0f} s")
    return 1 if violations else 0


def _trace(outcome: Outcome | WatchOutcome) -> int:
    print("\n".join(outcome.trace))
    print(outcome)
    return 1 if outcome.violation else 0


if __name__ == "__main__":
    sys.exit(main())
