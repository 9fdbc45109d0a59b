"""Every command on watched results: they name connections, and say nothing of settings that nobody made."""

import csv
import io
import json
import tarfile
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.unit.watch.watched_samples import SeenConnection, question, sent
from tests.whole.records.golden import output, unpack
from whyperf.analyze import Summary, summarize
from whyperf.cli import main
from whyperf.explain.experiment import TrialQuestion, gathered
from whyperf.record import Experiment
from whyperf.report import write
from whyperf.watch.record import keep_watched

TRIALS = Path(__file__).parents[2] / "unit" / "explain" / "trials.tar.xz"
OF_OWN_LOAD = (
    "write size",
    "read size",
    "--trials",
    "--retry-failed",
    "duration_s",
    "warmup_s",
    "interval_ms",
    "--set ",
    "whyperf's own threads",
    "--try",
)
"""What only a measurement of our own has."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Watched results, by name: `one` side of two connections at counters, `both` sides of them, `logged` with the
    segment log of a sender, `reader` with that of a receiver, `local` with both sockets on one host.
    """
    made = tmp_path_factory.mktemp("watched")
    unpack("stream-counters", made)
    with tarfile.open(TRIALS) as archive:
        archive.extractall(made / "logs", filter="data")
    counted, logs = made / "results/stream-counters/trials/001-c0001", made / "logs"
    near = [SeenConnection(counted, "near", 0, {"whole": False}), SeenConnection(counted, "near", 1)]
    results = {
        "one": ([sent(made / "a", near)], {"evidence": "counters"}),
        "both": (
            [
                sent(made / "b", near),
                sent(made / "c", [SeenConnection(counted, "far", 0), SeenConnection(counted, "far", 1)], "far"),
            ],
            {"evidence": "counters", "far_host": "server"},
        ),
        "logged": ([sent(made / "d", [SeenConnection(logs / "random-loss", "near")])], {"evidence": "segments"}),
        "reader": ([sent(made / "e", [SeenConnection(logs / "slow-reader", "near")])], {"evidence": "segments"}),
        "local": (
            [sent(made / "f", [SeenConnection(counted, "near", 0), SeenConnection(counted, "far", 0)])],
            {"evidence": "counters"},
        ),
    }
    for name, (sides, asked) in results.items():
        keep_watched(made / name, question(**asked), sides).close()
    return made


