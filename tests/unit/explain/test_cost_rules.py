"""What stack samples add to verdicts on a CPU: the dearest class, a bound of the gain, a change, and causes."""

from dataclasses import replace
from typing import Any

import pytest

from tests.unit.explain.test_rules import CASES, COSTLY, MS, ON_CPU, at_receiver, at_sender, costs, facts
from whyperf.explain.causes import Cause
from whyperf.explain.cost_facts import ClassFacts, CostFacts
from whyperf.explain.explanation import Verdict
from whyperf.explain.headline import WITHOUT_LOG, cell_headline
from whyperf.explain.measured_cells import MeasuredCells
from whyperf.explain.predicted import as_printed, gain_line
from whyperf.explain.rules import judge
from whyperf.explain.rules.costs import BY_CLASS, limits
from whyperf.explain.setup import Setup
from whyperf.explain.trial_facts import ExchangeFacts, Facts
from whyperf.plan import Cell

WRITES = {"calls.bytes_mean": 131_072.0, "sockets.mss_bytes": 1448}
STREAM = costs(copy=360, transmit=240, memory=200, devices=120, ip=80)


def sending(cost: CostFacts | None, /, **whole: Any) -> Facts:
    """A sender whose CPU is the limit, in large packets."""
    large = {"sent_segments_per_packet": 40.0, "taken_segments_per_packet": 40.0}
    found = facts({**ON_CPU, **WRITES, "cost": cost}, {"processors.thread_ratio": 0.5}, segments=large, rate_bps=9e9)
    return replace(found, level="counters", **whole)


def receiving(cost: CostFacts | None, **changed: Any) -> Facts:
    """A receiver whose CPU is the limit."""
    return facts(
        {"processors.thread_ratio": 0.5}, {**ON_CPU, "calls.bytes_mean": 131_072.0, "cost": cost, **changed},
        level="counters",
    )  # fmt: skip


def sentences(verdict: Verdict) -> list[str]:
    return [row.words for row in verdict.evidence]


def test_a_busy_cpu_is_explained_by_the_class_that_costs_most_with_a_bound_and_a_change() -> None:
    (verdict,) = judge(sending(STREAM))
    assert (verdict.cause, verdict.code) == (Cause.CAPACITY, "capacity.sampled")
    assert "The class that costs most is Copying payload, 36 % of that CPU's time" in verdict.claim
    assert (
        "Copying payload: 360 of 1,000 cycles per KByte at the sender (36 %); costliest functions: copy_run."
        in sentences(verdict)
    )
    assert next(row.value for row in verdict.evidence if row.table == "stacks") == 360
    assert verdict.change is not None
    assert verdict.change.factors == {"zero_copy": True}


def test_a_class_bounds_the_gain_and_predicts_none() -> None:
    (verdict,) = judge(sending(STREAM))
    # 1 / (1 - 0.36), and the error of 4,000 samples.
    assert (verdict.predicted_gain, verdict.predicted_low) == (None, None)
    assert verdict.predicted_high == pytest.approx(1 / (1 - 0.36 - 1.96 * 0.48 / 4_000**0.5), abs=1e-3)
    assert verdict.predicted_basis is not None
    assert verdict.predicted_basis.code == "without_class"
    printed = as_printed(verdict, "counters")
    assert gain_line(printed).startswith("Predicted gain: at most 1.6 ×; what that CPU could carry without")
    # Nor does a known link leave more than it carries.
    (bounded,) = judge(replace(sending(STREAM), link_bps=10e9))
    assert bounded.predicted_gain is None
    assert bounded.predicted_high == pytest.approx(10e9 * 1448 / 1514 / 9e9, abs=1e-3)


def test_a_bound_gives_way_to_what_another_cell_measured() -> None:
    (verdict,) = judge(sending(STREAM))
    cells = [
        Cell(id=f"c000{number}", sweep="main", factors={"zero_copy": zero_copy}, workload=None)
        for number, zero_copy in enumerate((False, True), start=1)
    ]
    measured = MeasuredCells(cells, {"c0001": 9e9, "c0002": 10.8e9}).gain_in("c0001", verdict)
    assert measured.predicted_gain == 1.2
    assert gain_line(as_printed(measured, "counters")).startswith("Predicted gain: about 1.2 ×")


