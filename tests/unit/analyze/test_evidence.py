"""What the evidence of an experiment is worth, and what is reported of it."""

from collections.abc import Mapping
from typing import Any

import pytest

from tests.unit.analyze import synthetic as made
from whyperf.analyze.cell_results import summarize_inputs
from whyperf.analyze.read.assemble import assemble
from whyperf.analyze.summary import Evidence, Summary
from whyperf.analyze.warnings.evidence import evidence_rows, summarize_evidence
from whyperf.analyze.warnings.evidence_rules import of_cell, of_experiment

HOOK = {"name": "sock:sock_send_length", "can": False, "reason": "no such tracepoint", "gives": "write sizes"}


def manifest(trial: str, **reports: dict[str, Any]) -> dict[str, Any]:
    asked = "segments" if trial.startswith("log") else "counters"
    ends = {label: {"evidence": {"got": asked} | reports.get(label, {})} for label in ("near", "far")}
    return {"trial": trial, "cell": "c0001", "status": "complete", "evidence_asked": asked, "hosts": ends}


def summary_of(*manifests: Mapping[str, Any]) -> Evidence:
    return made.known(summarize_evidence(evidence_rows(manifests)))


def cell_texts(*manifests: Mapping[str, Any]) -> dict[str, str]:
    return {warning.code: warning.text for warning in of_cell(evidence_rows(manifests).to_dicts())}


def experiment_texts(*manifests: Mapping[str, Any]) -> dict[str, str]:
    rows = evidence_rows(manifests)
    return {warning.code: warning.text for warning in of_experiment(summarize_evidence(rows), rows)}


def test_all_is_well() -> None:
    trials = [manifest("001-c0001"), manifest("log01-c0001")]
    summary = summary_of(*trials)
    assert (summary.asked, summary.log_trials, summary.incomplete_logs) == ("counters", 1, [])
    assert {label: end.level for label, end in summary.ends.items()} == {"near": "counters", "far": "counters"}
    assert cell_texts(*trials) == experiment_texts(*trials) == {}


def test_the_lowest_level_counts_with_its_reason_and_hooks() -> None:
    refused = manifest("002-c0001", far={"got": "user", "reason": "run as root"})
    summary = summary_of(manifest("001-c0001"), refused, manifest("003-c0001", near={"missing": [HOOK]}))
    assert (summary.ends["far"].level, summary.ends["far"].reason) == ("user", "run as root")
    assert [hook.name for hook in summary.ends["near"].missing] == ["sock:sock_send_length"]


def test_a_record_from_before_there_were_levels_is_at_level_user() -> None:
    old = {"trial": "001-c0001", "cell": "c0001", "status": "complete", "hosts": {"near": {}, "far": {}}}
    summary = summary_of(old)
    assert {end.level for end in summary.ends.values()} == {"user"} == {summary.asked}
    assert cell_texts(old) == experiment_texts(old) == {}


def test_nothing_is_known_of_trials_that_failed() -> None:
    failed = manifest("001-c0001") | {"status": "failed"}
    assert summarize_evidence(evidence_rows([failed])) is None
    assert summarize_evidence(evidence_rows([])) is None


REFUSED = manifest("002-c0001", near={"got": "user", "reason": "run as root"})
COUNTED = [manifest("001-c0001"), manifest("003-c0001"), manifest("log01-c0001")]


@pytest.mark.parametrize(
    ("manifests", "code", "text"),
    [
        ([REFUSED], "less_evidence", "The evidence level of the near side is user, not counters: run as root."),
        (
            [manifest("001-c0001", near={"missing": [HOOK]})],
            "missing_hooks",
            "The kernel of the near side lacks sock:sock_send_length (no such tracepoint), which gives write sizes.",
        ),
        (
            [*COUNTED, REFUSED],
            "mixed_evidence",
            "The evidence level of the near side differs between trials: 1 trial with user and 2 trials with counters.",
        ),
    ],
)
def test_evidence_that_is_less_than_asked(manifests: list[dict[str, Any]], code: str, text: str) -> None:
    assert experiment_texts(*manifests)[code] == text


