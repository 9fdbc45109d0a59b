"""The time that commands take, as ratios to an empty Python, and their targets: `python -m lab.bench.startup [RESULT]`.

Commands and the empty Python alternate, so that a change of the machine's load falls on both. RESULT is that of the
profile `demo`; without it, the demo is measured first, which takes about a minute.
"""

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median

ROUNDS = 11
#: Of commands that take seconds.
FEW_ROUNDS = 5
EMPTY = [sys.executable, "-c", "pass"]
WHYPERF = [sys.executable, str(Path(__file__).parents[2] / "python/whyperf.data/scripts/whyperf")]
#: Longest time of a command on a quiet machine, in seconds.
TARGETS_S = {"--help": 0.15, "watch --help": 0.2, "list": 0.25, "show": 0.4, "report": 2.0}
#: The time that a run may add to its phases, in seconds.
RUN_TARGET_S = 1.0


def main(arguments: Sequence[str]) -> None:
    """Prints medians, ratios and targets."""
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "output"
        demo = arguments[0] if arguments else str(Path(folder) / "demo")
        if not arguments:
            _seconds([*WHYPERF, "run", "demo", "--out", demo, "--no-report"], output)
        for command in (["--help"], ["list"], ["run", "--help"], ["watch", "--help"], ["show", demo]):
            print(_line(command, output, ROUNDS), flush=True)
        print(_line(["report", demo], output, FEW_ROUNDS), flush=True)
        print(_run_line(Path(folder), output), flush=True)


def _line(command: Sequence[str], output: Path, rounds: int) -> str:
    pairs = [(_seconds(EMPTY, output), _seconds([*WHYPERF, *command], output)) for _ in range(rounds)]
    ratio = median(own / empty for empty, own in pairs)
    seconds = median(own for _, own in pairs)
    target_s = TARGETS_S.get(" ".join(command), TARGETS_S.get(command[0]))
    target = "" if target_s is None else f"   target {target_s:.2f} s"
    named = " ".join(["whyperf", *command[:2]])[:40]
    return f"{named:<40} {seconds:6.2f} s  {ratio:5.1f} x python -c pass{target}"


def _run_line(folder: Path, output: Path) -> str:
    """Measures what `run -t 2` takes beyond its phases, with its report."""
    more, ratios = [], []
    for number in range(FEW_ROUNDS):
        empty = _seconds(EMPTY, output)
        result = folder / f"run-{number}"
        seconds = _seconds([*WHYPERF, "run", "-t", "2", "--out", str(result)], output)
        factors = json.loads((result / "plan.json").read_text())["cells"][0]["factors"]
        more.append(seconds - sum(factors[name] for name in ("warmup_s", "duration_s", "cooldown_s")))
        ratios.append(more[-1] / empty)
    name = "whyperf run -t 2, beyond its phases"
    return f"{name:<40} {median(more):6.2f} s  {median(ratios):5.1f} x python -c pass   target {RUN_TARGET_S:.2f} s"


def _seconds(command: Sequence[str], output: Path) -> float:
    begun = time.perf_counter()
    with output.open("w") as file:
        done = subprocess.run(command, stdout=file, stderr=subprocess.DEVNULL, check=False).returncode
    # 3: done, but a log has gaps.
    if done not in {0, 3}:
        raise SystemExit(f"{' '.join(command[-3:])} ended with {done}")
    return time.perf_counter() - begun


if __name__ == "__main__":
    main(sys.argv[1:])