def test_a_bound_below_what_a_trial_shows_leaves_no_change() -> None:
    (verdict,) = judge(replace(sending(STREAM), link_bps=9.5e9))
    printed = as_printed(verdict, "counters")
    assert printed.change is not None
    assert (printed.change.factors, bool(printed.change.by_hand)) == ({}, True)


def test_few_samples_widen_the_bound() -> None:
    few, many = (judge(sending(replace(STREAM, samples=number)))[0].predicted_high or 0 for number in (100, 100_000))
    assert few > 1.1 * many > 1.56


def test_without_samples_a_verdict_is_as_it_was() -> None:
    (verdict,) = judge(sending(None))
    assert (verdict.code, verdict.change, verdict.predicted_high) == ("capacity", None, None)
    assert "stacks" not in {row.table for row in verdict.evidence}
    assert verdict.claim.startswith("No removable cause")


def test_functions_without_names_are_not_called_the_class_that_costs_most() -> None:
    (verdict,) = judge(sending(costs(not_attributed=900, copy=100)))
    assert (verdict.code, verdict.change) == ("capacity", None)
    (named,) = judge(sending(costs(own_tracing=450, copy=350, not_attributed=200)))
    assert named.values["class"] == "Copying payload"


def test_the_change_is_that_of_the_dearest_class_that_has_one() -> None:
    (verdict,) = judge(sending(costs(transmit=500, copy=300, memory=200)))
    assert verdict.values["class"] == "TCP or UDP transmit"
    assert verdict.change is not None
    assert verdict.change.factors == {"zero_copy": True}
    assert verdict.predicted_basis is not None
    assert verdict.predicted_basis.values["class"] == "Copying payload"
    # A class that costs little is not worth a change.
    (small,) = judge(sending(costs(transmit=600, memory=320, copy=80)))
    assert (small.change, small.predicted_high) == (None, None)


SMALL = {"sent_segments_per_packet": 1.0, "taken_segments_per_packet": 1.0}


@pytest.mark.parametrize(
    ("found", "factors", "code"),
    [
        (sending(STREAM), {"zero_copy": True}, "cost.copy"),
        (receiving(STREAM), {"truncate": True}, "cost.discard"),
        (at_sender({"calls.bytes_mean": 8_000.0})(sending(costs(copy=700, transmit=300))), None, None),
        (at_sender({"calls.bytes_mean": 40_000.0})(sending(costs(system_calls=700, transmit=300))),
         {"write_size_bytes": 131_072}, "tiny_writes"),
        (receiving(costs(system_calls=700, receive=300), **{"calls.bytes_mean": 40_000.0}),
         {"read_size_bytes": 131_072}, "read_size"),
        (receiving(costs(scheduling=700, receive=300)), {}, "cost.wake_ups"),
        (sending(costs(encryption=700, copy=300)), {"ktls": "both"}, "encrypting"),
        (sending(costs(segmentation=700, copy=300)), {"tso": True}, "offloads_off"),
        (sending(replace(costs(ip=700, copy=300), packets_per_kbyte=0.7)), {"mtu_bytes": 9000}, "small_mtu"),
        (sending(replace(costs(ip=900, copy=50), packets_per_kbyte=0.02)), None, None),
    ],
)  # fmt: skip
def test_each_class_has_its_change(found: Facts, factors: dict[str, Any] | None, code: str | None) -> None:
    tls = {"transport": "tls"} if code == "encrypting" else {}
    verdict = judge(found, Setup(factors={"write_size_bytes": 8192, "read_size_bytes": 8192, "tso": False, **tls}))[0]
    assert verdict.cause is Cause.CAPACITY
    change = verdict.change
    assert (None if change is None else change.factors) == factors
    assert (None if change is None else change.code) == code


def test_busy_polling_is_set_only_where_an_adapter_may_be_polled() -> None:
    waiting = receiving(costs(scheduling=700, receive=300))
    changes = [judge(waiting, Setup(testbed=kind))[0].change for kind in ("network", "loopback")]
    assert [change and change.factors for change in changes] == [{"busy_poll_us": 50}, {}]


