"""`--evidence profile` and `whyperf cost`: stacks of real loads, and the budget made of them."""

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.e2e.conftest import Ours
from tests.e2e.whyperf_command import Done, whyperf
from whyperf.record import Experiment

pytestmark = pytest.mark.root

#: What a busy host may leave of the samples without a name or a stack.
MAX_NOT_ATTRIBUTED = 0.1
SMALL, LARGE = 1024, 65536
FREQUENCY_HZ = 1499
TRIALS = 2


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with `result`: writes of two sizes, sampled. No test changes it."""
    folder = tmp_path_factory.mktemp("cost")
    run(folder, "-t", "1", "-l", "1K,64K", "--trials", TRIALS, "--evidence", "profile", "--profile-hz", FREQUENCY_HZ)
    return folder


@pytest.fixture
def folder(ours: Ours, tmp_path: Path) -> Path:
    """A folder in which nothing of ours is left on the host afterwards."""
    assert ours
    return tmp_path


def run(folder: Path, *options: object) -> Done:
    """Measures into `result`."""
    time = () if "-t" in options else ("-t", "0.4")
    options = (*time, "--set", "warmup_s=0.1", *options, "--no-report", "--out", "result")
    done = whyperf("run", *options, folder=folder)
    assert done.status in {0, 3}, done.err
    return done


def cost(folder: Path, *options: object) -> list[dict[str, dict[str, Any]]]:
    """The cost budget of `result`: for each cell, the sides by their role."""
    done = whyperf("cost", "result", "--json", *options, folder=folder)
    assert done.status == 0, done.err
    return [{side["role"]: side for side in cell["sides"]} for cell in json.loads(done.out)["cells"]]


def named(side: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The classes of a side by name."""
    return {entry["name"]: entry for entry in side["classes"]}


def test_parts_add_up_to_what_the_load_s_threads_and_softirqs_used(shared: Path) -> None:
    result = json.loads(whyperf("show", "result", "--json", folder=shared).out)
    for cell, sides in zip(result["cells"], cost(shared), strict=True):
        for role, side in sides.items():
            assert len(side["trials"]) == TRIALS
            classes, total = named(side), side["total"]["mean"]
            assert sum(entry["exclusive"]["mean"] for entry in classes.values()) == pytest.approx(total, rel=1e-9)
            for entry in classes.values():
                functions = [function["exclusive"]["mean"] for function in entry["functions"]]
                assert sum(functions) == pytest.approx(entry["exclusive"]["mean"], rel=1e-9)
                for function in entry["functions"]:
                    least = function["exclusive"]["mean"] * 0.999
                    assert function["inclusive"] is None or function["inclusive"] >= least
            assert side["in_threads"] + side["in_softirqs"] == pytest.approx(total, rel=1e-9)
            # `run` prints what the threads and ksoftirqd used: nearly the same, without softirqs on an idle CPU.
            assert total > 0.9 * cell["cycles_per_kbyte"][role]
            assert classes.get("not_attributed", {"share": 0})["share"] < MAX_NOT_ATTRIBUTED
        sender, receiver = named(sides["sender"]), named(sides["receiver"])
        assert "_copy_from_iter" in {function["name"] for function in sender["copy"]["functions"]}
        assert "_copy_to_iter" in {function["name"] for function in receiver["copy"]["functions"]}


def test_small_writes_cost_more_calls_for_each_kbyte(shared: Path) -> None:
    small, large = (named(sides["sender"])["system_calls"] for sides in cost(shared))
    assert small["per"] == large["per"] == "calls"
    assert small["per_kbyte"] == pytest.approx(1, rel=0.01)
    assert large["per_kbyte"] == pytest.approx(SMALL / LARGE, rel=0.05)
    assert small["exclusive"]["mean"] > 3 * large["exclusive"]["mean"]


def test_samples_cover_the_time_that_is_measured(shared: Path) -> None:
    for trial in Experiment.open(shared / "result").trials().manifests.values():
        for end in trial.hosts.values():
            report = end.evidence["profile"]
            assert (report["frequency_hz"], report["reason"], report["lost_samples_count"]) == (FREQUENCY_HZ, None, 0)
            window_s = (report["end_mono_ns"] - report["start_mono_ns"]) / 1e9
            # A halted CPU gives none.
            assert 0 < report["samples_count"] <= window_s * len(report["cpus"]) * FREQUENCY_HZ * 1.02
            assert end.evidence["asked"] == "counters"


def test_folded_lines_hold_the_samples_that_the_budget_is_made_of(shared: Path, tmp_path: Path) -> None:
    stacks = tmp_path / "stacks.txt"
    done = whyperf("cost", "result", "--folded", stacks, folder=shared)
    assert done.status == 0, done.err
    lines = [line.rsplit(" ", 1) for line in stacks.read_text().splitlines()]
    for number, sides in enumerate(cost(shared), start=1):
        for role, side in sides.items():
            found = sum(int(count) for stack, count in lines if stack.startswith(f"c000{number};{role};"))
            assert found == side["samples"]
    assert any("entry_SYSCALL" in stack and stack.endswith(";_copy_from_iter") for stack, _ in lines)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--folded", "none/stacks.txt"), "--folded none/stacks.txt: No such file or directory"),
        (("c0009",), "whyperf: result has no cell c0009; it has c0001"),
    ],
)
def test_what_the_result_does_not_have_is_named(shared: Path, options: tuple[str, ...], sentence: str) -> None:
    done = whyperf("cost", "result", *options, folder=shared)
    assert (done.status, sentence in done.sentence) == (2, True)


