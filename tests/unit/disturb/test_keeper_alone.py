"""The keeper of disturbances when its controller was killed: it ends and says nothing."""

import json
import os
import subprocess
import sys

import pytest

#: No process has such a number (proc(5), pid_max).
NOWHERE = {"near": {"process": 1 << 23}}
FAILS = [{"kind": "firewall", "host": "near", "hook": "input", "rules": ["th dport 0 counter"], "repeat": 1}]


@pytest.mark.parametrize("disturbances", [FAILS, []], ids=["error", "ready"])
def test_an_answer_that_nobody_hears_is_no_failure(disturbances: list[dict[str, object]]) -> None:
    hears, answers = os.pipe()
    os.close(hears)
    orders = json.dumps({"disturbances": disturbances, "places": NOWHERE}) + "\n"
    argv = [sys.executable, "-m", "whyperf.disturb.keeper"]
    done = subprocess.run(
        argv, input=orders, stdout=answers, stderr=subprocess.PIPE, text=True, timeout=60, check=False
    )
    os.close(answers)
    assert (done.returncode, done.stderr) == (1 if disturbances else 0, "")
