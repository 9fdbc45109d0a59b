"""Several runs in one process, as a program makes them that imports whyperf: `python -m … COUNT`, in the folder `RUNS`.

Prints after each run, as JSON, the process's open files, threads and resident memory in KiB.
"""

import contextlib
import gc
import io
import json
import os
import re
import sys
import threading
from pathlib import Path

from whyperf.cli import main

RUN = ("-t", "0.1", "--set", "warmup_s=0", "--set", "cooldown_s=0")
KINDS = (("--testbed", "loopback"), ("--testbed", "veth"))


def look() -> dict[str, int]:
    """This process now."""
    gc.collect()
    resident = re.search(r"^VmRSS:\s+(\d+)", Path("/proc/self/status").read_text(), re.M)
    return {
        "descriptors": len(list(Path("/proc/self/fd").iterdir())),
        "threads": threading.active_count(),
        "rss_kib": int(resident.group(1)) if resident else 0,
    }


def run(number: int) -> None:
    """One run, whose output is of no interest."""
    out = Path(os.environ["RUNS"]) / f"in-one-{number}"
    with contextlib.redirect_stdout(io.StringIO()):
        code = main(["run", *KINDS[number % len(KINDS)], *RUN, "--no-report", "--out", str(out)])
    if code not in {0, 3}:
        sys.exit(f"run {number} ended with {code}")


if __name__ == "__main__":
    for number in range(int(sys.argv[1])):
        run(number)
        print(json.dumps(look()), flush=True)
