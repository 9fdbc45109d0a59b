"""Asks a user-mode kernel what its own queueing disciplines make of a flow."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).resolve().parent
KERNEL = "linux.uml"
ANSWER = "ANSWER "
#: What booting, building and ending take at most beside the flow itself.
BESIDE_S = 60


def ask(scratch: Path, **asked: Any) -> dict[str, Any]:
    """What `guest.py` found: `flow`, and `qdiscs` as tc prints them, by kind.

    The root file system of the guest is the host's, not to be written to.
    """
    if shutil.which(KERNEL) is None:
        pytest.skip(f"{KERNEL} is missing; install user-mode-linux")
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
        timeout=asked["seconds"] + BESIDE_S,
        check=False,
    )
    answers = [line for line in done.stdout.splitlines() if line.startswith(ANSWER)]
    assert answers, f"{KERNEL} gave no answer:\n{done.stdout}{done.stderr}"
    found = json.loads(answers[0].removeprefix(ANSWER))
    return {"flow": found["flow"], "qdiscs": {qdisc["kind"]: qdisc for qdisc in found["qdiscs"]}}
