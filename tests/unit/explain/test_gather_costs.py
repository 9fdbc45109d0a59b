"""The cost budget of a record as facts, read once and only where something was sampled."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.unit.analyze import synthetic as made
from tests.unit.analyze.cost.cost_samples import Stack
from tests.unit.analyze.cost.sampled_results import RECEIVER, add_samples
from whyperf.analyze.cost.stored_budget import read_cost
from whyperf.explain.causes import Cause
from whyperf.explain.experiment import explain_experiment
from whyperf.explain.gather import costs_of, with_costs
from whyperf.explain.gather import processors as gathering
from whyperf.explain.trial_facts import Facts
from whyperf.record import Experiment, RecordError


@pytest.fixture
def sampled(tmp_path: Path) -> Experiment:
    """Three trials with samples of both sides."""
    # A sender whose CPU is the limit, with softirqs on other CPUs, too.
    busy = {"sender": 0.97, "receiver": 0.6}
    softirqs = {"sender": 0.3, "receiver": 0.3}
    trial = made.Trial(duration_s=2, busy=busy, load_share=0.97, traced_softirq=softirqs, announced_bytes=1 << 21)
    return add_samples(made.write(tmp_path / "result", made.blocks_of(trial, [1e9, 1.1e9, 0.9e9])))


def shares(found: Facts, role: str) -> dict[str, float]:
    cost = found.sender.cost if role == "sender" else found.receiver.cost
    assert cost is not None
    return {entry.name: round(cost.share(entry.name), 3) for entry in cost.classes}


def test_facts_are_the_budget_of_the_cell(sampled: Experiment) -> None:
    costs, missing = costs_of(sampled, sampled.trials())
    assert missing == []
    (cell,) = read_cost(sampled).cells
    found = with_costs(Facts("001-c0001"), costs["c0001"])
    for side, facts in zip(cell.sides, (found.sender.cost, found.receiver.cost), strict=True):
        assert facts is not None
        assert facts.total() == pytest.approx(side.total.mean)
        assert facts.samples == side.samples
        assert facts.total("threads") == pytest.approx(side.in_threads)
        assert facts.total("softirqs") == pytest.approx(side.in_softirqs)
        assert [entry.name for entry in facts.classes] == [entry.name for entry in side.classes]
    assert found.sender.cost is not None
    copy = found.sender.cost.of_class("copy")
    assert copy is not None
    assert copy.functions == ("_copy_from_iter",)
    assert copy.of("softirqs") == 0
    assert (copy.low or 0) <= copy.cycles <= (copy.high or 0)


def test_a_class_has_its_parts(sampled: Experiment) -> None:
    (cell,) = read_cost(sampled).cells
    (acks,) = [entry for entry in cell.sides[0].classes if entry.name == "acks"]
    # 80 samples on top of the load's threads, 20 elsewhere.
    assert acks.in_threads is not None
    assert 0 < acks.in_threads < acks.exclusive.mean
    assert sum(entry.in_threads or 0 for entry in cell.sides[0].classes) == pytest.approx(cell.sides[0].in_threads)


def test_roles_of_a_cost_are_those_of_the_trial(sampled: Experiment) -> None:
    cell = costs_of(sampled, sampled.trials())[0]["c0001"]
    found, turned = (with_costs(Facts("001-c0001", is_turned=turned), cell) for turned in (False, True))
    assert (shares(turned, "sender"), shares(turned, "receiver")) == (
        shares(found, "receiver"),
        shares(found, "sender"),
    )
    assert shares(found, "sender") != shares(found, "receiver")


def test_functions_without_a_name_are_not_named(tmp_path: Path) -> None:
    stacks: dict[str, Sequence[Stack]] = {"near": [("load", "process", "main unknown", 300)], "far": RECEIVER}
    experiment = add_samples(made.write(tmp_path / "result", [made.Trial(duration_s=2)]), stacks)
    found = with_costs(Facts("001-c0001"), costs_of(experiment, experiment.trials())[0]["c0001"])
    assert found.sender.cost is not None
    assert [entry.functions for entry in found.sender.cost.classes if entry.functions] == []


def test_nothing_is_read_without_samples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: Experiment) -> None:
        raise AssertionError("read without need")

    monkeypatch.setattr(gathering, "read_cost", fail)
    experiment = Experiment.open(made.write(tmp_path / "result", [made.Trial(duration_s=2)]))
    assert costs_of(experiment, experiment.trials()) == ({}, [])
    found = Facts("001-c0001")
    assert with_costs(found, None) is found


def test_samples_are_read_once_for_all_cells_and_only_for_those_asked_for(
    sampled: Experiment, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[Experiment] = []

    def counted(experiment: Experiment) -> object:
        calls.append(experiment)
        return read_cost(experiment)

    monkeypatch.setattr(gathering, "read_cost", counted)
    explain_experiment(sampled)
    assert len(calls) == 1
    costs_of(sampled, sampled.trials(), {"c0002"})
    assert len(calls) == 1


def test_samples_that_cannot_be_read_are_missing_and_the_rest_is_explained(
    sampled: Experiment, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: Experiment) -> None:
        raise RecordError("stacks.near.parquet is damaged")

    monkeypatch.setattr(gathering, "read_cost", fail)
    found = explain_experiment(sampled)
    assert any("stacks.near.parquet is damaged" in line for line in found.missing)
    assert found.cells[0].verdicts


def test_an_explanation_of_samples_names_them(sampled: Experiment) -> None:
    found = explain_experiment(sampled)
    verdict = next(verdict for verdict in found.cells[0].verdicts if verdict.cause is Cause.CAPACITY)
    assert verdict.code == "capacity.sampled"
    assert verdict.values["class"] == "Copying payload"
    assert "Copying payload" in verdict.claim
