"""Stage times as evidence of limits: which stage takes a CPU's time, and in which one a packet waits."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.unit.analyze.stages.planted_stages import Planted
from tests.unit.analyze.stages.staged_results import staged
from whyperf.analyze.stages import TrialStages
from whyperf.analyze.stages.experiment import analyzed
from whyperf.cli.output.explanation import explained
from whyperf.explain.causes import Cause
from whyperf.explain.experiment import TrialQuestion
from whyperf.explain.explanation import CellExplanation
from whyperf.explain.gather import with_stages
from whyperf.explain.host_facts import HostFacts, StageFacts, StageTime
from whyperf.explain.limits.limit import Limit
from whyperf.explain.limits.stages import refined
from whyperf.explain.trial_facts import Facts
from whyperf.record import Experiment


def stage(name: str, cpu_ns: float = 0.0, waiting_ns: float = 0.0, per_kbyte: float | None = None) -> StageTime:
    title = name.replace("_", " ").capitalize()
    return StageTime(name, title, f"about {name}", cpu_ns, waiting_ns, per_kbyte, is_wait=name.endswith("_wait"))


def facts(sender: tuple[StageTime, ...] = (), receiver: tuple[StageTime, ...] = (), **more: float) -> Facts:
    ends = [
        HostFacts(
            host=host,
            stages=StageFacts(stages, sum(found.cpu_ns for found in stages), 1448, more.get("packets_per_interrupt")),
        )
        if stages
        else HostFacts(host=host)
        for host, stages in (("near", sender), ("far", receiver))
    ]
    return Facts("001-c0001", sender=ends[0], receiver=ends[1])


def rows(cause: Cause, of: Facts, **values: str) -> list[tuple[str, str]]:
    found = refined(Limit(cause, 0.5, values=values), of)
    return [(row.code, str(row.values["stage"])) for row in found.evidence]


def test_a_cpu_that_is_the_limit_has_its_dearest_stage() -> None:
    of = facts(receiver=(stage("copy_out", 900, 10), stage("tcp_in", 400), stage("wakeup_wait", 0, 9000)))
    assert rows(Cause.RECEIVER_CPU, of) == [("stage_cpu", "Copy out")]
    (row,) = refined(Limit(Cause.RECEIVER_CPU, 0.5), of).evidence
    assert (row.host, row.table, row.value, row.unit) == ("far", "stages", 900, "ns")
    assert row.words == (
        "Copy out takes most of the processing of a packet at the receiver: 900 ns of 1.30 µs (69 %), at 1,448 bytes "
        "per packet (about copy_out)."
    )


def test_slow_copies_are_named() -> None:
    quick, slow = (facts(sender=(stage("copy_in", 900, per_kbyte=ns),)) for ns in (399, 400))
    assert rows(Cause.SENDER_CPU, quick) == [("stage_cpu", "Copy in")]
    assert rows(Cause.SENDER_CPU, slow) == [("stage_cpu", "Copy in"), ("stage_copy", "Copy in")]


@pytest.mark.parametrize(
    ("cause", "waits", "longest"),
    [
        (Cause.OTHER_LOAD, {"wakeup_wait": 50_000, "softirq_wait": 3_000, "qdisc_wait": 90_000}, "Wakeup wait"),
        (Cause.OTHER_LOAD, {"wakeup_wait": 2_000, "softirq_wait": 30_000}, "Softirq wait"),
        (Cause.LOCAL_QUEUE, {"qdisc_wait": 90_000, "wakeup_wait": 500_000}, "Qdisc wait"),
        (Cause.SLOW_READER, {"socket_wait": 80_000, "wakeup_wait": 5_000}, "Socket wait"),
        (Cause.ROUND_TRIP, {"qdisc_wait": 5_000, "wakeup_wait": 7_000}, "Wakeup wait"),
    ],
)
def test_a_limit_of_waiting_names_the_longest_wait_that_it_may_be_about(
    cause: Cause, waits: dict[str, float], longest: str
) -> None:
    of = facts(receiver=tuple(stage(name, waiting_ns=ns) for name, ns in waits.items()))
    assert rows(cause, of, role="receiver") == [("stage_wait", longest)]


def test_waits_as_short_as_any_switch_are_not_shown() -> None:
    assert rows(Cause.OTHER_LOAD, facts(receiver=(stage("wakeup_wait", waiting_ns=999),)), role="receiver") == []


def test_interrupts_that_are_put_off_are_shown_with_the_wait_for_them() -> None:
    for brought, shown in ((1.9, None), (8.0, 8.0)):
        of = facts(receiver=(stage("softirq_wait", waiting_ns=20_000),), packets_per_interrupt=brought)
        (row,) = refined(Limit(Cause.OTHER_LOAD, 0.5, values={"role": "receiver"}), of).evidence
        assert row.values.get("interrupt_packets") == shown
        assert ("one interrupt brings 8 packets" in row.words) is (shown is not None)


def test_a_limit_of_one_side_is_about_that_side_and_the_stage_in_which_it_lost_its_cpu() -> None:
    of = facts(sender=(stage("copy_in", 900, 47_000),), receiver=(stage("softirq_wait", waiting_ns=90_000),))
    assert rows(Cause.OTHER_LOAD, of, role="sender") == [("stage_kept", "Copy in")]
    assert rows(Cause.OTHER_LOAD, of, role="receiver") == [("stage_wait", "Softirq wait")]
    assert rows(Cause.SHARED_CPU, of) == [("stage_wait", "Softirq wait")]
    # What waits within a stage is no evidence of a queue.
    assert rows(Cause.LOCAL_QUEUE, of) == []


@pytest.mark.parametrize(("application_ns", "is_shown"), [(8_000, True), (900, False)])
def test_a_program_that_takes_more_than_the_network_code_is_shown(application_ns: float, is_shown: bool) -> None:
    of = facts(receiver=(stage("copy_out", 1_000),))
    assert of.receiver.stages is not None
    receiver = replace(of.receiver, stages=replace(of.receiver.stages, application_ns=application_ns))
    found = refined(Limit(Cause.SLOW_READER, 0.5), replace(of, receiver=receiver))
    assert [row.code for row in found.evidence] == ["stage_application"] * is_shown


def test_other_limits_have_no_stages() -> None:
    of = facts(receiver=(stage("copy_out", 900), stage("wakeup_wait", waiting_ns=50_000)))
    assert rows(Cause.RANDOM_LOSS, of) == []
    assert rows(Cause.RECEIVE_BUFFER, of) == []


def test_without_stage_times_nothing_changes() -> None:
    limit = Limit(Cause.RECEIVER_CPU, 0.5)
    assert refined(limit, facts()) is limit


def test_facts_have_the_stages_of_each_side_and_what_makes_messages_slow() -> None:
    delays = np.zeros(800)
    delays[::90] = 60_000
    planted = Planted([1448] * 800, extra_ns={"wakeup_wait": delays})
    found = analyzed("stages01-c0001", "c0001", [planted.host("sender"), planted.host("receiver")], 0)
    of = with_stages(Facts("001-c0001"), found)
    assert of.sender.stages is not None
    assert of.receiver.stages is not None
    assert [entry.name for entry in of.sender.stages.stages][:2] == ["call_entry", "copy_in"]
    assert of.receiver.stages.dearest is not None
    assert of.receiver.stages.dearest.name == "tcp_in"
    assert of.receiver.stages.slow_stage is not None
    assert of.receiver.stages.slow_stage.name == "wakeup_wait"
    turned = with_stages(replace(Facts("001-c0001"), is_turned=True), found)
    # The roles are the payload's, which goes the other way: at neither host was any followed in that direction.
    assert (turned.sender.stages, turned.receiver.stages) == (None, None)


@pytest.mark.parametrize("trial", ["stages01-c0002", "001-c0002"])
def test_a_trial_that_is_named_has_the_stages_of_its_cell(
    trial: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[TrialStages | None] = []

    def answer(question: TrialQuestion, record: Experiment) -> CellExplanation:
        seen.append(question.stages)
        return original(question, record)

    original = TrialQuestion.answer
    monkeypatch.setattr(TrialQuestion, "answer", answer)
    explained(staged(tmp_path / "made"), trial, None)
    assert [found.cell for found in seen if found is not None] == ["c0002"]
