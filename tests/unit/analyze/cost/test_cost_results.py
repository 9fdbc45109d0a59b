"""The cost budget of a record: per KByte and per transaction."""

import json
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from tests.unit.analyze import synthetic as made
from tests.unit.analyze.cost.cost_samples import Stack
from tests.unit.analyze.cost.sampled_results import SENDER, add_samples
from tests.unit.analyze.made_frames import frames_of_partitions
from tests.unit.analyze.workload_samples import Exchange, in_blocks
from tests.unit.analyze.workload_samples import write as write_exchanges
from whyperf.analyze import summarize_inputs
from whyperf.analyze.cost.classes import NOT_ATTRIBUTED
from whyperf.analyze.cost.result import SideCost
from whyperf.analyze.cost.samples import MAX_NAME_CHARACTERS
from whyperf.analyze.cost.stored_budget import read_cost, read_stacks
from whyperf.analyze.read.record import read_inputs
from whyperf.record import Experiment

PER_S = (1000.0, 1250.0, 800.0)
REQUEST_BYTES = (100, 900, 400)
#: Payload of a transaction, with 300 bytes of response.
KBYTES = tuple((size + 300) / 1024 for size in REQUEST_BYTES)


@pytest.fixture(scope="module")
def exchanged(tmp_path_factory: pytest.TempPathFactory) -> tuple[SideCost, ...]:
    """The sides of transactions, with another rate and size in each trial."""
    folder = tmp_path_factory.mktemp("results") / "rr"
    trials = in_blocks(Exchange(made.Trial(duration_s=2)), PER_S)
    sized = zip(trials, REQUEST_BYTES, strict=True)
    write_exchanges(folder, [replace(trial, request_bytes=size) for trial, size in sized])
    (cell,) = read_cost(add_samples(folder)).cells
    assert cell.metric == "transactions"
    return cell.sides


def test_parts_per_transaction_add_up_to_the_total(exchanged: tuple[SideCost, ...]) -> None:
    assert [side.role for side in exchanged] == ["sender", "receiver"]
    for side in exchanged:
        assert side.per_transaction is not None
        # The CPU is 80 % or 60 % busy whatever the rate, so slow trials cost more: the mean of quotients counts.
        sums = {"per_transaction": 0.0, "exclusive": 0.0}
        for entry in side.classes:
            for name in sums:
                parts = [getattr(function, name).mean for function in entry.functions]
                assert sum(parts) == pytest.approx(getattr(entry, name).mean, rel=1e-12)
                sums[name] += getattr(entry, name).mean
        assert sums["per_transaction"] == pytest.approx(side.per_transaction.mean, rel=1e-12)
        assert sums["exclusive"] == pytest.approx(side.total.mean, rel=1e-12)
        assert made.known(side.per_transaction.low) < side.per_transaction.mean


def test_a_transaction_costs_the_cycles_of_a_trial_by_its_transactions(exchanged: tuple[SideCost, ...]) -> None:
    sender = exchanged[0]
    each = [value * kbytes for value, kbytes in zip(sender.by_trial, KBYTES, strict=True)]
    assert made.known(sender.per_transaction).mean == pytest.approx(sum(each) / 3, rel=1e-3)
    # A CPU with a fixed load, at each rate.
    cycles = [value * rate for value, rate in zip(each, PER_S, strict=True)]
    assert cycles == pytest.approx([cycles[0]] * 3, rel=1e-2)


def test_what_a_function_calls_is_per_transaction_too(exchanged: tuple[SideCost, ...]) -> None:
    functions = [function for entry in exchanged[0].classes for function in entry.functions]
    assert {function.name for function in functions} >= {"_copy_from_iter", "tcp_ack", "main"}
    for function in functions:
        assert (function.inclusive is None) == (function.inclusive_per_transaction is None)
    # A function that calls nothing.
    (leaf,) = [function for function in functions if function.name == "_copy_from_iter"]
    assert leaf.per_transaction is not None
    assert leaf.inclusive_per_transaction == pytest.approx(leaf.per_transaction.mean)
    (other,) = [function for function in functions if function.name == "ip_queue_xmit"]
    assert leaf.per_transaction.mean / made.known(other.per_transaction).mean == pytest.approx(400 / 90)


def test_streams_have_no_cost_per_transaction(tmp_path: Path) -> None:
    experiment = add_samples(made.write(tmp_path / "stream", [made.Trial(duration_s=2)]))
    (cell,) = read_cost(experiment).cells
    assert cell.metric == "goodput"
    for side in cell.sides:
        assert side.per_transaction is None
        assert {entry.per_transaction for entry in side.classes} == {None}


