"""Results and profiles made to do harm: verbs answer with a sentence, in little memory, and leave files alone."""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import polars as pl
import pytest

from tests.e2e import parquet_by_hand
from tests.e2e.whyperf_command import Done, whyperf
from whyperf.cli import main

Attack = Callable[[Path], None]

LOG = "log01-c0008"
VERBS = ("show", "explain", "flow", "report")
#: More than loading the libraries takes, and far less than what the tables below declare.
MEMORY_KBYTES = 1_500_000


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


def bounded(folder: Path, *options: str) -> Done:
    """Runs a verb that may take so much memory; what dies of it, or shows a traceback, fails the test."""
    limit = ("prlimit", f"--data={MEMORY_KBYTES * 1024}")
    return whyperf(*options, folder=folder, before=limit, environment={"POLARS_MAX_THREADS": "2"}, timeout_s=120)


WRITTEN = ("report.html", "report.json", "explain.json", f"flow-{LOG}.html", f"flow-{LOG}", "verifies.json")


# What has no seal of this user is not read, so that the seal is tried alone.
@pytest.mark.parametrize("names", [WRITTEN, ("seal",)], ids=["all", "seal"])
@pytest.mark.parametrize("form", ["{}", ".{}.partial"])
def test_what_verbs_write_never_goes_through_a_link(
    result: Path, victim: Path, names: tuple[str, ...], form: str
) -> None:
    for name in names:
        path = result / form.format(name)
        path.unlink(missing_ok=True)
        path.symlink_to(victim)
    for verb in ("explain", "flow", "report"):
        assert main([verb, str(result)]) in {0, 3}


def other_columns(result: Path) -> None:
    trial = result / "trials" / LOG
    shutil.copy(trial / "intervals.near.parquet", trial / "segments.near.parquet")


def other_kinds(result: Path) -> None:
    path = result / "trials" / LOG / "segments.near.parquet"
    pl.read_parquet(path).select(pl.all().cast(pl.String)).write_parquet(path)


def no_numbers(result: Path) -> None:
    path = result / "trials" / LOG / "segments.near.parquet"
    pl.read_parquet(path).with_columns(pl.col(pl.UInt64).cast(pl.Float64) * float("nan")).write_parquet(path)


def large_numbers(result: Path) -> None:
    path = result / "trials" / LOG / "segments.near.parquet"
    pl.read_parquet(path).with_columns(pl.lit(2**64 - 1, pl.UInt64).alias("segment_mono_ns")).write_parquet(path)


def many_rows(result: Path) -> None:
    """A billion rows in 30 KB."""
    for path in result.glob("trials/*/*.parquet"):
        if path.name.startswith(("segments.near", "intervals.near", "flows.far")):
            pl.select(payload_bytes=pl.repeat(1, 10**7, dtype=pl.UInt8).cast(pl.UInt64)).write_parquet(path)
            content = path.read_bytes()
            assert len(content) < 80_000
            path.write_bytes(content)
    declared_rows(result, 10**9)


def declared_rows(result: Path, rows: int) -> None:
    """A file by hand: one run of so many equal values, which the footer declares too."""
    for path in result.glob("trials/*/intervals.near.parquet"):
        path.write_bytes(parquet_by_hand.equal_numbers("payload_bytes", rows))


def long_text(result: Path) -> None:
    """One text of 1 GB in about 40 KB."""
    made = parquet_by_hand.long_text("role", 1 << 30)
    assert len(made) < 40_000
    for path in result.glob("trials/*/*.parquet"):
        if path.name.startswith(("segments.far", "intervals.far")):
            path.write_bytes(made)


def deep_manifest(result: Path) -> None:
    (result / "trials" / LOG / "manifest.json").write_text('{"a":' * 200_000 + "1" + "}" * 200_000)


def deep_part_of_the_manifest(result: Path) -> None:
    path = result / "trials" / LOG / "manifest.json"
    manifest = path.read_text().rstrip().removesuffix("}")
    path.write_text(f'{manifest}, "more": {"[" * 900 + "]" * 900}}}')


def deep_explanation(result: Path) -> None:
    (result / "explain.json").write_text("[" * 200_000 + "]" * 200_000)


def deep_plan(result: Path) -> None:
    (result / "plan.json").write_text("[" * 200_000 + "]" * 200_000)


def deep_host(result: Path) -> None:
    (result / "hosts" / "near.json").write_text("[" * 200_000 + "]" * 200_000)


def huge_documents(result: Path) -> None:
    for name in ("explain.json", f"trials/{LOG}/manifest.json", "trials/pack-00001/manifests.jsonl", "testbed.json"):
        with (result / name).open("ab") as file:
            file.truncate(1 << 40)


def many_values(result: Path) -> None:
    (result / "hosts" / "near.json").write_text("[" + "[]," * 5_000_000 + "0]")


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
        *(other_columns, other_kinds, no_numbers, large_numbers),
        *(deep_manifest, deep_part_of_the_manifest, deep_explanation, deep_plan, deep_host),
        *(huge_documents, fifos),
    ],
)
def test_no_verb_breaks_on_a_hostile_record(result: Path, attack: Attack, capsys: pytest.CaptureFixture[str]) -> None:
    attack(result)
    for verb in VERBS:
        assert answer(capsys, verb, result) in {0, 1, 3}, verb


@pytest.mark.parametrize("attack", [many_rows, long_text, many_values])
def test_no_verb_takes_memory_for_what_a_record_declares(result: Path, attack: Attack) -> None:
    attack(result)
    for verb in ("show", "explain"):
        done = bounded(result.parent, verb, "result")
        # `show` does not read what a host is.
        assert done.status in ({0, 1, 3} if attack is many_values else {1, 3}), (verb, done.err)


def deep_arrays() -> str:
    return f"fixed = {'[' * 100_000}"


def deep_tables() -> str:
    return f"[{'.'.join(['a'] * 5_000)}]\n"


def deep_inline() -> str:
    return f"a = {'{ a = ' * 50_000}1{' }' * 50_000}"


@pytest.mark.parametrize("text", [deep_arrays, deep_tables, deep_inline])
def test_a_deep_profile_is_a_mistake_of_the_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], text: Callable[[], str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("deep.toml").write_text(text())
    Path("deep.xml").write_text("<a>" * 100_000)
    for options in (
        ("run", "deep.toml"),
        ("run", "deep.xml"),
        ("run", "--workload", "./deep.toml"),
        ("simulate", "./deep.toml"),
        ("simulate", "rr-ack", "--hosts", "./deep.toml"),
    ):
        assert answer(capsys, *options) == 2, options


def test_the_files_by_hand_are_some_that_polars_reads(tmp_path: Path) -> None:
    """So that they are refused above for their size and nothing else."""
    (tmp_path / "few.parquet").write_bytes(parquet_by_hand.equal_numbers("payload_bytes", 100))
    assert pl.read_parquet(tmp_path / "few.parquet")["payload_bytes"].to_list() == [7] * 100
    (tmp_path / "text.parquet").write_bytes(parquet_by_hand.long_text("role", 1 << 20))
    assert pl.read_parquet(tmp_path / "text.parquet")["role"].to_list() == ["a" * (1 << 20)]
