"""What stack samples add to limits of a CPU: the dearest class, a bound of the gain, a change, and limits by class."""

from dataclasses import replace
from typing import Any

import pytest

from tests.unit.explain.limit_cases import (
    COSTLY,
    ON_CPU,
    WHOLE_PACKETS,
    at_receiver,
    at_sender,
    calls,
    costs,
    counted,
    cpu,
    facts,
    limit_of,
    share_of,
)
from whyperf.explain.causes import Cause
from whyperf.explain.changes.own_load import change_for
from whyperf.explain.explanation import Change, Verdict
from whyperf.explain.headline import WITHOUT_LOG, as_printed, cell_headline, gain_line
from whyperf.explain.host_facts import ClassFacts, CostFacts
from whyperf.explain.limits.costs import BY_CLASS, refined
from whyperf.explain.limits.judge import judge
from whyperf.explain.limits.limit import Limit
from whyperf.explain.measured_cells import MeasuredCells
from whyperf.explain.setup import Setup
from whyperf.explain.trial_facts import ExchangeFacts, Facts
from whyperf.explain.wording.catalog import render
from whyperf.plan import Cell

WRITES = calls(131_072.0) | {"sockets.mss_bytes": 1448}
STREAM = costs(copy=360, transmit=240, memory=200, devices=120, ip=80)


def sending(cost: CostFacts | None) -> Facts:
    """A sender whose CPU is the limit, in large packets."""
    return counted(ON_CPU | WRITES | {"cost": cost}, cpu(thread=0.5), segments=WHOLE_PACKETS, rate_bps=9e9)


def receiving(cost: CostFacts, read_bytes: float = 131_072.0) -> Facts:
    """A receiver whose CPU is the limit."""
    return counted(cpu(thread=0.5), ON_CPU | calls(read_bytes) | {"cost": cost})


def sampled(of: Facts, cause: Cause = Cause.CAPACITY) -> Limit:
    """A limit with what samples show of it."""
    return refined(limit_of(cause, of), of)


def change(of: Facts, setup: Setup | None = None, cause: Cause = Cause.CAPACITY) -> Change | None:
    return change_for(sampled(of, cause), of, setup or Setup())


def verdict_on_capacity(of: Facts) -> Verdict:
    return next(verdict for verdict in judge(of) if verdict.cause is Cause.CAPACITY)


def sentences(limit: Limit) -> list[str]:
    return [row.words for row in limit.evidence]


def test_a_busy_cpu_is_explained_by_the_class_that_costs_most_with_a_change() -> None:
    limit = sampled(sending(STREAM))
    assert (limit.code, limit.values["class"]) == ("capacity.sampled", "Copying payload")
    assert (
        "Copying payload: 360 of 1,000 cycles per KByte at the sender (36 %); costliest functions: copy_run."
        in sentences(limit)
    )
    assert next(row.value for row in limit.evidence if row.table == "stacks") == 360
    made = change(sending(STREAM))
    assert made is not None
    assert made.factors == {"zero_copy": True}


def test_a_class_bounds_the_gain_and_predicts_none() -> None:
    verdict = verdict_on_capacity(sending(STREAM))
    # 1 / (1 - 0.36), and the error of 4,000 samples.
    assert (verdict.predicted_gain, verdict.predicted_low) == (None, None)
    assert verdict.predicted_high == pytest.approx(1 / (1 - 0.36 - 1.96 * 0.48 / 4_000**0.5), abs=1e-3)
    assert verdict.predicted_basis is not None
    assert verdict.predicted_basis.code == "without_class"
    printed = as_printed(verdict, "counters")
    assert gain_line(printed).startswith("Predicted gain: at most 1.6 ×; what that CPU could carry without")
    # Nor does a known link leave more than it carries.
    bounded = verdict_on_capacity(replace(sending(STREAM), link_bps=10e9))
    assert bounded.predicted_gain is None
    assert bounded.predicted_high == pytest.approx(10e9 * 1448 / 1514 / 9e9, abs=1e-3)


def test_a_bound_gives_way_to_what_another_cell_measured() -> None:
    cells = [
        Cell(id=f"c000{number}", sweep="main", factors={"zero_copy": zero_copy}, workload=None)
        for number, zero_copy in enumerate((False, True), start=1)
    ]
    known = MeasuredCells(cells, {"c0001": 9e9, "c0002": 10.8e9})
    measured = known.gain_in("c0001", verdict_on_capacity(sending(STREAM)))
    assert measured.predicted_gain == 1.2
    assert gain_line(as_printed(measured, "counters")).startswith("Predicted gain: about 1.2 ×")


