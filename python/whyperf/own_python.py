"""The way that processes of this Python are started: none of them imports modules from the current folder.

`python -m` and `python -c` look there first, before the standard library. Whoever can put a file there, such as a
`json.py` in a shared folder, would have it run as the user of whyperf.
"""

import os
import sys
from pathlib import Path

SAFE_PATH = "-P"
"""The option without which Python puts the current folder, or that of the script, first. Python passes it on to the
processes that `multiprocessing` starts, such as the workers of Dask.
"""


def own_python(*arguments: str) -> list[str]:
    """The command line of a process of this Python."""
    return [sys.executable, SAFE_PATH, *arguments]


def own_environment() -> dict[str, str]:
    """Its environment, in which it finds the same sources of whyperf as this process."""
    paths = (str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH"))
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