def test_softirqs_of_another_cpu_leave_a_thread_s_bound_alone() -> None:
    classes = (
        ClassFacts("copy", 300, in_threads=300),
        ClassFacts("acks", 400, in_threads=0),
        ClassFacts("transmit", 300, in_threads=300),
    )
    cost = CostFacts(classes=classes, samples=100_000)
    (verdict,) = judge(sending(cost))
    # Half of the thread's time, three tenths of the side's.
    assert verdict.values["class_ratio"] == 0.5
    assert "Copying payload: 50 % of the CPU time of the sender's threads." in " ".join(sentences(verdict))
    assert "Copying payload: 300 of 1,000 cycles per KByte at the sender (30 %)." in sentences(verdict)
    # A CPU that both share has all of it.
    (shared,) = judge(at_sender({"processors.thread_ratio": 0.5, "processors.busy_ratio": 0.95})(sending(cost)))
    assert (shared.values["class"], shared.values["class_ratio"]) == ("ACK processing", 0.4)
    softirqs = replace(cost, classes=(replace(classes[1], cycles=800), *classes[::2]))
    (only,) = judge(at_sender({"processors.softirq_ratio": 0.97})(sending(softirqs)))
    assert (only.values["class"], only.values["class_ratio"]) == ("ACK processing", 1.0)


def test_transactions_cost_cycles_per_transaction() -> None:
    busy = replace(
        sending(replace(STREAM, per="transaction")), exchanges=ExchangeFacts(per_s=10_000, count=10_000, calls_each=2)
    )
    (verdict,) = judge(busy)
    assert verdict.code == "capacity.transactions.sampled"
    assert (
        "Copying payload: 360 of 1,000 cycles per transaction at the sender (36 %); costliest functions: copy_run."
        in sentences(verdict)
    )


def test_samples_that_a_timer_took_late_are_never_what_costs_most() -> None:
    (found,) = judge(sending(costs(interrupts_on=450, copy=500, ip=50)))
    assert found.values["cost_class"] == "copy"
    (late,) = judge(sending(costs(interrupts_on=500, copy=450, ip=50)))
    assert late.values["cost_class"] == "copy"


@pytest.mark.parametrize("name", BY_CLASS)
def test_a_class_is_a_cause_from_an_eighth_of_the_limiting_cpu_on(name: str) -> None:
    def with_share(share: float) -> list[Verdict]:
        cycles = {"transmit": 1000 * (1 - share), name: 1000 * share}
        return judge(sending(costs(4_000, **cycles)))

    assert with_share(0.126)[0].cause is BY_CLASS[name]
    (below,) = with_share(0.124)
    assert below.cause is Cause.CAPACITY
    # It is evidence all the same.
    assert name in {row.values.get("cost_class") for row in below.evidence}
    assert name not in {row.values.get("cost_class") for row in with_share(0.04)[0].evidence}


def test_a_class_of_a_side_that_is_not_the_limit_is_no_cause() -> None:
    filtered = costs(filter_rules=700, copy=300)
    waiting = at_receiver({"cost": filtered})(sending(STREAM))
    assert [verdict.cause for verdict in judge(waiting)] == [Cause.CAPACITY]
    both = at_receiver({"processors.thread_ratio": 0.91})(waiting)
    assert [verdict.cause for verdict in judge(both)] == [Cause.PACKET_FILTERS]
    idle = replace(
        waiting, sender=replace(waiting.sender, processors=replace(waiting.sender.processors, thread_ratio=0.6))
    )
    assert Cause.PACKET_FILTERS not in {verdict.cause for verdict in judge(idle)}
    assert limits(idle) == []


def test_too_few_samples_show_no_cause() -> None:
    causes = [judge(sending(costs(samples, filter_rules=300, copy=700)))[0].cause for samples in (299, 300)]
    assert causes == [Cause.CAPACITY, Cause.PACKET_FILTERS]


def test_a_cause_is_bounded_not_predicted_and_has_no_joint_gain() -> None:
    (verdict,) = judge(receiving(costs(filter_rules=900, copy=100)))
    assert verdict.cause is Cause.PACKET_FILTERS
    assert verdict.predicted_gain is None
    assert as_printed(verdict).unpredicted_because == ""
    assert verdict.claim.endswith("without this the rate would be at most 11 × as high.")
    assert verdict.change is not None
    assert verdict.change.command_host == "far"


