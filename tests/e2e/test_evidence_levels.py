"""Levels of evidence from the command line to the result: what is requested, recorded and reported."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Ours
from tests.e2e.experiments import profile_text
from tests.e2e.whyperf_command import Done, whyperf
from whyperf.record import Experiment, Manifest

pytestmark = pytest.mark.root

TRIALS = 2


@pytest.fixture
def profile(ours: Ours, tmp_path: Path) -> Path:
    """A profile of two cells with a log trial each, in a folder of its own."""
    assert ours
    path = tmp_path / "two.toml"
    text = profile_text(TRIALS, transfer_bytes=2_000_000, window_bytes=[16384, 65536])
    path.write_text(text.replace("[design]", "[design]\nlog_trials = 1"))
    return path


def run(profile: Path, *options: object) -> tuple[Done, dict[str, Any], dict[str, Manifest]]:
    """Measures; the command, its result, the trials by name."""
    results = profile.parent / "results"
    done = whyperf("run", profile, *options, "--no-report", "--json", "--out", results, folder=profile.parent)
    assert done.status == 0, done.err
    return done, json.loads(done.out), Experiment.open(results).trials().manifests


def test_log_trials_run_last_and_one_that_is_missing_is_made(profile: Path) -> None:
    _, result, trials = run(profile)
    logs = [name for name in trials if name.startswith("log")]
    assert logs == ["log01-c0001", "log01-c0002"]
    assert {name: trial.evidence_asked for name, trial in trials.items()} == {
        name: "segments" if name in logs else "counters" for name in trials
    }
    started = {name: trial.started_realtime for name, trial in trials.items()}
    assert max(started[name] for name in trials if name not in logs) < min(started[name] for name in logs)
    assert [cell["trials"] for cell in result["cells"]] == [TRIALS, TRIALS]
    evidence = result["evidence"]
    assert (evidence["asked"], evidence["log_trials"]) == ("counters", 2)
    for trial in trials.values():
        for label, end in trial.hosts.items():
            assert end.evidence["asked"] == trial.evidence_asked
            assert end.spec["evidence"] == trial.evidence_asked
            if trial.evidence_asked == "counters":
                assert evidence["ends"][label]["level"] == end.evidence["got"]

    shutil.rmtree(profile.parent / "results" / "trials" / "log01-c0002")
    done, _, after = run(profile)
    assert "has 5 of 6 trials; 1 to go" in done.err
    assert list(after) == list(trials)
    same = [name for name in trials if after[name] == trials[name]]
    assert same == [name for name in trials if name != "log01-c0002"]


def test_user_keeps_everything_out_of_the_kernel(profile: Path) -> None:
    _, result, trials = run(profile, "--evidence", "user")
    assert len(trials) == 2 * TRIALS
    assert {end.evidence["got"] for trial in trials.values() for end in trial.hosts.values()} == {"user"}
    assert result["evidence"]["asked"] == "user"
    assert not {"less_evidence", "missing_hooks"} & {warning["code"] for warning in result["warnings"]}