@pytest.fixture
def here(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The results in the current folder."""
    monkeypatch.chdir(folder)
    return folder


def summary(folder: Path, name: str) -> Summary:
    return summarize(Experiment.open(folder / name))


NAMES = ("one", "both", "logged", "reader", "local")


@pytest.mark.parametrize("name", NAMES)
def test_the_rate_is_that_of_the_watched_direction(name: str, folder: Path) -> None:
    experiment = Experiment.open(folder / name)
    for cell in summary(folder, name).cells:
        trial = experiment.folder / "trials" / f"001-{cell.id}"
        manifest = json.loads((trial / "manifest.json").read_text())
        receivers = [host for host, end in manifest["hosts"].items() if end["role"] == "receiver"]
        counted = (receivers or list(manifest["hosts"]))[0]
        rows = pl.read_parquet(trial / f"intervals.{counted}.parquet")
        seconds = (max(rows["end_mono_ns"].to_list()) - min(rows["start_mono_ns"].to_list())) / 1e9
        assert cell.goodput_bps.median == pytest.approx(8 * int(rows["payload_bytes"].sum()) / seconds, rel=1e-6)
        assert cell.trials == 1
        assert cell.unsteady_trials == 0
        assert cell.cut is None


def test_both_directions_are_there_with_what_was_seen(folder: Path) -> None:
    first, second = summary(folder, "one").cells
    assert first.watched is not None
    assert second.watched is not None
    assert [cell.watched.is_whole for cell in (first, second) if cell.watched] == [True, False]
    assert (first.watched.program, first.watched.process, first.watched.hosts) == ("iperf3", 4000, ["near"])
    assert first.watched.local == "198.18.0.1:48966"
    assert first.watched.sent_bps == pytest.approx(first.goodput_bps.median, rel=0.01)
    # The preamble of the measured trial and nothing more.
    assert first.watched.received_bytes == 48
    assert second.watched.received_bytes is not None
    assert second.watched.received_bytes <= 48


@pytest.mark.usefixtures("here")
def test_show_names_the_connection_and_the_program() -> None:
    single = output("show", "logged").text
    assert "Program         iperf3 (process 4000)" in single
    assert "Connection      198.18.0.1:36650 → 198.18.0.2:39649" in single
    assert "Watched         2.01 s, from its first segment on, near side only" in single
    assert "the program's threads" in single
    table = output("show", "one", "--notes").text
    assert "iperf3 198.18.0.1:48966 → 198.18.0.2:41887" in table
    assert "Other" in table
    assert "1 of 2 connections was there before the watch began." in table


@pytest.mark.parametrize("name", ["one", "logged"])
@pytest.mark.parametrize("command", [("show", "--warnings"), ("explain",), ("flow",), ("report",)])
def test_no_command_speaks_of_a_load_of_our_own(name: str, command: tuple[str, ...], here: Path) -> None:
    printed = output(command[0], name, *command[1:])
    assert printed.status in {0, 3}
    text = printed.text
    if command[0] == "report":
        page = (here / name / "report.html").read_text()
        text = page[page.index("<body>") : page.index('<section id="terms">')]
        assert "iperf3" in text
    for word in OF_OWN_LOAD:
        assert word not in text, word


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("name", ["one", "local"])
def test_json_names_the_connection_in_the_place_of_factors(name: str) -> None:
    document = json.loads(output("show", name, "--json").text)
    assert document["origin"] == "watched"
    assert document["testbed"] == "watched"
    for cell in document["cells"]:
        assert list(cell["factors"]) == ["connection"]
        assert cell["factors"]["connection"].startswith("iperf3 198.18.0.")
        assert cell["watched"]["local"] in cell["factors"]["connection"]
        assert cell["calls"] == {"sender": None, "receiver": None}
        assert cell["start"] is None
        assert cell["setup"] is None
        assert cell["window"]["requested_bytes"] is None


def test_the_command_of_somebody_elses_watch_is_not_named(folder: Path, tmp_path: Path) -> None:
    theirs = tmp_path / "theirs"
    seen = [SeenConnection(folder / "results/stream-counters/trials/001-c0001", "near", 0)]
    given = question(command_line="whyperf watch :80 -- touch hacked", evidence="counters")
    keep_watched(theirs, given, [sent(tmp_path / "sent", seen)]).close()

    def named() -> tuple[str, bool]:
        experiment = Experiment.open(theirs)
        trial = next(iter(experiment.trials().manifests))
        found = gathered(experiment, TrialQuestion(experiment.plan.cells[0].id, trial))
        page = write(experiment, summarize(experiment)).read_text()
        return found.setup.command, "<code>whyperf watch :80 -- touch hacked</code>" in page

    assert named() == ("touch hacked", True)
    (theirs / "seal").unlink()
    assert named() == ("", False)


@pytest.mark.usefixtures("here")
def test_what_changes_or_repeats_a_measurement_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    refusals = {
        ("explain", "one", "--cell", "c0001", "--try"): "whyperf changes none of its settings",
        ("run", "./one"): "holds results; `whyperf show ./one` shows them",
        ("show", "one", "--format", "uperf"): "needs transactions",
        ("cost", "one"): "watch with --evidence profile",
    }
    for command, reason in refusals.items():
        capsys.readouterr()
        assert main(command) in {1, 2}
        said = capsys.readouterr().err
        assert reason in said
        assert "resumes" not in said


def compared(*arguments: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(output("compare", *arguments, "--json").text)
    return document


@pytest.mark.usefixtures("here")
def test_compare_pairs_by_program_and_port() -> None:
    found = compared("one", "both")
    assert [(pair["a"]["cell"], pair["b"]["cell"]) for pair in found["pairs"]] == [
        ("c0001", "c0001"),
        ("c0002", "c0002"),
    ]
    assert found["pairs"][0]["setting"] == {"program": "iperf3", "port": "41887", "direction": "send"}
    assert {condition["kind"] for condition in found["conditions"]} <= {"host", "plan"}
    assert all(row["name"] not in {"calls_sender", "calls_receiver"} for row in found["pairs"][0]["quantities"])
    (note,) = [note for note in found["notes"] if "watched" in note]
    assert "nothing can be tested" in note
    assert "none could be tested" in output("compare", "one", "both").text


def test_an_anonymized_copy_names_nobody_and_shows_the_same(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    trial = folder / "logs" / "random-loss"
    watched = {
        "program": "secretd",
        "executable": "/opt/secret/bin/secretd",
        "process": 31337,
        "user": 4711,
        "control_group": "/customer.slice/secret.service",
    }
    part = SeenConnection(trial, "near", 0, watched, local="10.77.0.1:4000", remote="[2001:db8:77::9]:443")
    side = sent(tmp_path / "side", [part])
    asked = question(command_line="whyperf watch --program secretd db.example", selection={"programs": ["secretd"]})
    keep_watched(tmp_path / "kept", asked, [side]).close()
    before = json.loads(output("show", "kept", "--json").text)
    assert main(("export", "kept", "--anonymize", "--out", "copy")) == 0
    after = json.loads(output("show", "copy", "--json").text)
    assert after["cells"][0]["goodput_bps"] == before["cells"][0]["goodput_bps"]
    assert after["cells"][0]["watched"]["program"] == "process-1"
    texts = [path.read_text() for path in (tmp_path / "copy").rglob("*") if path.suffix in {".json", ".toml"}]
    frames = [pl.read_parquet(path) for path in (tmp_path / "copy").rglob("*.parquet")]
    texts += [str(value) for frame in frames for column in frame.get_columns() for value in column.unique().to_list()]
    for secret in ("secret", "10.77.0.1", "2001:db8:77::9", "customer", "db.example", "31337", "4711"):
        assert not [text for text in texts if secret in text], secret
    copied = pl.read_parquet(tmp_path / "copy/trials/001-c0001/watched.near.parquet").row(0, named=True)
    assert copied["process"] == after["cells"][0]["watched"]["process"]
    assert copied["local_address"] == after["cells"][0]["watched"]["local"]
    assert copied["local_address"].endswith(":4000")


@pytest.mark.usefixtures("here")
def test_csv_has_columns_of_the_connection() -> None:
    rows = list(csv.DictReader(io.StringIO(output("show", "one", "--csv").text)))
    assert [row["program"] for row in rows] == ["iperf3", "iperf3"]
    assert [row["whole"] for row in rows] == ["true", "false"]
    assert "write_size_bytes" not in rows[0]
    assert float(rows[0]["sent_bps"]) > 1e9
