"""Which experiments are possible with a load, how long their trials are, and what is said of them."""

from dataclasses import replace
from typing import Any, get_args

import pytest

from whyperf.explain.causes import Cause
from whyperf.explain.experiments.answer import Answer, Known, Tried, Why
from whyperf.explain.experiments.beliefs import curious, prior_of
from whyperf.explain.experiments.changing import FirstRate
from whyperf.explain.experiments.goals import Kind
from whyperf.explain.experiments.load_settings import excluded
from whyperf.explain.experiments.question import Arrival, Lengths, lengths_of
from whyperf.explain.experiments.tries import TOGETHER, TRIES, WITHOUT, planned, spared
from whyperf.explain.explanation import CauseProbability
from whyperf.explain.setup import Setup
from whyperf.explain.wording.experiments import (
    answer_words,
    headline_of,
    outcome_words,
    shows_words,
    spared_words,
    try_words,
)
from whyperf.profile import Factors, parse, resolve

SYSCTLS = {"net.core.rmem_max": "212992", "net.ipv4.tcp_rmem": "4096 131072 6291456"}
SYSCTLS |= {"net.core.wmem_max": "8388608", "net.ipv4.tcp_wmem": "4096 16384 4194304"}
HOST: dict[str, Any] = {"congestion_controls": ["cubic", "bbr"], "sysctls": SYSCTLS}
LOOK = FirstRate(rate_bps=1e8, loses=True)


def setup_of(testbed: Any = "veth", **factors: Any) -> Setup:
    resolved = resolve(factors, testbed=testbed == "veth")
    return Setup(resolved, testbed, hosts={"near": HOST, "far": HOST})


def tried(setup: Setup, seen: FirstRate = LOOK, kind: Kind = "rate") -> dict[str, Any]:
    """The factors of each experiment, by its name."""
    return {each.name: dict(each.factors) for each in planned(setup, seen, kind)}


