"""The public kinds of reports: that they are whole, can be planned, and how answers to them are counted."""

from pathlib import Path

import pytest

from lab.situations.labels import NO_CAUSE, UNCLEAR, Label, Labels
from lab.situations.reports import CATALOG, print_reports, run, total, void_of
from lab.situations.why import JudgedWhy
from lab.truth import Catalog, load_catalog, plan_truth, roles_of
from whyperf.cli.exits import UsageError
from whyperf.explain.causes import Cause

COVERED = {
    *("receive_buffer", "send_buffer", "window_scaling", "memory_limit", "receiver_loss", "nagle_delayed_ack"),
    *("delayed_ack", "round_trip", "think_time", "slow_reader", "slow_writer", "pacing_rate", "asked_rate"),
    *("tiny_writes", "read_size", "connection_setup", "cpu_quota", "other_load", "shared_cpu", "small_mtu"),
    *("offloads_off", "pause", "local_queue", "policer", "bottleneck", "small_queue", "random_loss", "burst_loss"),
    *("reordering", "ack_path", "shared_bottleneck"),
}


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return load_catalog(CATALOG)


def test_each_report_has_one_cause_that_exists_and_says_what_it_stands_for(catalog: Catalog) -> None:
    names = [situation.name for situation in catalog.situation]
    assert len(names) == len(set(names)) >= 30
    for situation in catalog.situation:
        (cause,) = situation.ingredient
        # What is accepted is a cause of today, not only one that may come.
        assert set(cause.causes) <= set(Cause) - {Cause.NOT_KNOWN}, situation.name
        assert cause.name != NO_CAUSE, situation.name
        assert situation.about, situation.name
        assert situation.report, situation.name
    accepted = {cause for situation in catalog.situation for part in situation.ingredient for cause in part.causes}
    assert accepted >= COVERED


def test_nothing_of_a_report_is_at_that_level_without_its_cause(catalog: Catalog) -> None:
    for situation in catalog.situation:
        base = catalog.baseline[situation.baseline].factors | situation.factors
        (cause,) = situation.ingredient
        assert not cause.factors.items() & base.items(), situation.name


def test_every_report_can_be_planned_without_a_log(catalog: Catalog) -> None:
    _, plan = plan_truth(catalog, trials=2, logs=0)
    assert [cell.sweep for cell in plan.cells] == [role.sweep for role in roles_of(catalog)]
    assert plan.log_blocks == ()
    assert plan.trials_count == 2 * 2 * len(catalog.situation)


def test_a_dry_run_plans_and_prints_them(capsys: pytest.CaptureFixture[str], tmp_path: Path, catalog: Catalog) -> None:
    assert run(out=tmp_path / "none", dry_run=True) == 0
    text = capsys.readouterr().out
    for situation in catalog.situation:
        assert f"{situation.name}  {situation.about}\n  stands for: {situation.report}\n" in text
    assert run(["nagle"], dry_run=True) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "1 report, at most 8 trials"
    assert not (tmp_path / "none").exists()


def test_a_report_that_is_not_there_is_one_sentence() -> None:
    with pytest.raises(UsageError, match="there is no situation nothing; --dry-run lists them"):
        run(["nothing"], dry_run=True)


def row(name: str) -> JudgedWhy:
    causes: tuple[tuple[str, ...], tuple[str, ...]] = (("local_queue",), ("policer",))
    right, found = causes
    none = (None, None, None)
    return JudgedWhy(
        name, "local_queue", right, True, found, "likely", "wrong", "", *none, 8, 11.2, "nothing_to_learn", ()
    )


def test_what_does_not_count_is_void_and_printed_so(capsys: pytest.CaptureFixture[str], catalog: Catalog) -> None:
    wanted = ("tiny-writes", "one-cpu-for-both", "busy-host", "policer-of-packets")
    part = catalog.without({situation.name for situation in catalog.situation} - set(wanted))
    situations = {situation.name: situation for situation in part.situation}
    known = {
        name: Label(situations[name], {"it": raises}, raises, situations[name].ingredient if raises > 1.15 else ())
        for name, raises in (("one-cpu-for-both", 0.9), ("busy-host", 2.0), ("policer-of-packets", 3.0))
    }
    labels, rows = Labels(known, {"tiny-writes": UNCLEAR}), [row("policer-of-packets")]
    void = void_of(part, labels, {"policer-of-packets"})
    assert void == {
        "tiny-writes": UNCLEAR,
        "one-cpu-for-both": "without its cause the rate is 0.90 times as high, and 1.15 would count",
        "busy-host": "the experiments could not be made",
    }
    assert total(rows, void) == (
        "4 reports: 3 void, 1 judged: 0 right, 0 candidate, 0 not known, 1 wrong; 11.2 s each (median)"
    )
    print_reports(part, labels, rows)
    lines = capsys.readouterr().out.splitlines()
    (judged,) = [line.split() for line in lines if line.startswith("policer-of-packets")]
    assert judged == ["policer-of-packets", "wrong", "likely", "11.2", "policer", "3.00", "×"]
    assert [line for line in lines if line.startswith("void")] == [f"void: {name}: {void[name]}" for name in void]
    assert lines[-1] == total(rows, void)


def test_without_any_judged_report_there_is_no_median() -> None:
    assert total([], {"it": UNCLEAR}) == "1 report: 1 void, 0 judged: 0 right, 0 candidate, 0 not known, 0 wrong"