def test_samples_without_cycles_are_named(tmp_path: Path) -> None:
    folder = tmp_path / "rr"
    write_exchanges(folder, in_blocks(Exchange(made.Trial(duration_s=2)), PER_S))
    experiment = add_samples(folder, lost=0)
    for path in (folder / "trials").glob("*/manifest.json"):
        manifest = json.loads(path.read_text())
        manifest["hosts"]["far"]["tsc_hz"] = None
        path.write_text(json.dumps(manifest))
    found = read_cost(experiment)
    assert [side.role for side in found.cells[0].sides] == ["sender"]
    (note,) = found.notes
    assert note.startswith("Samples of the far side have no cycles to split: its time stamp counter")


@pytest.mark.parametrize(("lost", "notes"), [(300, 1), (7, 0), (8, 1)])
def test_samples_that_were_lost_are_named(tmp_path: Path, lost: int, notes: int) -> None:
    """From 1 % on. Of 700 samples that were kept, `lost` ones more were taken."""
    folder = made.write(tmp_path / "lost", [made.Trial(duration_s=2)])
    experiment = add_samples(folder, {"near": SENDER}, lost=lost)
    found = read_cost(experiment)
    assert [note.partition(" (")[0] for note in found.notes] == [
        f"The budget of the near side is incomplete: {lost} of {700 + lost:,} samples"
    ] * notes
    (side,) = found.cells[0].sides
    (rest,) = [entry for entry in side.classes if entry.name == NOT_ATTRIBUTED]
    assert rest.exclusive.mean >= side.total.mean * lost / (700 + lost) * 0.99
    raised = [
        warning for warning in summarize_inputs(read_inputs(experiment)).warnings if warning.code == "lost_samples"
    ]
    assert len(raised) == notes


def test_a_name_of_30_mb_is_refused_with_its_table(tmp_path: Path) -> None:
    """The file has it once, in 9 KB; what was made of its rows took 108 GB."""
    folder = made.write(tmp_path / "bomb", [made.Trial(duration_s=2)])
    add_samples(folder, {"near": SENDER})
    (path,) = folder.glob("trials/*/functions.near.parquet")
    frame = pl.read_parquet(path)
    name = pl.Series("name", ["A" * 30_000_000]).cast(pl.Categorical).new_from_index(0, frame.height)
    frame.with_columns(name).write_parquet(path)
    assert path.stat().st_size < 20_000
    found = read_cost(Experiment.open(folder))
    assert any("it has a text of 30,000,000 bytes" in note for note in found.notes)
    assert read_stacks(Experiment.open(folder)) is not None


def test_small_functions_have_no_frame_each(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A forged result may have millions of names: a frame takes 5 KB."""
    small: list[Stack] = [("load", "process", f"main tcp_small_{place}", 1) for place in range(100)]
    large: list[Stack] = [("load", "process", f"main tcp_large_{place}", 10_000) for place in range(5)]
    folder = made.write(tmp_path / "many", [made.Trial(duration_s=2)])
    experiment = add_samples(folder, {"near": [*small, *large]}, lost=0)
    frames = frames_of_partitions(monkeypatch)
    found = read_cost(experiment)
    assert max(frames) < 20
    (side,) = found.cells[0].sides
    functions = [function for entry in side.classes for function in entry.functions]
    shown = {function.name: function for function in functions if function.name is not None}
    assert shown.keys() == {f"tcp_large_{place}" for place in range(5)}
    assert all(function.inclusive == pytest.approx(function.exclusive.mean) for function in shown.values())
    assert sum(function.samples for function in functions) == 50_100
    assert sum(function.exclusive.mean for function in functions) == pytest.approx(side.total.mean)


def test_values_by_function_and_trial_have_a_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The dearest ones have a row."""
    stacks: list[Stack] = [("load", "process", f"main tcp_{place}", 10 + place) for place in range(9)]
    experiment = add_samples(
        made.write(tmp_path / "many", made.blocks_of(made.Trial(duration_s=2), [1e9] * 2)), {"near": stacks}
    )
    monkeypatch.setattr("whyperf.analyze.cost.result.MAX_VALUES", 6)
    (side,) = read_cost(experiment).cells[0].sides
    names = [function.name for entry in side.classes for function in entry.functions if function.name is not None]
    assert names == ["tcp_8", "tcp_7", "tcp_6"]


def test_names_are_cut_where_they_stand_once_for_each_stack(tmp_path: Path) -> None:
    folder = made.write(tmp_path / "long", [made.Trial(duration_s=2)])
    long = "tcp_" + "x" * 3 * MAX_NAME_CHARACTERS
    found = read_stacks(add_samples(folder, {"near": [("load", "process", f"main {long}", 9)]}))
    assert found is not None
    assert found[0].frames["name"].to_list() == ["main", long[:MAX_NAME_CHARACTERS]]
