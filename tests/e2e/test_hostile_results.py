"""Results and profiles made to do harm: verbs answer with a sentence, and leave files alone."""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import polars as pl
import pytest

from whyperf.cli import main

Attack = Callable[[Path], None]

LOG = "log01-c0008"
VERBS = ("show", "explain", "flow", "report")


@pytest.fixture(scope="module")
def simulated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A result with a log trial, from the model: quick, and the same everywhere."""
    folder = tmp_path_factory.mktemp("hostile") / "result"
    options = ("--hosts", "sparc2+sba-100@2.2.6", "--only", "sweep=throughput", "--only", "window_bytes=4096")
    cell = ("--only", "write_size_bytes=4096", "--set", "transfer_bytes=200000", "--trials", "1", "--log")
    assert main(["simulate", "window-sweep", *options, *cell, "--out", str(folder)]) in {0, 3}
    assert (folder / "trials" / LOG).is_dir()
    return folder


@pytest.fixture
def result(simulated: Path, tmp_path: Path) -> Path:
    shutil.copytree(simulated, tmp_path / "result")
    (tmp_path / "result" / "explain.json").unlink(missing_ok=True)
    return tmp_path / "result"


@pytest.fixture
def victim(tmp_path: Path) -> Iterator[Path]:
    """A file of the user, which must stay as it is."""
    path = tmp_path / "precious"
    path.write_text("precious")
    yield path
    assert path.read_text() == "precious"


WRITTEN = ("report.html", "report.json", "explain.json", f"flow-{LOG}.html", f"flow-{LOG}", "why.json")


# What has no seal of this user is not read, so that the seal is tried alone.
@pytest.mark.parametrize("names", [WRITTEN, ("seal",)], ids=["all", "seal"])
def test_what_verbs_write_never_goes_through_a_link(result: Path, victim: Path, names: tuple[str, ...]) -> None:
    for name in names:
        path = result / name
        path.unlink(missing_ok=True)
        path.symlink_to(victim)
    for verb in ("explain", "flow", "report"):
        assert main([verb, str(result)]) in {0, 3}


def other_columns(result: Path) -> None:
    trial = result / "trials" / LOG
    shutil.copy(trial / "intervals.near.parquet", trial / "segments.near.parquet")


def no_numbers(result: Path) -> None:
    path = result / "trials" / LOG / "segments.near.parquet"
    pl.read_parquet(path).with_columns(pl.col(pl.UInt64).cast(pl.Float64) * float("nan")).write_parquet(path)


def large_numbers(result: Path) -> None:
    path = result / "trials" / LOG / "segments.near.parquet"
    pl.read_parquet(path).with_columns(pl.lit(2**64 - 1, pl.UInt64).alias("segment_mono_ns")).write_parquet(path)


def deep_manifest(result: Path) -> None:
    (result / "trials" / LOG / "manifest.json").write_text('{"a":' * 200_000 + "1" + "}" * 200_000)


def deep_explanation(result: Path) -> None:
    (result / "explain.json").write_text("[" * 200_000 + "]" * 200_000)


def huge_documents(result: Path) -> None:
    for name in ("explain.json", f"trials/{LOG}/manifest.json", "trials/pack-00001/manifests.jsonl", "testbed.json"):
        with (result / name).open("ab") as file:
            file.truncate(1 << 40)


def fifos(result: Path) -> None:
    for path in (result / "explain.json", result / "trials" / LOG / "segments.near.parquet", result / "testbed.json"):
        path.unlink(missing_ok=True)
        os.mkfifo(path)


def answer(capsys: pytest.CaptureFixture[str], *options: object) -> int:
    """The exit code of a verb in this process; what it says is short and no traceback."""
    status = main([str(word) for word in options])
    said = capsys.readouterr().err
    assert "internal error" not in said
    assert "Traceback" not in said
    assert all(len(line) < 500 for line in said.splitlines()), said
    return status


@pytest.mark.parametrize(
    "attack",
    [
        *(other_columns, no_numbers, large_numbers),
        *(deep_manifest, deep_explanation, huge_documents, fifos),
    ],
)
def test_no_verb_breaks_on_a_hostile_record(result: Path, attack: Attack, capsys: pytest.CaptureFixture[str]) -> None:
    attack(result)
    for verb in VERBS:
        assert answer(capsys, verb, result) in {0, 1, 3}, verb


def test_a_deep_profile_is_a_mistake_of_the_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of all kinds of depth, see tests/unit/foreign."""
    monkeypatch.chdir(tmp_path)
    Path("deep.toml").write_text(f"fixed = {'[' * 100_000}")
    Path("deep.xml").write_text("<a>" * 100_000)
    for options in (("run", "deep.toml"), ("run", "deep.xml"), ("run", "--workload", "./deep.toml")):
        assert answer(capsys, *options) == 2, options
