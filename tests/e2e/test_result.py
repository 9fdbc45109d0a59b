"""From question to result on a real testbed: what is planned is run, recorded and reported."""

import contextlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.contents import finished_trials
from tests.e2e.experiments import profile_text
from whyperf.analyze.summary import Summary
from whyperf.cli import main
from whyperf.cli.exits import DOUBTFUL
from whyperf.record import Experiment, read_table

pytestmark = pytest.mark.usefixtures("ours")

Whyperf = Callable[..., "Ended"]
LOOPBACK = ("--testbed", "loopback", "--no-report")
LEVELS: dict[str, Any] = {"window_bytes": [4096, 8192], "connections": [1, 2], "transfer_bytes": 4_000_000}


class Ended:
    """How a command ended and what it said."""

    def __init__(self, status: int, out: str, err: str) -> None:
        """Keeps it."""
        self.status, self.out, self.err = status, out, err

    @property
    def json(self) -> Any:
        """Standard output, which must be one JSON document and nothing else."""
        return json.loads(self.out)


@pytest.fixture
def whyperf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Whyperf:
    """The command, in this process: its libraries take seconds to load."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.toml").write_text(profile_text(3, **LEVELS))

    def call(*arguments: object) -> Ended:
        status = main([str(word) for word in arguments])
        streams = capsys.readouterr()
        return Ended(status, streams.out, streams.err)

    return call


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a result that several tests look at or change a copy of."""
    folder = tmp_path_factory.mktemp("measured")
    (folder / "mine.toml").write_text(profile_text(3, **LEVELS))
    with contextlib.chdir(folder):
        assert main(["run", "mine.toml", *LOOPBACK, "--seed", "7", "--out", "results"]) in (0, DOUBTFUL)
    assert not (folder / "results" / "report.html").exists()
    return folder


@pytest.fixture
def results(measured: Path, tmp_path: Path) -> Path:
    """A copy of that result, in the folder of the test."""
    return Path(shutil.copytree(measured / "results", tmp_path / "results"))


@pytest.mark.root
def test_the_json_is_the_documented_result(whyperf: Whyperf, tmp_path: Path) -> None:
    done = whyperf("run", "mine.toml", "--out", "results", "--json")
    assert done.status == 0, done.err
    # Nothing more and nothing less than the fields that docs/reference/result-json.md names.
    summary = Summary.model_validate(done.json)
    assert (summary.experiment, summary.origin, summary.profile) == ("results", "host", "mine")
    assert summary.testbed == "veth"
    experiment = Experiment.open(tmp_path / "results")
    assert summary.plan_id == experiment.plan.id
    assert [cell.factors for cell in summary.cells] == [cell.factors for cell in experiment.plan.cells]
    for cell in summary.cells:
        assert (cell.trials, cell.failed_trials, cell.deadline_trials) == (3, 0, 0)
        goodput = cell.goodput_bps
        assert goodput.low is not None
        assert goodput.median is not None
        assert goodput.high is not None
        assert 0 < goodput.low <= goodput.median <= goodput.high
        assert cell.window.requested_bytes == cell.factors["window_bytes"]
        assert cell.cycles_per_kbyte.sender is not None
        assert cell.cycles_per_kbyte.sender > 0
        assert cell.cpu.sender is not None
        assert cell.cpu.receiver is not None
        assert set(cell.cpu.sender.cpus).isdisjoint(cell.cpu.receiver.cpus) or not cell.cpu.sender.exclusive
    assert whyperf("show", "results", "--json").json == done.json
    assert (tmp_path / "results" / "report.html").stat().st_size > 10_000


@pytest.mark.root
def test_goodput_is_payload_over_the_receivers_time(whyperf: Whyperf, tmp_path: Path) -> None:
    """Worked out again from the record, for the simplest case: one connection, one transfer."""
    done = whyperf("run", "--bytes", "20M", "--out", "results", "--json")
    assert done.status == 0, done.err
    experiment = Experiment.open(tmp_path / "results")
    flows = read_table(experiment, "flows").frame
    (first,) = flows.filter(role="sender")["first_call_mono_ns"]
    (last,) = flows.filter(role="receiver")["last_call_mono_ns"]
    (cell,) = done.json["cells"]
    expected_bps = 20 * 2**20 * 8 / ((last - first) / 1e9)
    assert cell["goodput_bps"]["median"] == pytest.approx(expected_bps, rel=0.01)