def test_counters_that_are_not_whole_are_reported() -> None:
    texts = cell_texts(manifest("001-c0001", far={"missed_runs_count": 2}))
    assert texts == {
        "counters_incomplete": "The kernel's counts of the far side in 001-c0001 are not complete: 2 runs of "
        "its programs left out by the kernel."
    }


LOSSES = {"logged_events_count": 9000, "lost_events_count": [{"cpu": 1, "count": 7}, {"cpu": 3, "count": 1200}]}


@pytest.mark.parametrize(
    ("report", "code", "says"),
    [
        (LOSSES, "log_incomplete", "86.5 % complete: 1,207 of 9,000 events lost, 7 on CPU 1, 1,200 on CPU 3."),
        (
            {"logged_calls_count": 90, "lost_calls_count": [{"cpu": 1, "count": 7}]},
            "log_incomplete",
            "92.2 % complete: 7 of 90 calls lost.",
        ),
        ({"missed_runs_count": 1}, "log_incomplete", "not complete: 1 run of its programs left out by the kernel."),
        ({"unseen_segments_count": 9}, "log_incomplete", "not complete: BPF missed 9 segments that TCP counted."),
        ({"reason": "3 segments found no room"}, "log_incomplete", "not complete: 3 segments found no room."),
        ({"broken_off": "No space left"}, "log_broken_off", "breaks off: No space left."),
        ({"got": "user", "reason": "run as root"}, "no_log", "its evidence level is user: run as root."),
    ],
)
def test_a_log_that_is_not_complete_is_reported_and_never_passes(report: dict[str, Any], code: str, says: str) -> None:
    broken = manifest("log02-c0001", near=report)
    (text,) = cell_texts(manifest("log01-c0001"), broken).values()
    assert list(cell_texts(broken)) == [code]
    assert "near side of log02-c0001" in text
    assert text.endswith(says)
    assert summary_of(manifest("log01-c0001"), broken).incomplete_logs == ["log02-c0001"]


def test_a_log_trial_that_failed_is_reported_even_if_it_never_had_two_ends() -> None:
    failed = manifest("log01-c0001") | {"status": "failed", "reason": "the connection was reset."}
    says = "1 log trial failed; goodput is not affected. First reason: the connection was reset."
    assert cell_texts(failed) == {"failed_logs": says}
    assert cell_texts(failed | {"hosts": {}}) == {"failed_logs": says}


def summary_with(*logs: dict[str, Any]) -> Summary:
    trials = made.blocks_of(made.Trial(), [1e9, 2e9, 3e9])
    manifests = [made.manifest(trial) for trial in trials]
    return summarize_inputs(assemble(made.plan(trials), manifests, made.all_tables(trials), logs=logs))


@pytest.mark.parametrize("status", ["complete", "failed", "deadline"])
def test_log_trials_change_no_figure(status: str) -> None:
    log = manifest("log01-c0001") | {"status": status, "reason": "it fell"}
    without, with_log = summary_with().cells[0], summary_with(log).cells[0]
    assert with_log.model_copy(update={"warnings": without.warnings}) == without
    added = {warning.code for warning in with_log.warnings} - {warning.code for warning in without.warnings}
    assert added == ({"failed_logs"} if status == "failed" else set())


def test_log_trials_that_did_not_complete_are_listed() -> None:
    failed = manifest("log01-c0001") | {"status": "failed", "reason": "no route to host", "hosts": {}}
    cut = manifest("log02-c0001") | {"status": "deadline", "reason": "the load was cut"}
    listed = [(row.trial, row.status, row.reason) for row in summary_with(failed, cut).unfinished]
    assert listed == [("log01-c0001", "failed", "no route to host"), ("log02-c0001", "deadline", "the load was cut")]
