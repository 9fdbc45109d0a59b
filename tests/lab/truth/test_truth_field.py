"""A situation of the field catalog is disturbed, measured and graded at every level of evidence."""

import json
from pathlib import Path

import pytest

from lab.app import main
from lab.truth import FILES, load_catalog, plan_truth
from lab.truth.levels import View
from whyperf.record import Experiment


@pytest.mark.root
@pytest.mark.alone
def test_a_situation_is_graded_at_every_level(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["truth", "--catalog", "field", "--only", "small-tcp-rmem", "--trials", "1"]
    assert main([*command, "--out", str(tmp_path / "field"), "--json"]) in {0, 3}
    found = json.loads(capsys.readouterr().out)["diagnoses"]
    assert [diagnosis["level"] for diagnosis in found] == [str(view) for view in View]
    for diagnosis in found:
        # The disturbance acts: a window of 128 KiB over 40 ms allows 26 of 200 Mbit/s.
        assert diagnosis["counts"], diagnosis
        assert diagnosis["lowered_by_ratio"] > 0.5
        assert diagnosis["accepted"] == ["receive_buffer"]
    first = {diagnosis["level"]: diagnosis["first"] for diagnosis in found}
    assert first["segments"] == "receive_buffer"
    # What is hidden is missing: only one host's log is read.
    missing = {diagnosis["level"]: " ".join(diagnosis["missing"]) for diagnosis in found}
    assert "far" in missing["sender_segments"]
    assert "near" in missing["receiver_segments"]


def test_a_half_of_the_catalog_of_causes_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["truth", "--half", "tuning", "--dry-run"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "--half is of the field catalog; add --catalog field, or --catalog unseen" in line


def test_what_this_host_cannot_do_is_named_and_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    command = ["truth", "--catalog", "field", "--only", "policer-at-receiver", "--out", str(tmp_path / "field")]
    assert main(command) == 2
    error = capsys.readouterr().err
    assert "Not measured: policer-at-receiver: the program nft is missing; install the package nftables" in error
    assert error.splitlines()[-1] == "whyperf-lab: this host can measure none of these situations"
    assert not (tmp_path / "field").exists()


@pytest.mark.root
def test_a_record_of_other_disturbances_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "field"
    profile, plan = plan_truth(load_catalog(FILES["field"]).named(["lan-shaper"]))
    assert "100mbit" in profile.text
    with Experiment.create(folder, plan, profile.text.replace("100mbit", "200mbit")):
        pass
    assert main(["truth", "--catalog", "field", "--only", "lan-shaper", "--out", str(folder)]) == 2
    assert "was measured with other disturbances; name another folder with --out" in capsys.readouterr().err
    assert list(folder.glob("trials/*")) == []