def test_the_same_seed_is_the_same_plan(whyperf: Whyperf, results: Path) -> None:
    measured = json.loads((results / "plan.json").read_text())
    plans = {}
    for seed in (7, 8):
        plans[seed] = whyperf("run", "mine.toml", *LOOPBACK, "--seed", seed, "--dry-run", "--json", "--out", "b").json
        plans[seed].pop("estimate")
    assert plans[7] | {"experiment": "results"} == measured
    assert plans[7]["blocks"] != plans[8]["blocks"]
    # The order planned is the order measured.
    experiment = Experiment.open(results)
    begun = {trial: manifest.started_realtime for trial, manifest in experiment.trials().manifests.items()}
    assert sorted(begun, key=begun.__getitem__) == [trial.id for trial in experiment.plan.trials()]


def test_two_parts_of_a_plan_are_two_experiments(whyperf: Whyperf, tmp_path: Path) -> None:
    parts = {}
    for window_bytes in (4096, 8192):
        done = whyperf("run", "mine.toml", *LOOPBACK, "--only", f"window_bytes={window_bytes}", "--json")
        assert done.status == 0, done.err
        assert {cell["factors"]["window_bytes"] for cell in done.json["cells"]} == {window_bytes}
        parts[window_bytes] = done.json
    names = [part["experiment"] for part in parts.values()]
    assert len(set(names)) == 2
    # Cells keep the names they have in the whole plan, so parts can be put side by side.
    cells = [cell["id"] for part in parts.values() for cell in part["cells"]]
    assert sorted(cells) == ["c0001", "c0002", "c0003", "c0004"]
    assert {path.name for path in (tmp_path / "results").iterdir()} == set(names)
    again = whyperf("run", "mine.toml", *LOOPBACK, "--only", "window_bytes=4096", "--json")
    assert "nothing is missing" in again.err
    assert again.json == parts[4096]


def test_a_check_that_does_not_hold_is_exit_code_3(whyperf: Whyperf, tmp_path: Path) -> None:
    """A transfer that cannot end before its deadline is cut, kept, reported, and not measured again."""
    slow = ("--set", "write_size_bytes=1", "--bytes", "1G", "--set", "deadline_s=0.6")
    done = whyperf("run", *LOOPBACK, *slow, "--out", "results", "--json")
    assert done.status == 3, done.err
    (cell,) = done.json["cells"]
    assert (cell["trials"], cell["deadline_trials"]) == (1, 1)
    assert [entry["status"] for entry in done.json["unfinished"]] == ["deadline"]
    assert "deadline_trials" in {warning["code"] for warning in done.json["warnings"]}
    assert "was cut" in done.err
    assert whyperf("show", "results").status == 3
    before = finished_trials(tmp_path / "results")
    assert whyperf("run", *LOOPBACK, *slow, "--out", "results").status == 3
    assert finished_trials(tmp_path / "results") == before


def test_a_damaged_trial_is_reported_and_measured_again(whyperf: Whyperf, results: Path) -> None:
    trials = results / "trials"
    (trials / "001-c0001" / "flows.near.parquet").write_bytes(b"PAR1")
    (trials / "002-c0002" / "manifest.json").write_text("{")
    shutil.rmtree(trials / "003-c0003")
    shown = whyperf("show", "results", "--json")
    assert shown.status == 3
    assert "damaged_trials" in {warning["code"] for warning in shown.json["warnings"]}

    again = whyperf("run", "mine.toml", *LOOPBACK, "--seed", 7, "--out", "results", "--json")
    assert again.status == 0, again.err
    assert "3 to go" in again.err
    assert [cell["trials"] for cell in again.json["cells"]] == [3, 3, 3, 3]
    # What was there is put aside, not removed.
    aside = {path.name for path in (results / "set-aside").iterdir()}
    assert aside == {"001-c0001-1", "002-c0002-1"}


def test_a_plan_that_was_changed_by_hand_is_refused(whyperf: Whyperf, results: Path) -> None:
    plan = results / "plan.json"
    plan.write_text(plan.read_text().replace("4096", "4097"))
    for arguments in (("show", "results"), ("run", "mine.toml", *LOOPBACK, "--seed", 7, "--out", "results")):
        done = whyperf(*arguments)
        assert (done.status, done.out) == (1, "")
        assert "changed or damaged" in done.err


def test_sequential_stopping_stops_when_the_interval_is_narrow(whyperf: Whyperf, tmp_path: Path) -> None:
    text = profile_text(**LEVELS).replace("trials = 1", "trials_min = 3\ntrials_max = 40\ninterval_width = 10")
    (tmp_path / "until.toml").write_text(text)
    done = whyperf("run", "until.toml", *LOOPBACK, "--out", "results", "--json")
    assert done.status == 0, done.err
    # Ten times the median is any interval: the least number is enough.
    assert [cell["trials"] for cell in done.json["cells"]] == [3, 3, 3, 3]
    assert "unfinished" not in {warning["code"] for warning in done.json["warnings"]}
    again = whyperf("run", "until.toml", *LOOPBACK, "--out", "results", "--json")
    assert again.json == done.json
