"""`--evidence profile` and `whyperf cost`: stacks of real loads, and the budget made of them."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.e2e.conftest import Ours
from tests.e2e.whyperf_command import Done, whyperf
from whyperf.record import Experiment

pytestmark = pytest.mark.root

#: What a busy host may leave of a second's samples without a name or a stack.
MAX_NOT_ATTRIBUTED = 0.1


@pytest.fixture
def folder(ours: Ours, tmp_path: Path) -> Path:
    """A folder in which nothing of ours is left on the host afterwards."""
    assert ours
    return tmp_path


def run(folder: Path, *options: object) -> Done:
    """Measures into `result`."""
    done = whyperf("run", "-t", "1", *options, "--no-report", "--out", "result", folder=folder)
    assert done.status in {0, 3}, done.err
    return done


def cost(folder: Path, *options: object) -> dict[str, Any]:
    """The cost budget of `result`."""
    done = whyperf("cost", "result", "--json", *options, folder=folder)
    assert done.status == 0, done.err
    found: dict[str, Any] = json.loads(done.out)
    return found


def sides(found: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The sides of the only cell, by role."""
    (cell,) = found["cells"]
    return {side["role"]: side for side in cell["sides"]}


def named(side: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The classes of a side by name."""
    return {entry["name"]: entry for entry in side["classes"]}


def test_parts_add_up_to_what_the_load_s_threads_and_softirqs_used(folder: Path) -> None:
    run(folder, "--trials", "3", "--evidence", "profile")
    found = cost(folder)
    result = json.loads(whyperf("show", "result", "--json", folder=folder).out)
    for role, side in sides(found).items():
        assert len(side["trials"]) == 3
        classes, total = named(side), side["total"]["mean"]
        assert sum(entry["exclusive"]["mean"] for entry in classes.values()) == pytest.approx(total, rel=1e-9)
        for entry in classes.values():
            functions = [function["exclusive"]["mean"] for function in entry["functions"]]
            assert sum(functions) == pytest.approx(entry["exclusive"]["mean"], rel=1e-9)
            for function in entry["functions"]:
                assert function["inclusive"] is None or function["inclusive"] >= function["exclusive"]["mean"] * 0.999
        assert side["in_threads"] + side["in_softirqs"] == pytest.approx(total, rel=1e-9)
        # `run` prints what the threads and ksoftirqd used: nearly the same, without softirqs on an idle CPU.
        assert total > 0.9 * result["cells"][0]["cycles_per_kbyte"][role]
        assert classes.get("not_attributed", {"share": 0})["share"] < MAX_NOT_ATTRIBUTED
        assert side["total"]["low"] <= total <= side["total"]["high"]
    sender, receiver = named(sides(found)["sender"]), named(sides(found)["receiver"])
    assert "_copy_from_iter" in {function["name"] for function in sender["copy"]["functions"]}
    assert "_copy_to_iter" in {function["name"] for function in receiver["copy"]["functions"]}
    assert sender["system_calls"]["per"] == "calls"


def test_small_writes_cost_more_calls_for_each_kbyte(folder: Path) -> None:
    run(folder, "-l", "1K,64K", "--evidence", "profile")
    by_size = {cell["factors"]["write_size_bytes"]: cell["sides"][0] for cell in cost(folder)["cells"]}
    small, large = named(by_size[1024]), named(by_size[65536])
    assert small["system_calls"]["per_kbyte"] == pytest.approx(1, rel=0.01)
    assert large["system_calls"]["per_kbyte"] < 0.05
    assert small["system_calls"]["exclusive"]["mean"] > 3 * large["system_calls"]["exclusive"]["mean"]


def test_samples_cover_the_time_that_is_measured(folder: Path) -> None:
    run(folder, "--evidence", "profile", "--profile-hz", "499")
    (trial,) = Experiment.open(folder / "result").trials().manifests.values()
    for end in trial.hosts.values():
        report = end.evidence["profile"]
        assert (report["frequency_hz"], report["reason"], report["lost_samples_count"]) == (499, None, 0)
        expected = (report["end_mono_ns"] - report["start_mono_ns"]) / 1e9 * len(report["cpus"]) * 499
        # A halted CPU gives none.
        assert 0 < report["samples_count"] <= expected * 1.02
        assert end.evidence["asked"] == "counters"


def test_without_bpf_counters_the_threads_are_the_total(folder: Path) -> None:
    run(folder, "--evidence", "user,profile")
    for side in sides(cost(folder)).values():
        assert side["in_threads"] > 0
        assert "data_packets_out" not in {entry["per"] for entry in side["classes"]}


def test_a_profile_of_its_own_asks_for_samples(folder: Path) -> None:
    text = 'about = "x"\n[design]\ntrials = 1\nprofile_hz = 97\n[fixed]\nduration_s = 0.5\n'
    (folder / "own.toml").write_text(text)
    done = whyperf("run", "./own.toml", "--no-report", "--out", "result", folder=folder)
    assert done.status in {0, 3}, done.err
    assert sides(cost(folder)).keys() == {"sender", "receiver"}
    done = whyperf("run", "./own.toml", "--evidence", "counters", "--no-report", "--out", "none", folder=folder)
    assert done.status in {0, 3}, done.err
    assert whyperf("cost", "none", folder=folder).status == 1


def test_folded_lines_hold_the_samples_that_the_budget_is_made_of(folder: Path) -> None:
    run(folder, "--evidence", "profile")
    done = whyperf("cost", "result", "--folded", "stacks.txt", folder=folder)
    assert done.status == 0, done.err
    lines = [line.rsplit(" ", 1) for line in (folder / "stacks.txt").read_text().splitlines()]
    for role, side in sides(cost(folder)).items():
        found = sum(int(count) for stack, count in lines if stack.startswith(f"c0001;{role};"))
        assert found == side["samples"]
    assert any("entry_SYSCALL" in stack and stack.endswith(";_copy_from_iter") for stack, _ in lines)
    done = whyperf("cost", "result", "--folded", "none/stacks.txt", folder=folder)
    assert (done.status, "--folded none/stacks.txt: No such file or directory" in done.sentence) == (2, True)


def test_the_report_draws_the_budget_of_both_sides(folder: Path) -> None:
    run(folder, "--workload", "rr", "--evidence", "profile")
    assert whyperf("report", "result", folder=folder).status == 0
    text = (folder / "result" / "report.html").read_text()
    assert text.count("<ul class='flame'>") == 2
    for role, side in sides(cost(folder)).items():
        for entry in side["classes"]:
            each = [function["per_transaction"]["mean"] for function in entry["functions"]]
            assert sum(each) == pytest.approx(entry["per_transaction"]["mean"], rel=1e-9)
        total = side["per_transaction"]["mean"]
        assert sum(entry["per_transaction"]["mean"] for entry in side["classes"]) == pytest.approx(total, rel=1e-9)
        assert f"<b>{role} <i>{total:,.0f} · 100 %</i></b>" in text
    done = whyperf("cost", "result", "--pprof", "cost.pb.gz", folder=folder)
    assert (done.status, (folder / "cost.pb.gz").read_bytes()[:2]) == (0, b"\x1f\x8b"), done.err


def test_a_result_without_samples_says_how_to_get_them(folder: Path) -> None:
    run(folder)
    done = whyperf("cost", "result", folder=folder)
    assert done.status == 1
    assert done.sentence == "whyperf: result has no stack samples; measure with --evidence profile"


def test_a_cell_that_is_not_there_is_named(folder: Path) -> None:
    run(folder, "--evidence", "profile")
    done = whyperf("cost", "result", "c0009", folder=folder)
    assert (done.status, done.sentence) == (2, "whyperf: result has no cell c0009; it has c0001")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (
            ("--evidence", "stacks"),
            '--evidence "stacks" is not known; give user, counters, segments, profile or stages',
        ),
        (("--evidence", "user,segments"), "--evidence: user and segments exclude each other"),
        (("--evidence", "counters", "--profile-hz", "97"), "--profile-hz 97 is for --evidence profile"),
        (("--evidence", "profile", "--profile-hz", "0"), "--profile-hz 0 is not from 1 to 20000"),
        (("--profile-hz", "30000"), "--profile-hz 30000 is not from 1 to 20000"),
    ],
)
def test_what_cannot_be_asked_for_is_one_sentence(folder: Path, options: tuple[str, ...], sentence: str) -> None:
    done = whyperf("run", *options, folder=folder)
    assert done.status == 2
    assert sentence in done.sentence


def change(folder: Path, tables: Mapping[str, pl.DataFrame | None], **profile: object) -> None:
    """Changes tables of the only trial, None for none, and what the near side reports of its samples."""
    (trial,) = (folder / "result" / "trials").glob("001-*")
    manifest = json.loads((trial / "manifest.json").read_text())
    for name, table in tables.items():
        if table is None:
            (trial / name).unlink()
            del manifest["tables"][name]
        else:
            table.write_parquet(trial / name)
            manifest["tables"][name] = (trial / name).stat().st_size
    manifest["hosts"]["near"]["evidence"].update(profile)
    (trial / "manifest.json").write_text(json.dumps(manifest))


def table(folder: Path, name: str) -> pl.DataFrame:
    """A table of the only trial."""
    (path,) = (folder / "result" / "trials").glob(f"001-*/{name}")
    return pl.read_parquet(path)


def test_a_record_that_somebody_changed_breaks_nothing(folder: Path) -> None:
    run(folder, "--evidence", "profile")
    (trial,) = Experiment.open(folder / "result").trials().manifests.values()
    report = trial.hosts["near"].evidence["profile"]
    changes: tuple[object, ...] = (3, [], {}, {**report, "samples_count": -1}, {**report, "event": 7})
    for profile in changes:
        change(folder, {}, profile=profile)
        assert sides(cost(folder)).keys() == {"receiver"}
    stacks, functions = table(folder, "stacks.near.parquet"), table(folder, "functions.far.parquet")
    change(folder, {"stacks.near.parquet": stacks.with_columns(functions=pl.lit("x 99999999999 -1"))}, profile=report)
    assert named(sides(cost(folder))["sender"]).keys() == {"not_attributed", "own_tracing"}
    change(folder, {"functions.far.parquet": functions.drop("kind")})
    assert whyperf("cost", "result", folder=folder).status in {0, 1}
    change(folder, {"functions.far.parquet": None, "stacks.far.parquet": None})
    assert whyperf("cost", "result", folder=folder).status == 0


def test_an_anonymous_copy_names_no_program_and_costs_the_same(folder: Path) -> None:
    run(folder, "--evidence", "profile")
    stacks, functions = table(folder, "stacks.near.parquet"), table(folder, "functions.near.parquet")
    program = stacks.head(1).with_columns(group=pl.lit("other"), context=pl.lit("process"), program=pl.lit("acmed"))
    own = {"function": functions.height, "name": "acme_secret", "object": "/opt/acme/d", "kind": "program"}
    added = functions.head(1).with_columns(**{name: pl.lit(value) for name, value in own.items()})
    changed = {
        "stacks.near.parquet": pl.concat([stacks, program], how="vertical_relaxed"),
        "functions.near.parquet": pl.concat([functions, added], how="vertical_relaxed").cast(functions.schema),
    }
    change(folder, changed)
    done = whyperf("export", "result", "--anonymize", "--out", "copy", folder=folder)
    assert done.status == 0, done.err
    texts = set()
    for name in changed:
        (path,) = (folder / "copy" / "trials").glob(f"001-*/{name}")
        texts |= {str(value) for column in pl.read_parquet(path) for value in column.unique()}
    assert not any("acme" in text for text in texts)
    assert {"program", "function"} <= {text.partition("-")[0] for text in texts}
    copied = json.loads(whyperf("cost", "copy", "--json", folder=folder).out)
    for role, side in sides(cost(folder)).items():
        classes = {name: entry["exclusive"] for name, entry in named(side).items()}
        assert {name: entry["exclusive"] for name, entry in named(sides(copied)[role]).items()} == classes
