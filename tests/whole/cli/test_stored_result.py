"""A result is stored when it is first computed, and counts only as long as it is of the record as it is."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.unit.cli.test_explain import SECOND, write_trial
from tests.unit.record.record_samples import PROFILE_TEXT, sample_plan
from whyperf.analyze import summarize
from whyperf.cli.app import main
from whyperf.record import Experiment


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A result with one measured cell."""
    with Experiment.create(tmp_path / "result", sample_plan(), PROFILE_TEXT) as created:
        write_trial(created, "001-c0001")
    return tmp_path / "result"


@pytest.fixture
def computed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the experiments that were judged, in order."""
    names: list[str] = []

    def counting(experiment: Experiment) -> object:
        names.append(experiment.name)
        return summarize(experiment)

    monkeypatch.setattr("whyperf.cli.output.result.summarize", counting)
    return names


def shown(folder: Path, capsys: pytest.CaptureFixture[str], *options: str) -> tuple[int, str]:
    code = main(["show", str(folder), *options])
    return code, capsys.readouterr().out


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_a_stored_result_prints_the_same_and_is_not_computed_again(
    options: tuple[str, ...], folder: Path, computed: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    first = shown(folder, capsys, *options)
    assert len(first[1]) > 100
    assert computed == ["result"]
    assert shown(folder, capsys, *options) == first
    assert computed == ["result"]


def rewrite_in_place(folder: Path) -> None:
    """As many bytes as before."""
    path = next((folder / "trials").rglob("flows.near.parquet"))
    content = path.read_bytes()
    os.utime(path, ns=(path.stat().st_atime_ns, path.stat().st_mtime_ns - 1))
    assert path.read_bytes() == content


def add_trial(folder: Path) -> None:
    with Experiment.create(folder, sample_plan(), PROFILE_TEXT) as experiment:
        write_trial(experiment, "001-c0002", limited_ns=SECOND // 2)


def forge(folder: Path) -> None:
    path = folder / "result.json"
    text = path.read_text()
    changed = text.replace('"trials": 1,', '"trials": 7,')
    assert changed != text
    path.write_text(changed)


def damage(folder: Path) -> None:
    path = folder / "result.json"
    path.write_bytes(path.read_bytes()[:-20])


def sign_nothing(folder: Path) -> None:
    path = folder / "result.json"
    text = path.read_text()
    path.write_text('{\n "made_of": "",\n' + text.split("\n", 2)[2])


@pytest.mark.parametrize(
    "change",
    [rewrite_in_place, add_trial, forge, damage, sign_nothing],
    ids=lambda change: change.__name__,
)
def test_what_does_not_hold_any_more_is_computed_again(
    change: Callable[[Path], None], folder: Path, computed: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    shown(folder, capsys)
    change(folder)
    again = shown(folder, capsys)
    assert computed == ["result"] * 2
    assert '"trials": 7' not in shown(folder, capsys, "--json")[1]
    (folder / "result.json").unlink()
    assert shown(folder, capsys) == again


def test_other_rules_and_another_user_compute_it_again(
    folder: Path, computed: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    shown(folder, capsys)
    monkeypatch.setattr("whyperf.record.kept._code", lambda: "another")
    shown(folder, capsys)
    assert computed == ["result"] * 2
    monkeypatch.setenv("XDG_STATE_HOME", str(folder.parent / "another"))
    shown(folder, capsys)
    assert computed == ["result"] * 3


def test_a_trial_that_is_stored_meanwhile_is_not_missed(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    computed: list[str] = []

    def while_it_runs(experiment: Experiment) -> object:
        computed.append(experiment.name)
        summary = summarize(experiment)
        if len(computed) == 1:
            add_trial(folder)
        return summary

    monkeypatch.setattr("whyperf.cli.output.result.summarize", while_it_runs)
    before = shown(folder, capsys, "--csv")
    after = shown(folder, capsys, "--csv")
    assert computed == ["result"] * 2
    assert before != after