def test_a_bound_below_what_a_trial_shows_leaves_no_change() -> None:
    printed = as_printed(verdict_on_capacity(replace(sending(STREAM), link_bps=9.5e9)), "counters")
    assert printed.change is not None
    assert (printed.change.factors, bool(printed.change.by_hand)) == ({}, True)


def test_few_samples_widen_the_bound() -> None:
    few, many = (sampled(sending(replace(STREAM, samples=number))).gain for number in (100, 100_000))
    assert few is not None
    assert many is not None
    assert few.ratio > 1.1 * many.ratio > 1.56


def test_without_samples_a_limit_is_as_it_was() -> None:
    of = sending(None)
    limit = limit_of(Cause.CAPACITY, of)
    assert refined(limit, of) is limit
    assert (limit.code, change(of), limit.gain) == ("capacity", None, None)


def test_functions_without_names_are_not_called_the_class_that_costs_most() -> None:
    of = sending(costs(not_attributed=900, copy=100))
    assert (sampled(of).code, change(of)) == ("capacity", None)
    named = sampled(sending(costs(own_tracing=450, copy=350, not_attributed=200)))
    assert named.values["class"] == "Copying payload"
    # Nor are samples that a timer took late.
    assert sampled(sending(costs(interrupts_on=500, copy=450, ip=50))).values["cost_class"] == "copy"


def test_the_change_is_that_of_the_dearest_class_that_has_one() -> None:
    of = sending(costs(transmit=500, copy=300, memory=200))
    limit, made = sampled(of), change(of)
    assert limit.values["class"] == "TCP or UDP transmit"
    assert limit.gain is not None
    assert limit.gain.basis.values["class"] == "Copying payload"
    assert made is not None
    assert made.factors == {"zero_copy": True}
    # A class that costs little is not worth a change.
    small = sending(costs(transmit=600, memory=320, copy=80))
    assert (change(small), sampled(small).gain) == (None, None)


