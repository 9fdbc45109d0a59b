"""The profile for pprof, read by `go tool pprof`."""

import gzip
import os
import re
import shutil
import subprocess
from pathlib import Path

import polars as pl
import pytest

from tests.unit.analyze import synthetic as made
from tests.unit.analyze.cost.cost_samples import Stack, report, tables, used
from tests.unit.analyze.cost.sampled_results import SENDER, add_samples
from tests.unit.analyze.made_frames import frames_of_partitions
from whyperf.analyze.cost.budget import WeighedStacks, weighed_stacks
from whyperf.analyze.cost.pprof import pprof_profile
from whyperf.cli.app import main


def pprof(*arguments: object) -> str:
    """What `go tool pprof` prints."""
    go = shutil.which("go")
    if go is None:
        pytest.skip("no go that reads the profile (https://go.dev/doc/install)")
    command = [go, "tool", "pprof", *map(str, arguments)]
    done = subprocess.run(
        command, env={**os.environ, "GOTOOLCHAIN": "local"}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def flat(text: str) -> dict[str, tuple[int, int]]:
    """What `-top` prints: the cycles of each function, without and with those that it calls."""
    rows = re.findall(r"^ *(-?\d+) +\S+ +\S+ +(-?\d+) +\S+ +(.+)$", text, re.MULTILINE)
    return {name: (int(own), int(all_)) for own, all_, name in rows}


def test_functions_have_their_cycles_and_those_of_what_they_call(tmp_path: Path) -> None:
    weighed = weighed_stacks(
        *tables(SENDER), report(710, lost=10), used(load_threads_ns=1e9, softirq_tracepoints_ns=1e8)
    )
    profile = made.known(pprof_profile(weighed))
    (tmp_path / "cost.pb.gz").write_bytes(profile)
    printed = pprof("-top", "-nodecount=0", "-nodefraction=0", tmp_path / "cost.pb.gz")
    assert "Type: tsc_reference_cycles" in printed
    assert "File: [kernel]" in printed
    found = flat(printed)
    # 580 samples are of the load's threads, which used 2e9 cycles; 20 % of the softirqs are elsewhere.
    threads, elsewhere = 2e9 * 700 / 710 / 580, 2e8 * 0.2 * 700 / 710 / 20
    assert found["_copy_from_iter"][0] == found["_copy_from_iter"][1] == pytest.approx(400 * threads, abs=2)
    assert found["tcp_sendmsg"][0] == 0
    assert found["tcp_sendmsg"][1] == pytest.approx(570 * threads, abs=4)
    assert found["tcp_ack"][0] == pytest.approx(80 * threads + 20 * elsewhere, abs=2)
    assert found["[Not attributed]"][0] == pytest.approx(2.04e9 * 10 / 710, abs=2)
    counted = pprof("-top", "-nodecount=0", "-nodefraction=0", "-sample_index=samples", tmp_path / "cost.pb.gz")
    assert flat(counted)["_copy_from_iter"] == (400, 400)


def test_cycles_of_different_units_are_never_added_or_compared(tmp_path: Path) -> None:
    of_tsc = weighed_stacks(*tables(SENDER), report(700), used())
    of_pmu = weighed_stacks(*tables(SENDER), report(700), used(pmu_cycles=1e6, role="receiver"))
    assert pprof_profile(of_tsc, "c0009") is None
    both = WeighedStacks(
        pl.concat([of_tsc.stacks, of_pmu.stacks.with_columns(pl.col("stack") + 100)]),
        of_tsc.rest,
        pl.concat([of_tsc.frames, of_pmu.frames.with_columns(pl.col("stack") + 100)]),
    )
    for name, weighed in (("tsc", of_tsc), ("pmu", of_pmu), ("both", both)):
        profile = made.known(pprof_profile(weighed))
        (tmp_path / f"{name}.pb.gz").write_bytes(profile)
    pmu, tsc = (
        sum(own for own, _ in flat(pprof("-top", f"-sample_index={unit}", tmp_path / "both.pb.gz")).values())
        for unit in ("pmu_cycles", "tsc_reference_cycles")
    )
    assert (pmu, tsc) == (1_000_000, 2160)
    # Only samples are in both.
    assert "Type: samples" in pprof("-top", "-diff_base", tmp_path / "tsc.pb.gz", tmp_path / "pmu.pb.gz")


def test_stacks_have_no_frame_each(monkeypatch: pytest.MonkeyPatch) -> None:
    """A forged result may have millions of stacks: a frame takes 5 KB."""
    stacks: list[Stack] = [("load", "process", f"main tcp_{place}", 1 + place) for place in range(30)]
    weighed = weighed_stacks(*tables(stacks), report(9), used())
    frames = frames_of_partitions(monkeypatch)
    profile = gzip.decompress(made.known(pprof_profile(weighed)))
    assert max(frames, default=0) < 20
    assert all(profile.count(f"tcp_{place}".encode()) for place in range(30))


def test_a_record_that_somebody_changed_has_numbers_that_fit() -> None:
    stacks, functions = tables([("load", "process", "main", 1)])
    changed = stacks.with_columns(pl.lit(2**64 - 1, pl.UInt64).alias("samples_count"))
    weighed = weighed_stacks(changed, functions, report(1), used(load_threads_ns=1e300))
    assert pprof_profile(weighed) is not None


def test_the_command_writes_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = made.write(tmp_path / "stream", [made.Trial(duration_s=2)])
    path = tmp_path / "cost.pb.gz"
    assert main(["cost", str(folder), "--pprof", str(path)]) == 1
    assert not path.exists()
    add_samples(folder)
    assert main(["cost", str(folder), "--pprof", str(path)]) == 0
    assert gzip.decompress(path.read_bytes())
    assert main(["cost", str(folder), "--pprof", str(tmp_path / "none" / "cost.pb.gz")]) == 2
    assert "cost.pb.gz: No such file or directory" in capsys.readouterr().err