def test_without_bpf_counters_the_threads_are_the_total(folder: Path) -> None:
    run(folder, "--evidence", "user,profile")
    (sides,) = cost(folder)
    for side in sides.values():
        assert side["in_threads"] > 0
        assert "data_packets_out" not in {entry["per"] for entry in side["classes"]}


def test_a_profile_asks_for_samples_unless_the_command_line_does_not(folder: Path) -> None:
    text = 'about = "x"\n[design]\ntrials = 1\nprofile_hz = 97\n[fixed]\nduration_s = 0.3\nwarmup_s = 0\n'
    (folder / "own.toml").write_text(text)
    done = whyperf("run", "./own.toml", "--no-report", "--out", "result", folder=folder)
    assert done.status in {0, 3}, done.err
    assert cost(folder)[0].keys() == {"sender", "receiver"}
    done = whyperf("run", "./own.toml", "--evidence", "counters", "--no-report", "--out", "none", folder=folder)
    assert done.status in {0, 3}, done.err
    done = whyperf("cost", "none", folder=folder)
    assert done.status == 1
    assert done.sentence == "whyperf: none has no stack samples; measure with --evidence profile"


def test_the_report_draws_the_budget_of_both_sides(folder: Path) -> None:
    run(folder, "--workload", "rr", "--evidence", "profile")
    assert whyperf("report", "result", folder=folder).status == 0
    text = (folder / "result" / "report.html").read_text()
    assert text.count("<ul class='flame'>") == 2
    (sides,) = cost(folder)
    for role, side in sides.items():
        total = side["per_transaction"]["mean"]
        assert sum(entry["per_transaction"]["mean"] for entry in side["classes"]) == pytest.approx(total, rel=1e-9)
        assert f"<b>{role} <i>{total:,.0f} · 100 %</i></b>" in text
    done = whyperf("cost", "result", "--pprof", "cost.pb.gz", folder=folder)
    assert (done.status, (folder / "cost.pb.gz").read_bytes()[:2]) == (0, b"\x1f\x8b"), done.err


@pytest.fixture
def changeable(shared: Path, tmp_path: Path) -> Path:
    """A folder with a copy of the result, of its first trial of small writes alone."""
    copied = tmp_path / "result"
    shutil.copytree(shared / "result", copied)
    (copied / "seal").unlink()
    for trial in (copied / "trials").iterdir():
        if not trial.name.startswith("001-c0001"):
            shutil.rmtree(trial)
    return tmp_path


def change(folder: Path, tables: Mapping[str, pl.DataFrame]) -> None:
    """Changes tables of the only trial."""
    (trial,) = (folder / "result" / "trials").glob("001-*")
    manifest = json.loads((trial / "manifest.json").read_text())
    for name, table in tables.items():
        table.write_parquet(trial / name)
        manifest["tables"][name] = (trial / name).stat().st_size
    (trial / "manifest.json").write_text(json.dumps(manifest))


def table(folder: Path, name: str) -> pl.DataFrame:
    """A table of the only trial."""
    (path,) = (folder / "result" / "trials").glob(f"001-*/{name}")
    return pl.read_parquet(path)


def test_an_anonymous_copy_names_no_program_and_costs_the_same(changeable: Path) -> None:
    stacks, functions = table(changeable, "stacks.near.parquet"), table(changeable, "functions.near.parquet")
    program = stacks.head(1).with_columns(group=pl.lit("other"), context=pl.lit("process"), program=pl.lit("acmed"))
    own = {"function": functions.height, "name": "acme_secret", "object": "/opt/acme/d", "kind": "program"}
    added = functions.head(1).with_columns(**{name: pl.lit(value) for name, value in own.items()})
    changed = {
        "stacks.near.parquet": pl.concat([stacks, program], how="vertical_relaxed"),
        "functions.near.parquet": pl.concat([functions, added], how="vertical_relaxed").cast(functions.schema),
    }
    change(changeable, changed)
    before = cost(changeable)
    done = whyperf("export", "result", "--anonymize", "--out", "copy", folder=changeable)
    assert done.status == 0, done.err
    texts = set()
    for name in changed:
        (path,) = (changeable / "copy" / "trials").glob(f"001-*/{name}")
        texts |= {str(value) for column in pl.read_parquet(path) for value in column.unique()}
    assert not any("acme" in text for text in texts)
    assert {"program", "function"} <= {text.partition("-")[0] for text in texts}
    shutil.rmtree(changeable / "result")
    (changeable / "copy").rename(changeable / "result")
    copied = cost(changeable)[0]
    for role, side in before[0].items():
        means, of_copy = (
            {name: entry["exclusive"]["mean"] for name, entry in named(each).items()} for each in (side, copied[role])
        )
        # Other names stand in another order, which the last digit of a sum depends on.
        assert of_copy == pytest.approx(means)
