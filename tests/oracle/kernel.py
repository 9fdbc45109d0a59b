"""Asks a user-mode kernel what its own queueing disciplines make of a flow."""

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).resolve().parent
KERNEL = "linux.uml"
ANSWER = "ANSWER "
#: What booting, building and ending take at most in addition to the flow itself.
OVERHEAD_S = 60
ATTEMPTS = 3


def ask(scratch: Path, is_fit: Callable[[Any], bool], **asked: Any) -> dict[str, Any]:
    """What `guest.py` found: `flow`, and `qdiscs` as tc prints them, by kind.

    A kernel in user mode gets no time while its host is busy, and then carries less than its bottleneck would. `is_fit`
    shows by the flow whether it got enough; if not, it is asked again, and in the end the test is skipped.
    """
    for _ in range(ATTEMPTS):
        found = _answer(scratch, asked)
        if is_fit(found["flow"]):
            return found
    pytest.skip("this machine is too busy for a kernel in user mode; stop what else runs here")


def _answer(scratch: Path, asked: dict[str, Any]) -> dict[str, Any]:
    """One attempt.

    The root file system of the guest is the host's, not to be written to.
    """
    if shutil.which(KERNEL) is None:
        pytest.skip(f"needs {KERNEL}, of the package user-mode-linux; make test-oracle installs it")
    command = [
        KERNEL, "mem=512M", "root=/dev/root", "rootfstype=hostfs", "hostfs=/", "ro", f"init={HERE / 'guest.py'}",
        "con=null", "con0=fd:0,fd:1", "ssl=null", "quiet", "umid=guest", f"uml_dir={scratch}",
        f"ASKED={json.dumps(asked).encode().hex()}",
    ]  # fmt: skip
    done = subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=asked["seconds"] + OVERHEAD_S,
        check=False,
    )
    answers = [line for line in done.stdout.splitlines() if line.startswith(ANSWER)]
    assert answers, f"{KERNEL} gave no answer:\n{done.stdout}{done.stderr}"
    found = json.loads(answers[0].removeprefix(ANSWER))
    return {"flow": found["flow"], "qdiscs": {qdisc["kind"]: qdisc for qdisc in found["qdiscs"]}}