@pytest.mark.parametrize(
    ("factors", "name", "wanted"),
    [
        ({"window_bytes": 65_536}, "receive-window", {"window_bytes": "default"}),
        ({"receive_buffer_bytes": 65_536}, "receive-window", {"receive_buffer_bytes": "default"}),
        ({"send_buffer_bytes": 65_536}, "send-buffer", {"send_buffer_bytes": "default"}),
        ({}, "set-send-buffer", {"send_buffer_bytes": 8_388_608}),
        ({"write_size_bytes": 1024}, "larger-writes", {"write_size_bytes": 131_072}),
        ({"read_size_bytes": 1024}, "usual-reads", {"read_size_bytes": 131_072}),
        ({"write_rate_bps": 10_000_000}, "no-asked-rate", {"write_rate_bps": "default"}),
        ({"pacing_rate_bps": 10_000_000}, "no-pacing", {"pacing_rate_bps": "default"}),
        ({"mss_bytes": 500}, "usual-segments", {"mss_bytes": "default"}),
        ({"mtu_bytes": 576}, "usual-segments", {"mtu_bytes": 1500}),
        ({"gso": False, "tso": False}, "offloads", {"gso": True, "tso": True}),
        ({"workload": "crr"}, "kept-connections", {"workload": "rr"}),
        ({"workload": "rr"}, "more-requests", {"outstanding": 8}),
        ({"path_rtt_ms": 10.0, "path_loss": 0.01}, "path-without-loss", {"path_loss": 0.0}),
        ({"path_rtt_ms": 10.0, "path_rate_bps": 10_000_000}, "path-twice-as-fast", {"path_rate_bps": 20_000_000}),
        ({"congestion_control": "bbr"}, "other-control", {"congestion_control": "cubic"}),
        ({"near_cpus": "0", "far_cpus": "0"}, "own-cpus", {"near_cpus": "auto", "far_cpus": "auto"}),
        ({"near_cpus": "0", "far_cpus": "1"}, "free-cpus", {"near_cpus": "auto", "far_cpus": "auto"}),
        ({}, "paced-at-twice", {"pacing_rate_bps": 200_000_000}),
        ({}, "paced-at-half", {"pacing_rate_bps": 50_000_000}),
        ({}, "paced-at-a-quarter", {"pacing_rate_bps": 25_000_000}),
        ({"window_bytes": 65_536}, "half-receive-buffer", {"window_bytes": 32_768}),
        ({"receive_buffer_bytes": 65_536}, "half-receive-buffer", {"receive_buffer_bytes": 32_768}),
        # setsockopt(2) doubles what is asked for.
        ({}, "half-receive-buffer", {"receive_buffer_bytes": 6_291_456 // 4}),
        ({}, "half-send-buffer", {"send_buffer_bytes": 4_194_304 // 4}),
        ({"path_rtt_ms": 10.0}, "path-twice-as-long", {"path_rtt_ms": 20.0}),
        (
            {"path_rtt_ms": 10.0, "path_delay_back_ms": 8.0},
            "path-twice-as-long",
            {"path_rtt_ms": 20.0, "path_delay_back_ms": 16.0},
        ),
        ({"direction": "receive"}, "other-direction", {"direction": "send"}),
        (
            {"path_rtt_ms": 10.0, "path_rate_bps": 100_000_000, "path_rate_back_bps": 10_000_000},
            "path-back",
            {"path_rate_back_bps": "same"},
        ),
        (
            {"path_rtt_ms": 100.0, "path_rate_bps": 100_000_000, "path_queue": 15_000},
            "path-with-queue",
            {"path_queue": "bdp"},
        ),
        (
            {"path_rtt_ms": 2.0, "path_rate_bps": 6_500_000, "path_queue": 15_000},
            "path-with-queue",
            {"path_queue": 65_536},
        ),
        ({}, "after-a-rest", {"rest_s": 2.0, "warmup_s": 0.0}),
        ({}, "busy-polling", {"busy_poll_us": 50}),
    ],
)
def test_what_an_experiment_sets(factors: dict[str, Any], name: str, wanted: dict[str, Any]) -> None:
    assert tried(setup_of(**factors))[name] == wanted


def test_an_experiment_keeps_the_schedule() -> None:
    setup = setup_of(schedule="seven-regions", schedule_scale=0.01, deadline_s=20.0)
    found = tried(setup)
    assert "paced-at-twice" in found
    assert "datagrams-at-twice" not in found
    assert all(setup.stated(factors)["schedule"] == "seven-regions" for factors in found.values())


@pytest.mark.parametrize(
    ("announced_bytes", "chosen", "wanted"),
    [
        (None, "6291456", None),
        (None, "131072", 212_992),
        (65_536, "6291456", 212_992),
        (400_000, "131072", None),
    ],
)
def test_the_window_that_was_announced_says_more_of_a_buffer_than_the_hosts_settings(
    announced_bytes: float | None, chosen: str, wanted: int | None
) -> None:
    host = {**HOST, "sysctls": {**SYSCTLS, "net.ipv4.tcp_rmem": f"4096 131072 {chosen}"}}
    setup = Setup(setup_of().factors, "veth", hosts={"near": HOST, "far": host})
    found = tried(setup, FirstRate(rate_bps=1e8, announced_bytes=announced_bytes)).get("set-receive-buffer")
    assert found == (None if wanted is None else {"receive_buffer_bytes": wanted})


def test_nothing_is_tried_that_the_load_has_already() -> None:
    names = set(tried(setup_of(no_delay=True)))
    assert not names & {
        "no-delay",
        "receive-window",
        "larger-writes",
        "usual-reads",
        "no-pacing",
        "usual-segments",
        "offloads",
    }
    assert not [name for name in names if name.startswith("path-")]


def test_the_way_back_of_a_path_carries_acks_or_the_payload_of_who_asks() -> None:
    setup = setup_of(path_rtt_ms=10.0, path_rate_bps=100_000_000, path_rate_back_bps=10_000_000)
    for is_turned, cause in ((False, Cause.ACK_PATH), (True, Cause.BOTTLENECK)):
        found = {each.name: each for each in planned(setup, replace(LOOK, is_turned=is_turned))}
        assert found["path-back"].relieves[0] == cause
        faster = {"path_rate_back_bps": 20_000_000} if is_turned else {"path_rate_bps": 200_000_000}
        assert found["path-twice-as-fast"].factors == faster


@pytest.mark.parametrize(("size", "cause"), [(64, Cause.ACK_PATH), (4450, Cause.BOTTLENECK)])
def test_a_way_back_that_carries_answers_is_a_bottleneck(size: int, cause: Cause) -> None:
    rates = {"path_rtt_ms": 10.0, "path_rate_bps": 100_000_000, "path_rate_back_bps": 10_000_000}
    setup = setup_of(workload="rr", request_size_bytes=1150, response_size_bytes=size, **rates)
    found = {each.name: each for each in planned(setup, LOOK)}
    assert found["path-back"].relieves[0] == cause
    assert ("path_rate_back_bps" in found["path-twice-as-fast"].factors) == (cause is Cause.BOTTLENECK)


def test_datagrams_that_fit_no_packet_are_not_merged() -> None:
    for version, is_tried in ((4, True), (6, False)):
        factors = {"transport": "udp", "workload": "udp-stream", "datagram_size_bytes": 1472, "ip_version": version}
        assert ("merged-datagrams" in tried(setup_of(**factors))) == is_tried


def test_a_slow_way_of_acks_is_made_as_fast_as_that_of_the_payload() -> None:
    """Where the payload comes back, the way back keeps its rate."""
    rates = {"path_rate_bps": 10_000_000, "path_rate_back_bps": 100_000_000}
    setup = setup_of(path_rtt_ms=10.0, path_loss_back=0.01, **rates)
    found = {each.name: each for each in planned(setup, replace(LOOK, is_turned=True))}
    assert (found["path-forth"].factors, found["path-forth"].relieves) == (
        {"path_rate_bps": 100_000_000},
        (Cause.ACK_PATH,),
    )
    assert found["path-back"].factors == {"path_loss_back": 0.0}
    assert "path-forth" not in {each.name for each in planned(setup, LOOK)}


@pytest.mark.parametrize(
    ("steps", "is_turned", "cause"),
    [
        ('{ op = "read", size = 9 }, { op = "think", time = "=think_us" }', True, Cause.SLOW_READER),
        ('{ op = "write", size = 9 }, { op = "think", time = "=think_us" }', False, Cause.SLOW_WRITER),
        ('{ op = "write", size = 9 }, { op = "read", size = 9 }, { op = "think", time = "=think_us" }', False,
         Cause.THINK_TIME),
        ('{ op = "read", size = 9 }, { op = "think", time = "=think_us", busy = true }', True, Cause.RECEIVER_CPU),
        ('{ op = "write", size = 9 }, { op = "think", time = "=think_us", busy = true }', False, Cause.SENDER_CPU),
        ('{ op = "write", size = 1 }, { op = "read", size = 9 }, { op = "think", time = "=think_us", busy = true }',
         True, Cause.RECEIVER_CPU),
    ],
)  # fmt: skip
def test_pauses_are_called_by_what_the_load_does_next_to_them(steps: str, is_turned: bool, cause: Cause) -> None:
    text = f"""
about = "Pauses."
[fixed]
duration_s = 1
think_us = 1000
[workload]
name = "pausing"
about = "Does something, and pauses."
[[workload.group]]
[[workload.group.transaction]]
steps = [{steps}]
"""
    workloads = parse(text, name="sample", where="sample.toml").workloads
    factors: Factors = {"workload": "pausing", "think_us": 1000}
    setup = Setup(resolve(factors, testbed=True, own=workloads), "veth", workloads=workloads)
    found = {each.name: each for each in planned(setup, replace(LOOK, is_turned=is_turned))}
    assert found["no-pauses"].relieves[0] == cause


def test_a_setting_that_somebody_chose_is_tried_before_a_default() -> None:
    """Where the evidence speaks for neither."""
    found = planned(setup_of(window_bytes=65_536), LOOK)
    assert [each.takes_back for each in found if each.name in {"receive-window", "no-delay"}] == [True, False]
    chosen = curious(prior_of([CauseProbability(cause=Cause.POLICER, probability=0.9)]), found)
    assert chosen[Cause.RECEIVE_BUFFER] > chosen[Cause.NAGLE_DELAYED_ACK] > chosen[Cause.LOCK_CONTENTION]


def test_all_remedies_are_made_together_and_all_but_each() -> None:
    setup = setup_of(window_bytes=65_536, write_size_bytes=1024, no_delay=True)
    found = tried(setup)
    assert found[TOGETHER]["window_bytes"] == "default"
    assert found[TOGETHER]["write_size_bytes"] == 131_072
    assert "write_size_bytes" not in found[f"{WITHOUT}larger-writes"]
    assert found[f"{WITHOUT}larger-writes"]["window_bytes"] == "default"


def test_the_path_of_others_gets_no_more_than_the_load_asks_for() -> None:
    setup = setup_of("network", connections=4, write_rate_bps=10_000_000)
    assert {"no-asked-rate", "four-times-the-connections"} <= set(tried(setup))
    careful = tried(setup, FirstRate(rate_bps=1e8, is_foreign=True))
    assert not {"no-asked-rate", "four-times-the-connections", "other-direction"} & set(careful)
    assert {"no-asked-rate"} <= set(tried(setup, FirstRate(rate_bps=1e8, is_foreign=True, allows_harm=True)))
    left_out = spared(setup, FirstRate(rate_bps=1e8, is_foreign=True))
    assert left_out == ["no-asked-rate", "four-times-the-connections", "other-direction"]
    asked = setup_of("network", connections=1, write_rate_bps=10_000_000)
    assert "four-times-the-connections" not in tried(asked, FirstRate(rate_bps=1e7, is_foreign=True))
    assert spared(setup, FirstRate(rate_bps=1e8)) == []
    paced = setup_of("network", pacing_rate_bps=10_000_000)
    assert "no-pacing" in spared(paced, FirstRate(rate_bps=1e7, is_foreign=True))


def test_experiments_that_are_left_out_for_others_are_named() -> None:
    why = Why(
        experiment="e", cell="c0001", unit="bit/s", rate=1.0, original=1.0, tried=[], probabilities=[],
        answer=Answer(known="likely", causes=["asked_rate"], probability=0.97), spared=("no-asked-rate",),
    )  # fmt: skip
    assert spared_words(why).startswith("A higher asked rate, for the sake of others")
    assert "No experiment" not in headline_of(why)
    proved = why.model_copy(update={"answer": Answer(known="proved", causes=["tiny_writes"])})
    assert spared_words(proved) == spared_words(why.model_copy(update={"spared": ()})) == ""


RATE_ONLY = {"more-requests", "four-times-the-connections", "no-asked-rate", "path-twice-as-long"}
RATE_ONLY |= {"paced-at-80-percent", "paced-at-half", "paced-at-a-quarter", "half-receive-buffer", "half-send-buffer"}
RATE_ONLY |= {"after-a-rest"}
LATENCY_ONLY = {"half-the-load", "drained-queue", "path-with-codel"}


def test_more_load_is_no_help_for_a_latency() -> None:
    bound = {"path_rtt_ms": 10.0, "path_rate_bps": 10_000_000, "connections": 4}
    setups = [setup_of(workload="rr", **bound), setup_of(workload="rr", offered_rate_per_s=1000.0, **bound)]
    of_rate, of_latency = (
        {name for setup in setups for name in tried(setup, kind=kind) if not name.startswith(TOGETHER)}
        for kind in get_args(Kind)
    )
    assert of_rate - of_latency == RATE_ONLY
    assert of_latency - of_rate == LATENCY_ONLY


@pytest.mark.parametrize(
    ("factors", "wanted"),
    [
        ({"workload": "rr", "offered_rate_per_s": 1000.0}, {"offered_rate_per_s": 500.0}),
        ({"workload": "rr", "outstanding": 8, "connections": 4}, {"outstanding": 4}),
        ({"workload": "rr", "connections": 5}, {"connections": 2}),
        ({"workload": "rr"}, None),
    ],
)
def test_half_of_a_load(factors: dict[str, Any], wanted: dict[str, Any] | None) -> None:
    assert tried(setup_of(**factors), kind="latency").get("half-the-load") == wanted


def test_a_control_that_a_host_lacks_is_not_tried() -> None:
    setup = setup_of()
    lacking = Setup(setup.factors, "veth", hosts={"near": HOST, "far": {**HOST, "congestion_controls": ["cubic"]}})
    assert "other-control" in tried(setup)
    assert "other-control" not in tried(lacking)


def test_the_loads_own_settings_exclude_causes() -> None:
    out = excluded(setup_of())
    assert {Cause.PACING_RATE, Cause.THINK_TIME, Cause.TINY_WRITES, Cause.SMALL_MTU, Cause.RANDOM_LOSS} <= out
    assert Cause.RECEIVE_BUFFER not in out
    small = excluded(setup_of("network", write_size_bytes=1024))
    assert not {Cause.TINY_WRITES, Cause.SMALL_MTU, Cause.RANDOM_LOSS} & small
    assert Cause.THINK_TIME not in excluded(setup_of(workload="write-wait"))


FIRST = Lengths(1.0, 2.0)


def moved(*rates: float) -> list[Arrival]:
    """Intervals of 0.1 s."""
    return [Arrival(at / 10, (at + 1) / 10, rate) for at, rate in enumerate(rates)]


def test_a_trial_is_as_short_as_the_first_look_allows() -> None:
    assert lengths_of(moved(*[5.0] * 30), FIRST, 0.0001) == Lengths(0.1, 0.5)
    # The rate is reached after 0.7 s.
    assert lengths_of(moved(*[1.0] * 7, *[5.0] * 23), FIRST, 0.0001) == Lengths(0.7, 0.5)
    # A round trip of 50 ms: 12 of them for slow start.
    assert lengths_of(moved(*[5.0] * 30), FIRST, 0.05) == Lengths(0.6, 0.5)
    # Three losses with a timeout each.
    assert lengths_of(moved(*[5.0] * 30), FIRST, 0.0001, loses=True) == Lengths(0.3, 0.6)
    # A window of 35 segments takes a second to come back; 16 of two do not.
    assert lengths_of(moved(*[1e5] * 30), FIRST, 0.05, loses=True) == Lengths(1.0, 1.5)
    assert lengths_of(moved(*[1e5] * 30), FIRST, 0.05, connections=16, loses=True) == Lengths(0.6, 0.8)
    # Nothing is known of the window.
    assert lengths_of([], FIRST, 0.05, loses=True) == Lengths(1.0, 1.5)
    # Never longer than what is explained.
    assert lengths_of(moved(*[5.0] * 30), FIRST, 1.0) == FIRST


def tried_once(name: str, **values: Any) -> Tried:
    usual = {"factors": {}, "outcome": "raises", "gain": 2.0, "low": 1.5, "high": 2.5, "pairs": 2, "is_remedy": True}
    return Tried(name=name, relieves=["tiny_writes"], **{**usual, **values})


def test_every_experiment_and_every_answer_has_words() -> None:
    for each in TRIES:
        assert try_words(each.name)
    assert try_words(f"{WITHOUT}larger-writes") == "all changes but larger writes"
    answers = {
        known: Answer(known=known, causes=["tiny_writes"], probability=0.9, gain=2.0, low=1.9, high=2.1, pairs=3)
        for known in get_args(Known)
    }
    for known, answer in answers.items():
        assert answer_words(answer, ("1 Gbit/s", "2 Gbit/s")), known
    assert answer_words(answers["proved"], ("1 Gbit/s", "2 Gbit/s")).startswith("Small writes: proved. The rate rises")
    assert "not proved" in answer_words(answers["likely"], is_open=True)


def test_an_outcome_and_what_it_shows() -> None:
    proved, same = tried_once("larger-writes"), tried_once("no-delay", outcome="same", gain=1.0)
    why = Why(
        experiment="e", cell="c0001", unit="bit/s", rate=1.0, original=1.0, tried=[proved, same], probabilities=[],
        answer=Answer(known="proved", causes=["tiny_writes"], tried="larger-writes"),
    )  # fmt: skip
    assert outcome_words(proved) == "2.00 ×"
    assert shows_words(proved, why) == "small writes"
    assert outcome_words(same) == "no difference"
    assert shows_words(same, why) == "not small writes"
