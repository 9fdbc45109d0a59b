"""Which host limits a fleet, and why: verdicts of pairs next to differences between hosts."""

from pathlib import Path

import pytest

from tests.unit.analyze import synthetic as made
from tests.unit.fleet.fleet_records import PairOfHosts, write_fleet
from whyperf.analyze.fleet.result import (
    Fleet,
    FleetHost,
    FleetPair,
    FleetWindow,
    HostDifference,
    SlowHost,
)
from whyperf.analyze.spread import Spread
from whyperf.explain.causes import Cause
from whyperf.explain.experiment import explain_experiment
from whyperf.explain.explanation import CellExplanation, Value, Verdict
from whyperf.explain.fleet import cause_of, explain_fleet
from whyperf.record import Experiment


def pair(number: int, rate: float, **changes: object) -> FleetPair:
    known = {
        "pair": number,
        "near": f"n{number}",
        "far": "srv",
        "sender": f"n{number}",
        "receiver": "srv",
        "trials": 1,
        "goodput_bps": Spread(median=rate),
        "transactions_per_s": Spread(),
        **dict.fromkeys(("rtt_ns", "rtt_ns_min", "queue_ns", "retransmitted_ratio", "timeouts", "idle_ratio")),
        **dict.fromkeys(("idle_ns_max", "limited_by", "limited_ratio")),
        **changes,
    }
    return FleetPair.model_validate(known)


def fleet(slow: SlowHost | None, *, busy: float = 0.3) -> Fleet:
    pairs = [pair(number, 3e8 if slow is not None and number == 2 else 1e9) for number in range(1, 9)]
    hosts = [
        FleetHost(
            host=name,
            sent_bps=Spread(),
            received_bps=Spread(),
            pairs=[],
            cpu_ratio=ratio,
            load_cpus=None,
            timeouts=None,
        )
        for name, ratio in [*((f"n{number}", 0.2) for number in range(1, 9)), ("srv", busy)]
    ]
    return Fleet(
        pattern="fan-in",
        pairs=pairs,
        hosts=hosts,
        groups=[],
        fairness=0.9,
        fairness_hosts=0.9,
        window=FleetWindow(),
        stragglers=[],
        slow=[] if slow is None else [slow],
        compared=True,
    )


def slow_host(*differences: HostDifference) -> SlowHost:
    return SlowHost(
        host="n2", role="sender", pairs=[2], ratio=0.3, p_value=0.001, slower_trials=3, differences=list(differences)
    )


def verdict(cause: Cause, **values: Value) -> Verdict:
    return Verdict(
        cause=cause,
        code=str(cause),
        values=values,
        claim=f"It is {cause}.",
        confidence="high",
        evidence=[],
        refuted_by="",
    )


def explained(first: Verdict) -> CellExplanation:
    return CellExplanation(
        cell="c0001",
        trial="001-c0001",
        rate_bps=1e9,
        dominant_state="unknown",
        missing=[],
        budgets=[],
        patterns=[],
        verdicts=[first],
        headline=first.claim,
    )


MTU = HostDifference(code="mtu", host="576 bytes", others="1,500 bytes", of=7, ratio=0.384, detail="eth0")
LOSS = HostDifference(code="retransmitted_ratio", host="2.0 %", others="0.0 %", of=7, ratio=None)
SEND_BUFFER = HostDifference(
    code="sysctl", host="4096 16384 65536", others="4096 16384 4194304", of=7, detail="net.ipv4.tcp_wmem"
)
KERNEL = HostDifference(code="kernel", host="5.10.0", others="6.18.0", of=7)
OTHER_LOAD = HostDifference(code="other_programs", host="95 %", others="0.0 %", of=7, detail="stress")
SHAPED = HostDifference(code="qdisc_rate", host="100 Mbit/s", others="none", of=7, detail="tbf on eth0")

CPU = verdict(Cause.CAPACITY, role="receiver")
OPEN_LOSS = verdict(Cause.NOT_KNOWN, causes=["small_queue", "random_loss"])


