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
from tests.unit.analyze.cost.cost_samples import report, tables, used
from tests.unit.analyze.cost.sampled_results import SENDER, add_samples
from whyperf.analyze.cost.budget import WeighedStacks, trial_rows, weighed_stacks
from whyperf.analyze.cost.pprof import pprof_profile
from whyperf.analyze.cost.read import read_stacks
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


def sampled(folder: Path) -> WeighedStacks:
    """Two trials each of two cells, with samples on both hosts."""
    trials = [
        made.Trial(cell=cell, block=block, duration_s=2, rate_bps=rate, factors={"write_size_bytes": size})
        for cell, rate, size in (("c0001", 1e9, 1024), ("c0002", 3e9, 65536))
        for block in (1, 2)
    ]
    found = read_stacks(add_samples(made.write(folder, trials)))
    assert found is not None
    return found[0]


def flat(text: str) -> dict[str, tuple[int, int]]:
    """What `-top` prints: the cycles of each function, without and with those that it calls."""
    rows = re.findall(r"^ *(-?\d+) +\S+ +\S+ +(-?\d+) +\S+ +(.+)$", text, re.MULTILINE)
    return {name: (int(own), int(all_)) for own, all_, name in rows}


def totals(weighed: WeighedStacks) -> dict[tuple[str, str], float]:
    exclusive, _ = trial_rows(weighed)
    sums = exclusive.group_by("cell", "role").agg(pl.col("cycles").sum())
    return {(cell, role): cycles for cell, role, cycles in sums.iter_rows()}


def test_samples_of_a_side_add_up_to_its_cycles(tmp_path: Path) -> None:
    weighed = sampled(tmp_path / "two")
    expected = totals(weighed)
    assert len(expected) == 4
    for cell in ("c0001", "c0002"):
        profile = pprof_profile(weighed, cell)
        assert profile is not None
        (tmp_path / "cost.pb.gz").write_bytes(profile)
        printed = pprof("-tags", tmp_path / "cost.pb.gz")
        for role in ("sender", "receiver"):
            (cycles,) = re.findall(rf"(\d+) \([^)]*\): {role}$", printed, re.MULTILINE)
            assert int(cycles) == round(expected[cell, role])
        assert "c0001" in printed if cell == "c0001" else "c0001" not in printed


def test_functions_have_their_cycles_and_those_of_what_they_call(tmp_path: Path) -> None:
    weighed = weighed_stacks(
        *tables(SENDER), report(710, lost=10), used(load_threads_ns=1e9, softirq_tracepoints_ns=1e8)
    )
    profile = pprof_profile(weighed)
    assert profile is not None
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


def test_the_difference_of_two_profiles(tmp_path: Path) -> None:
    weighed = sampled(tmp_path / "two")
    for cell in ("c0001", "c0002"):
        profile = pprof_profile(weighed, cell)
        assert profile is not None
        (tmp_path / f"{cell}.pb.gz").write_bytes(profile)
    before, after = tmp_path / "c0001.pb.gz", tmp_path / "c0002.pb.gz"
    every = ("-top", "-nodecount=0", "-nodefraction=0")
    assert set(flat(pprof(*every, "-diff_base", before, before)).values()) <= {(0, 0)}
    first, second = flat(pprof(*every, before)), flat(pprof(*every, after))
    for name, (own, all_) in flat(pprof(*every, "-diff_base", before, after)).items():
        assert (own, all_) == (second[name][0] - first[name][0], second[name][1] - first[name][1])


def test_cycles_of_different_units_are_never_added_or_compared(tmp_path: Path) -> None:
    of_tsc = weighed_stacks(*tables(SENDER), report(700), used())
    of_pmu = weighed_stacks(*tables(SENDER), report(700), used(pmu_cycles=1e6, role="receiver"))
    both = WeighedStacks(
        pl.concat([of_tsc.stacks, of_pmu.stacks.with_columns(pl.col("stack") + 100)]),
        of_tsc.rest,
        pl.concat([of_tsc.frames, of_pmu.frames.with_columns(pl.col("stack") + 100)]),
    )
    for name, weighed in (("tsc", of_tsc), ("pmu", of_pmu), ("both", both)):
        profile = pprof_profile(weighed)
        assert profile is not None
        (tmp_path / f"{name}.pb.gz").write_bytes(profile)
    pmu, tsc = (
        sum(own for own, _ in flat(pprof("-top", f"-sample_index={unit}", tmp_path / "both.pb.gz")).values())
        for unit in ("pmu_cycles", "tsc_reference_cycles")
    )
    assert (pmu, tsc) == (1_000_000, 2160)
    # Only samples are in both.
    assert "Type: samples" in pprof("-top", "-diff_base", tmp_path / "tsc.pb.gz", tmp_path / "pmu.pb.gz")


def test_a_record_that_somebody_changed_has_numbers_that_fit() -> None:
    stacks, functions = tables([("load", "process", "main", 1)])
    changed = stacks.with_columns(pl.lit(2**64 - 1, pl.UInt64).alias("samples_count"))
    weighed = weighed_stacks(changed, functions, report(1), used(load_threads_ns=1e300))
    assert pprof_profile(weighed) is not None


def test_the_same_stacks_give_the_same_bytes(tmp_path: Path) -> None:
    weighed = sampled(tmp_path / "two")
    first, again = pprof_profile(weighed), pprof_profile(weighed)
    assert first is not None
    assert first == again
    assert b"tcp_sendmsg" in gzip.decompress(first)
    assert pprof_profile(weighed, "c0009") is None


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
