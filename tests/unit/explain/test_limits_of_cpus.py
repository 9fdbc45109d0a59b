"""The CPUs of both sides, who keeps a load from them, and what packets cost: what each limit takes of a trial."""

from typing import Any

import pytest

from tests.unit.explain.limit_cases import (
    ANSWERED,
    CASES,
    COSTLY_PACKETS,
    LITTLE_LEFT,
    LOOP,
    MUCH,
    OF_CPUS,
    ON_CPU,
    Case,
    Edit,
    at_receiver,
    at_sender,
    calls,
    counted,
    cpu,
    each_change,
    each_scene,
    facts,
    limit_of,
    of_whole,
    share_of,
    shares,
)
from whyperf.explain.causes import Cause
from whyperf.explain.limits import cpu as cpu_limits
from whyperf.explain.limits import every
from whyperf.explain.limits.every import LIMITS, found_in
from whyperf.explain.limits.judge import judge
from whyperf.explain.trial_facts import Facts


@each_scene(OF_CPUS)
def test_a_limit_takes_much_of_its_scene(case: Case) -> None:
    limit = limit_of(case.cause, case.speaks)
    assert limit.code == case.code
    assert limit.share >= MUCH
    assert limit.evidence


@each_change(OF_CPUS)
def test_a_limit_takes_little_where_something_speaks_against_it(case: Case, edit: Edit) -> None:
    assert share_of(case.cause, edit(case.speaks)) <= LITTLE_LEFT * share_of(case.cause, case.speaks)


def test_every_limit_has_a_scene() -> None:
    assert {ask.__name__ for ask in LIMITS} == {str(case.cause) for case in CASES}


@pytest.mark.parametrize(
    ("found", "code"),
    [
        (facts(ON_CPU), "capacity"),
        (facts(ON_CPU | calls(8192.0)), "capacity.small_writes"),
        # Nobody counts the bytes of another program's writes.
        (facts(ON_CPU, watched_sides="both"), "capacity.small_writes"),
        (facts(cpu(thread=0.82)), "capacity.not_full"),
        (facts(cpu(thread=0.82), exchanges=ANSWERED), "capacity.transactions.not_full"),
    ],
)
def test_that_nothing_can_be_removed_is_said_only_where_all_was_tried(found: Facts, code: str) -> None:
    assert limit_of(Cause.CAPACITY, found).code == code


@pytest.mark.parametrize(("mss", "code"), [(100, "small_mtu.headers"), (1200, None)])
def test_headers_of_small_segments_take_a_part_of_what_a_path_carries(mss: int, code: str | None) -> None:
    """Segments of 100 bytes leave 60 % of a link to payload, usual ones 96 %; no CPU is busy."""
    found = facts({"sockets.mss_bytes": mss}, windows={"rtt_ns_min": 2_000_000})
    limits = [limit for limit in found_in(found) if limit.cause is Cause.SMALL_MTU]
    assert [limit.code for limit in limits] == ([code] if code else [])
    for limit in limits:
        assert limit.gain is not None
        assert limit.gain.ratio == pytest.approx(1448 / 1514 * 166 / 100)


def test_a_cpu_that_is_not_full_is_not_said_to_do_all_it_can() -> None:
    full = limit_of(Cause.CAPACITY, facts(cpu(thread=0.97), rate_bps=28.8e6)).values
    assert (full["max_bps"], full["left_ratio"]) == (28.8e6, None)
    busy = limit_of(Cause.CAPACITY, facts(cpu(thread=0.82), rate_bps=28.8e6)).values
    assert busy["max_bps"] is None
    assert [busy["left_ratio"], busy["busy_times"]] == pytest.approx([0.18, 1 / 0.82])


def test_capacity_is_never_less_than_what_was_measured() -> None:
    assert limit_of(Cause.CAPACITY, facts(ON_CPU, rate_bps=40e9, goodput_bps=46.1e9)).values["max_bps"] == 46.1e9


def test_a_busy_cpu_alone_is_capacity_and_nothing_else() -> None:
    assert [limit.cause for limit in found_in(facts(shares(write_call=0.97) | cpu(thread=0.98)))] == [Cause.CAPACITY]


@pytest.mark.parametrize("level", ["segments", "counters", "user"])
def test_where_nothing_is_known_nothing_is_said(level: str) -> None:
    nothing = facts(shares(unknown=1.0), level=level)
    assert found_in(nothing) == []
    assert [verdict.cause for verdict in judge(nothing)] == [Cause.NOT_KNOWN]


def test_a_thread_that_serves_many_connections_computes_as_long_as_it_is_outside_the_kernel() -> None:
    many = of_whole(connections=10)(LOOP)
    assert share_of(Cause.SENDER_CPU, many) == 0
    assert share_of(Cause.SENDER_CPU, at_sender(cpu(own_user=0.6))(many)) == pytest.approx(0.6)


@pytest.mark.parametrize("name", ["other", "steal"])
def test_packets_are_dear_for_others_on_the_same_cpu(name: str) -> None:
    """What shares a CPU with other programs is slower for them."""
    alone = share_of(Cause.SENDER_CPU, COSTLY_PACKETS)
    assert share_of(Cause.SENDER_CPU, at_sender(cpu(**{name: 0.35}))(COSTLY_PACKETS)) == pytest.approx(alone - 0.35)


@pytest.mark.parametrize(
    ("taken", "code"),
    [({"other": 0.45}, "other_load.withheld.programs"), ({"steal": 0.4}, "other_load.withheld.steal")],
)
def test_a_cpu_that_is_not_its_own_is_no_capacity(taken: dict[str, Any], code: str) -> None:
    limit = limit_of(Cause.OTHER_LOAD, counted(cpu(thread=0.5, run_queue=0.4, withheld=0.4, **taken), rate_bps=1e9))
    assert (limit.code, limit.share) == (code, 0.4)


def test_receive_offload_that_is_off_is_reported_by_the_device() -> None:
    limit = cpu_limits.offloads_off(at_receiver({"devices.receive_offload": False})(counted(ON_CPU)))
    assert limit is not None
    assert (limit.evidence[0].table, limit.gain) == ("devices", None)


def test_a_faulty_limit_is_reported_and_the_others_are_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    def tiny_hosts(_: Facts) -> None:
        raise ZeroDivisionError("division by zero")

    monkeypatch.setattr(every, "LIMITS", (tiny_hosts, *LIMITS))
    faults: list[str] = []
    assert [limit.cause for limit in found_in(facts(ON_CPU), faults.append)] == [Cause.CAPACITY]
    assert faults == [
        "The limit tiny hosts failed (ZeroDivisionError: division by zero); this cause was not checked. "
        "Please report it."
    ]
    with pytest.raises(ZeroDivisionError):
        found_in(facts(ON_CPU))