COSTLY_PACKETS = next(
    case.speaks for case in CASES if case.cause is Cause.RECEIVER_CPU and case.speaks.receiver.limits == COSTLY
)


def test_samples_say_what_makes_packets_costly() -> None:
    (plain,) = judge(COSTLY_PACKETS)
    assert plain.code == "receiver_cpu.packets"
    rules = CostFacts(
        classes=(ClassFacts("filter_rules", 800, in_threads=0), ClassFacts("receive", 200, in_threads=0)), samples=4_000
    )
    (named,) = judge(at_receiver({"cost": rules})(COSTLY_PACKETS))
    assert (named.cause, named.values["class_ratio"]) == (Cause.PACKET_FILTERS, 0.8)
    # Below the usual limit of a busy CPU, too: each packet takes long.
    calm = at_receiver({"cost": rules, "processors.softirq_ratio": 0.65, "limits": COSTLY})(COSTLY_PACKETS)
    assert judge(calm)[0].cause is Cause.PACKET_FILTERS
    # Where samples show no rules, the sentence does not suspect any.
    other = costs(receive=700, memory=300)
    (refined,) = judge(at_receiver({"cost": other})(COSTLY_PACKETS))
    assert refined.code == "receiver_cpu.packets.sampled"
    assert "firewall" not in refined.claim + refined.refuted_by
    assert refined.values["class"] == "TCP or UDP receive"
    assert refined.change is not None
    assert refined.change.code == "cost.other"


def test_verdicts_on_calls_and_packets_have_costs_as_evidence_and_keep_their_predictions() -> None:
    tiny = next(case.speaks for case in CASES if case.cause is Cause.TINY_WRITES)
    without = judge(tiny)[0]
    verdict = judge(at_sender({"cost": costs(system_calls=600, copy=300, application=100)})(tiny))[0]
    assert [row.values.get("cost_class") for row in verdict.evidence][-3:] == ["system_calls", "copy", "application"]
    assert verdict.model_copy(update={"evidence": without.evidence}) == without


def test_both_sides_have_a_row_where_they_alternate() -> None:
    found = facts(
        {"processors.thread_ratio": 0.45, "cost": STREAM},
        {"processors.thread_ratio": 0.45, "cost": costs(copy=600, receive=400)},
        exchanges=ExchangeFacts(per_s=10_000, count=10_000, calls_each=2, latency_ns=100_000),
        windows={"rtt_ns_min": MS // 20},
        level="counters",
    )
    (verdict,) = judge(found)
    assert verdict.code == "capacity.alternating"
    assert [row.values["role"] for row in verdict.evidence if row.table == "stacks"] == ["sender", "receiver"]


def test_a_headline_with_samples_asks_for_no_log() -> None:
    sampled, plain = (cell_headline(judge(sending(cost)), "counters") for cost in (STREAM, None))
    assert not sampled.endswith(WITHOUT_LOG)
    assert plain.endswith(WITHOUT_LOG)


@pytest.mark.parametrize("role", ["sender", "receiver"])
def test_samples_refute_an_application_that_calls_take_for_computing(role: str) -> None:
    idle = {"shares": {"not_writing": 0.9} if role == "sender" else {"not_reading": 0.9}}
    busy = {"calls.asleep_ratio": 0.0, "calls.computing_ratio": 0.3, "processors.thread_ratio": 0.95}

    def causes(cost: CostFacts) -> set[str]:
        ends: list[dict[str, Any]] = [{**idle, **busy, "cost": cost}, {}]
        if role == "receiver":
            ends = [{"shares": {"receive_window_reader": 0.9}}, *ends[:1]]
        return {verdict.cause for verdict in judge(facts(*ends))}

    own = Cause.SENDER_CPU if role == "sender" else Cause.RECEIVER_CPU
    assert own in causes(costs(application=300, transmit=400, system_calls=300))
    assert own in causes(costs(encryption=300, transmit=400, system_calls=300))
    assert own not in causes(costs(application=10, transmit=590, system_calls=400))