@pytest.mark.parametrize(
    ("found", "factors", "code"),
    [
        (sending(STREAM), {"zero_copy": True}, "cost.copy"),
        (receiving(STREAM), {"truncate": True}, "cost.discard"),
        (at_sender(calls(8_000.0))(sending(costs(copy=700, transmit=300))), None, None),
        (at_sender(calls(40_000.0))(sending(costs(system_calls=700, transmit=300))),
         {"write_size_bytes": 131_072}, "tiny_writes"),
        (receiving(costs(system_calls=700, receive=300), 40_000.0),
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
    made = change(found, Setup(factors={"write_size_bytes": 8192, "read_size_bytes": 8192, "tso": False, **tls}))
    assert (made and made.factors, made and made.code) == (factors, code)


def test_busy_polling_is_set_only_where_an_adapter_may_be_polled() -> None:
    waiting = receiving(costs(scheduling=700, receive=300))
    changes = [change(waiting, Setup(testbed="network")), change(waiting, Setup(testbed="loopback"))]
    assert [made and made.factors for made in changes] == [{"busy_poll_us": 50}, {}]


def test_softirqs_of_another_cpu_leave_a_thread_s_bound_alone() -> None:
    copy, acks, transmit = (
        ClassFacts("copy", 300, in_threads=300),
        ClassFacts("acks", 400, in_threads=0),
        ClassFacts("transmit", 300, in_threads=300),
    )
    cost = CostFacts(classes=(copy, acks, transmit), samples=100_000)
    limit = sampled(sending(cost))
    # Half of the thread's time, three tenths of the side's.
    assert limit.values["class_ratio"] == 0.5
    assert "Copying payload: 50 % of the CPU time of the sender's threads." in " ".join(sentences(limit))
    assert "Copying payload: 300 of 1,000 cycles per KByte at the sender (30 %)." in sentences(limit)
    # A CPU that both share has all of it.
    shared = sampled(at_sender(cpu(thread=0.5, busy=0.95))(sending(cost)))
    assert (shared.values["class"], shared.values["class_ratio"]) == ("ACK processing", 0.4)
    softirqs = replace(cost, classes=(replace(acks, cycles=800), copy, transmit))
    only = sampled(at_sender(cpu(softirq=0.97))(sending(softirqs)))
    assert (only.values["class"], only.values["class_ratio"]) == ("ACK processing", 1.0)


def test_transactions_cost_cycles_per_transaction() -> None:
    exchanges = ExchangeFacts(per_s=10_000, count=10_000, calls_each=2)
    limit = sampled(replace(sending(replace(STREAM, per="transaction")), exchanges=exchanges))
    assert limit.code == "capacity.transactions.sampled"
    assert (
        "Copying payload: 360 of 1,000 cycles per transaction at the sender (36 %); costliest functions: copy_run."
        in sentences(limit)
    )


@pytest.mark.parametrize(("name", "cause"), BY_CLASS.items())
def test_a_class_that_can_go_takes_its_part_of_what_a_cpu_is_busy(name: str, cause: Cause) -> None:
    def with_share(share: float) -> Facts:
        return sending(costs(4_000, **{"transmit": 1000 * (1 - share), name: 1000 * share}))

    limit = limit_of(cause, with_share(0.3))
    assert limit.share == pytest.approx(0.3 * 0.95)
    assert limit.gain is not None
    assert limit.gain.basis.code == "without_class"
    # It is evidence where it takes nothing that matters, but not of next to nothing.
    assert share_of(cause, with_share(0.052)) == 0
    assert name in {row.values.get("cost_class") for row in sampled(with_share(0.052)).evidence}
    assert name not in {row.values.get("cost_class") for row in sampled(with_share(0.04)).evidence}


FILTERS = costs(filter_rules=700, copy=300)


@pytest.mark.parametrize("busy", [0.91, 0.5, 0.0])
def test_a_class_takes_the_less_the_less_its_side_is_busy(busy: float) -> None:
    filtered = at_receiver({"cost": FILTERS} | cpu(thread=busy))(sending(STREAM))
    assert share_of(Cause.PACKET_FILTERS, filtered) == pytest.approx(0.7 * busy)


def test_too_few_samples_show_no_class() -> None:
    few, enough = (share_of(Cause.PACKET_FILTERS, sending(replace(FILTERS, samples=number))) for number in (299, 300))
    assert few == 0 < enough


def test_a_class_says_at_most_what_the_rate_would_be_and_whose_host_to_change() -> None:
    of = receiving(costs(filter_rules=900, copy=100))
    limit, made = limit_of(Cause.PACKET_FILTERS, of), change(of, cause=Cause.PACKET_FILTERS)
    claim = render("claim", limit.code, limit.values)
    assert claim.endswith("without this the rate would be at most 11 × as high.")
    assert made is not None
    assert made.command_host == "far"


COSTLY_PACKETS = facts(receiver=cpu(softirq=0.9) | {"limits": COSTLY})
"""36 µs of interrupt processing for each packet."""


def test_samples_say_what_makes_packets_costly() -> None:
    assert limit_of(Cause.RECEIVER_CPU, COSTLY_PACKETS).code == "receiver_cpu.packets"
    in_softirqs = (ClassFacts("filter_rules", 800, in_threads=0), ClassFacts("receive", 200, in_threads=0))
    filtered = at_receiver({"cost": CostFacts(classes=in_softirqs, samples=4_000)})(COSTLY_PACKETS)
    assert share_of(Cause.PACKET_FILTERS, filtered) == pytest.approx(0.8 * 0.9)
    # Where samples show no rules, the sentence does not suspect any.
    other = at_receiver({"cost": costs(receive=700, memory=300)})(COSTLY_PACKETS)
    limit, made = sampled(other, Cause.RECEIVER_CPU), change(other, cause=Cause.RECEIVER_CPU)
    assert (limit.code, limit.values["class"]) == ("receiver_cpu.packets.sampled", "TCP or UDP receive")
    said = [render(kind, limit.code, limit.values) for kind in ("claim", "refuted_by")]
    assert "firewall" not in "".join(said)
    assert made is not None
    assert made.code == "cost.other"


def test_limits_of_calls_have_costs_as_evidence_and_keep_their_predictions() -> None:
    cost = {"cost": costs(system_calls=600, copy=300, application=100)}
    tiny = facts(calls(64.0, count=500_000) | cpu(thread=0.99) | cost)
    without, limit = limit_of(Cause.TINY_WRITES, tiny), sampled(tiny, Cause.TINY_WRITES)
    assert [row.values.get("cost_class") for row in limit.evidence][-3:] == ["system_calls", "copy", "application"]
    assert replace(limit, evidence=without.evidence) == without


def test_both_sides_have_a_row_where_they_alternate() -> None:
    limit = sampled(counted(
        cpu(thread=0.45) | {"cost": STREAM},
        cpu(thread=0.45) | {"cost": costs(copy=600, receive=400)},
        exchanges=ExchangeFacts(per_s=10_000, count=10_000, calls_each=2, latency_ns=100_000),
    ))  # fmt: skip
    assert limit.code == "capacity.alternating"
    assert [row.values["role"] for row in limit.evidence if row.table == "stacks"] == ["sender", "receiver"]


def test_a_headline_with_samples_asks_for_no_log() -> None:
    cells = (cell_headline([verdict_on_capacity(sending(cost))], "counters") for cost in (STREAM, None))
    assert [headline.endswith(WITHOUT_LOG) for headline in cells] == [False, True]
