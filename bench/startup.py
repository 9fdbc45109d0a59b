"""How long commands take before they do something, as ratios to an empty Python: `python -m bench.startup [RESULT]`.

Commands and the empty Python alternate, so that a change of the machine's load falls on both. With a result's folder,
`show` and `report` of it are timed too.
"""

import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median

ROUNDS = 11
EMPTY = [sys.executable, "-c", "pass"]
MAIN = "import sys; from whyperf.cli import main; sys.exit(main(sys.argv[1:]))"


def main(arguments: Sequence[str]) -> None:
    """Prints medians and ratios."""
    commands = [["--help"], ["list"], ["run", "--help"]]
    if arguments:
        commands += [["show", arguments[0]], ["report", arguments[0]]]
    with tempfile.TemporaryDirectory() as folder:
        for command in commands:
            print(_line(command, Path(folder) / "output"), flush=True)


def _line(command: Sequence[str], output: Path) -> str:
    pairs = [(_seconds(EMPTY, output), _seconds([sys.executable, "-c", MAIN, *command], output)) for _ in range(ROUNDS)]
    ratio = median(own / empty for empty, own in pairs)
    seconds = median(own for _, own in pairs)
    return f"whyperf {' '.join(command):<24} {seconds:6.2f} s  {ratio:5.1f} x python -c pass"


def _seconds(command: Sequence[str], output: Path) -> float:
    begun = time.perf_counter()
    with output.open("w") as file:
        subprocess.run(command, stdout=file, stderr=subprocess.DEVNULL, check=True)
    return time.perf_counter() - begun


if __name__ == "__main__":
    main(sys.argv[1:])