@pytest.mark.parametrize(
    ("own", "usual", "differences", "cause", "confidence"),
    [
        # The pair's own verdict, which others do not have.
        (verdict(Cause.SEND_BUFFER), CPU, [], Cause.SEND_BUFFER, "medium"),
        (verdict(Cause.SEND_BUFFER), CPU, [SEND_BUFFER], Cause.SEND_BUFFER, "high"),
        (verdict(Cause.SEND_BUFFER), CPU, [KERNEL], Cause.SEND_BUFFER, "medium"),
        # A CPU is the limit, and the difference says why.
        (verdict(Cause.SENDER_CPU), verdict(Cause.BOTTLENECK), [MTU], Cause.SMALL_MTU, "high"),
        (CPU, CPU, [MTU], Cause.SMALL_MTU, "medium"),
        (verdict(Cause.CAPACITY, role="sender"), CPU, [OTHER_LOAD], Cause.OTHER_LOAD, "medium"),
        # Hosts that share CPUs all wait for one: that makes none of them slow.
        (verdict(Cause.OTHER_LOAD), CPU, [SEND_BUFFER], Cause.SEND_BUFFER, "medium"),
        (verdict(Cause.OTHER_LOAD), CPU, [OTHER_LOAD, SEND_BUFFER], Cause.OTHER_LOAD, "high"),
        (verdict(Cause.OTHER_LOAD), CPU, [], Cause.OTHER_LOAD, "medium"),
        # The bottleneck of one pair alone is its host's shaper.
        (verdict(Cause.BOTTLENECK), CPU, [SHAPED], Cause.LOCAL_QUEUE, "high"),
        # Losses: the verdict looks closer than a count.
        (verdict(Cause.RANDOM_LOSS), CPU, [LOSS], Cause.RANDOM_LOSS, "high"),
        (OPEN_LOSS, CPU, [MTU, LOSS], Cause.PATH_LOSS, "medium"),
        (verdict(Cause.NOT_KNOWN), CPU, [LOSS], Cause.PATH_LOSS, "medium"),
        # Nothing separates it from the others.
        (verdict(Cause.BOTTLENECK), verdict(Cause.BOTTLENECK), [], Cause.BOTTLENECK, "low"),
        (verdict(Cause.NOT_KNOWN), CPU, [KERNEL], Cause.NOT_KNOWN, "low"),
    ],
)
def test_the_cause_of_a_slow_host(
    own: Verdict, usual: Verdict, differences: list[HostDifference], cause: Cause, confidence: str
) -> None:
    asked: list[tuple[int, float | None]] = []

    def explain(number: int, rate: float | None) -> CellExplanation:
        asked.append((number, rate))
        return explained(own if number == 1 else usual)

    whole, found = explain_fleet("c0001", fleet(slow_host(*differences)), explain)
    (host,) = found.slow
    assert (found.limited_by, found.host, found.cause) == ("slow_host", "n2", cause)
    assert (host.pair, host.cause, host.confidence) == (2, cause, confidence)
    assert found.words.startswith("Host n2 is slow: as a sender it reaches 30 % of the rate of the other hosts.")
    # The slow host's cause is the first verdict of the cell, the pair's own verdicts follow.
    assert [entry.cause for entry in whole.verdicts] == [cause, own.cause]
    assert whole.headline == found.words
    assert asked[0] == (1, 3e8)
    assert len(asked) == len(set(asked)) <= 8


@pytest.mark.parametrize(
    ("usual", "busy", "where", "host"),
    [
        (verdict(Cause.CAPACITY, role="receiver"), 0.9, "receiver", "srv"),
        (verdict(Cause.NOT_KNOWN), 0.9, "receiver", "srv"),
        (verdict(Cause.NOT_KNOWN), 0.3, "not_known", None),
        (verdict(Cause.SMALL_QUEUE), 0.9, "path", None),
        (verdict(Cause.SEND_BUFFER), 0.3, "sender", None),
    ],
)
def test_without_a_slow_host_the_side_that_limits_is_named(
    usual: Verdict, busy: float, where: str, host: str | None
) -> None:
    whole, found = explain_fleet("c0001", fleet(None, busy=busy), lambda *_: explained(usual))
    assert (found.limited_by, found.host, found.cause) == (where, host, usual.cause)
    assert found.words.startswith("No host is slower than the others beyond their spread.")
    assert usual.claim in whole.headline
    assert whole.verdicts == [usual]


def test_pairs_without_one_limit_have_none_in_common() -> None:
    kinds = [Cause.SEND_BUFFER, Cause.RECEIVE_BUFFER, Cause.SMALL_QUEUE, Cause.NOT_KNOWN]
    _, found = explain_fleet("c0001", fleet(None), lambda number, _: explained(verdict(kinds[number % 4])))
    assert (found.limited_by, found.cause) == ("not_known", Cause.NOT_KNOWN)


def test_a_difference_for_the_better_explains_nothing() -> None:
    larger = MTU.model_copy(update={"ratio": 6.0})
    assert cause_of(larger, "sender") is None
    faster = HostDifference(code="tso", host="on", others="off", of=7)
    assert cause_of(faster, "sender") is None
    assert cause_of(SHAPED.model_copy(update={"host": "none"}), "sender") is None
    # A send buffer limits no receiver.
    assert cause_of(SEND_BUFFER, "receiver") is None
    assert cause_of(SEND_BUFFER, "pair") is Cause.SEND_BUFFER


def test_a_stored_fleet_is_explained_by_its_pairs(tmp_path: Path) -> None:
    trial = made.Trial(duration_s=1.0, warmup_s=0.2)
    names = [f"n{number}" for number in range(1, 6)]
    pairs = [PairOfHosts(name, "srv", trial=trial, mtu_bytes=576 if name == "n3" else 1500) for name in names]
    folder = write_fleet(tmp_path / "r", "fan-in", pairs, rates=[[4e8 if name == "n3" else 1e9 for name in names]])
    found = explain_experiment(Experiment.open(folder))
    (diagnosis,) = found.fleet
    assert (diagnosis.limited_by, diagnosis.host, diagnosis.cause) == ("slow_host", "n3", Cause.SMALL_MTU)
    assert sorted(explained.pair for explained in diagnosis.pairs) == [1, 2, 3, 4, 5]
    assert diagnosis.pairs[0].near == "n3"
    (cell,) = found.cells
    assert cell.verdicts[0].change is not None
    assert "n3" in cell.verdicts[0].change.by_hand
    # Evidence names the sides as the record does.
    hosts = {fact.host for verdict_ in cell.verdicts[1:] for fact in verdict_.evidence if fact.host}
    assert hosts <= {"near3", "far3"}
    assert {budget.host for budget in cell.budgets} <= {"near3", "far3"}
    assert found.headline.startswith("Host n3 is slow")
