"""What an agent says is checked: a bad answer fails its trial with one sentence, and the result can be shown."""

import json
import sys
from pathlib import Path

import pytest

from tests.e2e import lying_agent
from whyperf.cli import main
from whyperf.record import Experiment
from whyperf.run.agents.pipes import agent_binary

TRIAL = ("run", "-t", "0.3", "--testbed", "loopback", "--no-report", "--set", "warmup_s=0", "--out", "results")


# Of answers that are no messages or lack a field, see tests/unit/run/test_agent.py.
@pytest.mark.parametrize(
    ("lie", "says"),
    [
        ("missing_field", "finished.payload_bytes is wrong: field required"),
        ("no_finish", "the agent ended the trial without saying how it ended"),
        ("progress", "the agent sent more progress than the trial has intervals"),
        ("long_table", "than it announced"),
        ("other_kind", "of another table"),
        ("odd_name", "'../../etc/passwd', which no record has"),
    ],
)
def test_a_bad_answer_fails_its_trial(
    lie: str, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    script = tmp_path / "agent"
    # What is no agent's pipe, such as cleaning up, goes to the agent itself.
    script.write_text(
        f'#!/bin/sh\n[ $1 = serve ] || exec {agent_binary()} "$@"\n'
        f'exec {sys.executable} {lying_agent.__file__} {lie} {agent_binary()} "$@"\n'
    )
    script.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WHYPERF_AGENT", str(script))
    assert main([*TRIAL]) == 1
    assert "internal error" not in capsys.readouterr().err
    (manifest,) = Experiment.open(tmp_path / "results").trials().manifests.values()
    assert manifest.status == "failed"
    assert manifest.reason is not None
    assert manifest.reason.startswith(("near: ", "far: "))
    assert says in manifest.reason
    assert "\n" not in manifest.reason
    assert not list((tmp_path / "results" / "trials").glob(".*"))
    assert main(["show", "results", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["cells"][0]["failed_trials"] == 1
