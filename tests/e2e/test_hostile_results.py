"""Results and profiles made to do harm: verbs answer with a sentence, in little memory, and leave files alone."""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import polars as pl
import pytest

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


@pytest.mark.parametrize(
    "name", ["report.html", "explain.json", f"flow-{LOG}.html", f"flow-{LOG}", "seal", "verifies.json"]
)
@pytest.mark.parametrize("form", ["{}", ".{}.partial"])
def test_what_verbs_write_never_goes_through_a_link(result: Path, victim: Path, name: str, form: str) -> None:
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
        path.write_bytes(run_of(rows))


def long_text(result: Path) -> None:
    """One text of 2 GB in about 70 KB."""
    for path in result.glob("trials/*/*.parquet"):
        if path.name.startswith(("segments.far", "intervals.far")):
            frame = pl.select(role=pl.concat_str(pl.lit("a" * (1 << 20)), pl.lit("b")).repeat_by(1).list.first())
            frame = frame.select(pl.concat_str([pl.col("role")] * 1000).alias("role"))
            frame.write_parquet(path, compression="zstd", compression_level=19, statistics=False)
            assert path.stat().st_size < 200_000


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


def run_of(rows: int) -> bytes:
    """A Parquet file whose only column is so many times the number 7."""

    def number(value: int) -> bytes:
        found = b""
        while value > 127:
            found, value = found + bytes([value & 127 | 128]), value >> 7
        return found + bytes([value])

    def field(step: int, value: int, kind: int = 6) -> bytes:
        return bytes([step << 4 | kind]) + number(value << 1)

    def text(step: int, value: bytes) -> bytes:
        return bytes([step << 4 | 8]) + number(len(value)) + value

    word = (7).to_bytes(8, "little")
    dictionary = field(1, 2) + field(1, 8) + field(1, 8) + b"\x4c" + field(1, 1) + field(1, 0) + b"\0\0"
    run = b"\x01" + number(rows << 1) + b"\0"
    page = field(1, 0, 5) + field(1, len(run), 5) + field(1, len(run), 5) + b"\x2c"
    page += b"".join(field(1, value, 5) for value in (rows, 8, 3, 3)) + b"\0\0"
    dictionary = dictionary.replace(b"\x16", b"\x15")
    start = len(b"PAR1")
    chunk_bytes = len(dictionary + word + page + run)
    data_at = start + len(dictionary + word)
    root = text(4, b"root") + field(1, 1, 5) + b"\0"
    leaf = field(1, 2, 5) + field(2, 0, 5) + text(1, b"payload_bytes") + b"\0"
    column = field(1, 2, 5) + b"\x19\x25" + number(0) + number(16) + b"\x19\x18" + text(0, b"payload_bytes")[1:]
    column += field(1, 0, 5) + field(1, rows) + field(1, chunk_bytes) + field(1, chunk_bytes)
    column += field(2, data_at) + field(2, start) + b"\0"
    group = b"\x19\x1c" + field(2, 0) + b"\x1c" + column + b"\0" + field(1, chunk_bytes) + field(1, rows) + b"\0"
    footer = field(1, 1, 5) + b"\x19\x2c" + root + leaf + field(1, rows) + b"\x19\x1c" + group + b"\0"
    return b"PAR1" + dictionary + word + page + run + footer + len(footer).to_bytes(4, "little") + b"PAR1"


def test_the_file_by_hand_is_one_that_polars_reads(tmp_path: Path) -> None:
    """So that it is refused above for its size and nothing else."""
    (tmp_path / "few.parquet").write_bytes(run_of(100))
    assert pl.read_parquet(tmp_path / "few.parquet")["payload_bytes"].to_list() == [7] * 100
