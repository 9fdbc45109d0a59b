"""A printed change changes the cell, is one that the planner takes, and never lowers what a host has."""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.unit.explain.limit_cases import (
    CASES,
    LOST,
    OF_QUEUE,
    ON_CPU,
    ON_ONE_CPU,
    RANDOM_LOSSES,
    SINGLE,
    Case,
    at_receiver,
    facts,
    limit_of,
)
from whyperf.explain.causes import Cause
from whyperf.explain.changes.own_load import change_for
from whyperf.explain.experiments.goals import refuse_other_path
from whyperf.explain.experiments.question import question_of, toml_of
from whyperf.explain.experiments.tries import CHANGE, Planned
from whyperf.explain.explanation import Change, Verdict
from whyperf.explain.headline import as_printed, cell_headline, command_label, gain_line
from whyperf.explain.limits.every import found_in
from whyperf.explain.limits.judge import _Predicting, _verdict
from whyperf.explain.limits.limit import Limit
from whyperf.explain.limits.stages import refined
from whyperf.explain.setup import Kind, Setup
from whyperf.explain.trial_facts import Facts
from whyperf.explain.wording.catalog import statement, templates
from whyperf.plan import MODEL, Plan, build
from whyperf.plan.on_model import KNOWN
from whyperf.profile import BY_NAME, Factors, Profile, ProfileError, parse

LEVELS: dict[str, tuple[Any, ...]] = {
    "workload": ("stream", "stream-receive", "rr", "small-messages", "udp-stream", "burst"),
    "transport": ("tcp", "udp", "mptcp"),
    "window_bytes": ("default", 8192, 1 << 20),
    "send_buffer_bytes": ("default", 16_384, 1 << 22),
    "receive_buffer_bytes": ("default", 16_384, 1 << 20, 1 << 22),
    "write_size_bytes": (64, 131_072, 1 << 20),
    "read_size_bytes": (64, 131_072, 1 << 22),
    "write_rate_bps": ("default", 1000, 10**9),
    "reply_size_bytes": (0, 1),
    "outstanding": (1, 4, 8, 64),
    "think_us": (0, 100),
    "connections": (1, 4, 8, 400),
    "no_delay": (True, False),
    "quick_ack": (True, False),
    "congestion_control": ("cubic", "bbr"),
    "mss_bytes": ("default", 536),
    "pacing_rate_bps": ("default", 10**7),
    "datagram_batch": (1, 16, 64),
    "datagram_merge": (True, False),
    "near_cpus": ("auto", "0", "any"),
    "far_cpus": ("auto", "0"),
    "mtu_bytes": (576, 1500, 9000, 65_535),
    "tso": (True, False),
    "gso": (True, False),
    "gro": (True, False),
    "ip_version": (4, 6),
    "schedule": ("none", "cross"),
    "path_rtt_ms": ("none", 0, 10),
    "path_rate_bps": ("none", 10**8, 8 * 10**9),
    "path_rate_back_bps": ("same", "none", 10**7),
    "path_implementation": ("auto", "netem"),
    "path_queue": ("bdp", "1bdp", "0.1bdp", "4bdp", "20p", 125_000, 10**6),
    "path_loss": ("none", 0.0, 0.01, "bursts:0/0.25", "bursts:0.01/0.25", "segments:7"),
    "path_loss_back": (0.0, 0.1),
    "path_reorder": (0.0, 0.2),
    "path_ack_thinning": (1, 16),
}
TARGETS: dict[Kind, str] = {"veth": "testbed", "loopback": "loopback", "network": "far.example", "model": MODEL}
SYSCTLS: dict[str, tuple[str, ...]] = {
    "net.ipv4.tcp_rmem": ("4096 131072 6291456", "8192 262144 1073741824", "4096 87380 8192", "odd"),
    "net.ipv4.tcp_wmem": ("4096 16384 4194304", "4096 65536 2147483647", "4096 4096 4096"),
    "net.core.rmem_max": ("212992", "2147483647", "4096"),
    "net.core.wmem_max": ("212992", "67108864"),
    "net.core.netdev_max_backlog": ("1000", "10000", "300000"),
    "net.ipv4.tcp_reordering": ("3", "30", "127"),
}


def some(levels: Mapping[str, tuple[Any, ...]]) -> st.SearchStrategy[dict[str, Any]]:
    """A level each of some of the names."""
    return st.fixed_dictionaries({}, optional={name: st.sampled_from(values) for name, values in levels.items()})


HOSTS = st.fixed_dictionaries({"cpus": st.sampled_from([[0], [0, 1]]), "sysctls": some(SYSCTLS)})
DEVICES = some(
    {
        "mtu_bytes": (1500, 9000, 65_536),
        "offloads": ({"tso": True, "gso": True, "gro": False}, {"tso": True, "gso": True, "gro": True}),
    }
)


def planned(stated: Factors, kind: Kind) -> tuple[Profile, Plan] | None:
    """What the planner makes of the levels that go together; a level that does not is left out."""
    if kind == "model":
        stated = {name: level for name, level in stated.items() if name in KNOWN} | {"hosts": "linux"}
    elif kind != "veth":
        stated = {name: level for name, level in stated.items() if not BY_NAME[name].testbed}
    while True:
        text = toml_of({"about": "Any.", "fixed": stated}, [])
        profile = parse(text, name="any", where="any")
        try:
            return profile, build(profile, target=TARGETS[kind])
        except ProfileError as error:
            key = error.key.rpartition(".")[2]
            if key not in stated:
                return None
            stated = {name: level for name, level in stated.items() if name != key}


def changed(limit: Limit, found: Facts, setup: Setup) -> Change:
    change = change_for(limit, found, setup)
    assert change is not None
    return change


def verdict_with(change: Change, **values: Any) -> Verdict:
    return Verdict(
        cause=Cause.PACING_RATE, claim="It is paced.", confidence="high", evidence=[], refuted_by="", change=change,
        **values,
    )  # fmt: skip


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    case=st.sampled_from(CASES),
    stated=some(LEVELS),
    kind=st.sampled_from(sorted(TARGETS)),
    hosts=st.fixed_dictionaries({"near": HOSTS, "far": HOSTS}),
    devices=st.fixed_dictionaries({"near": DEVICES, "far": DEVICES}),
    whole=st.fixed_dictionaries({"is_turned": st.booleans(), "one_machine": st.booleans()}),
    buffer_bytes=st.sampled_from([None, 4096, 131_072, 12_582_912]),
)
def test_no_change_repeats_the_cell_or_lowers_the_host_and_the_planner_takes_each(
    *,
    case: Case,
    stated: Factors,
    kind: Kind,
    hosts: dict[str, Any],
    devices: dict[str, Any],
    whole: dict[str, Any],
    buffer_bytes: int | None,
) -> None:
    made = planned(stated, kind)
    if made is None:
        return
    profile, plan = made
    cell = plan.cells[0]
    sender, receiver = (
        replace(end, sockets=replace(end.sockets, buffer_bytes=buffer_bytes or end.sockets.buffer_bytes))
        for end in (case.speaks.sender, case.speaks.receiver)
    )
    found = replace(case.speaks, sender=sender, receiver=receiver, **whole)
    setup = Setup(cell.factors, kind, hosts, devices)
    for limit in found_in(found):
        if (change := change_for(refined(limit, found), found, setup)) is None:
            continue
        assert change.by_hand
        assert_raises(change, hosts)
        for name, level in change.factors.items():
            now = cell.factors.get(name, BY_NAME[name].default)
            assert now != level, name
            assert {now, level} != {"none", 0.0}, name
            if name == "mtu_bytes":
                assert int(level) > int(now)
        if change.factors:
            refuse_other_path(verdict_with(change), plan)
            asked = [Planned(CHANGE, change.factors, (limit.cause,))]
            _, tried = question_of(profile, plan, cell, asked, None)
            other = next(cell for cell in tried.cells if cell.sweep == CHANGE)
            assert {name: other.factors[name] for name in change.factors} == change.factors


def assert_raises(change: Change, hosts: Mapping[str, Any]) -> None:
    """Asserts that a command that writes raises at least one number and lowers none, or switches something on."""
    text = change.command
    writes = re.search(r"sysctl -w|ethtool -(?!S)[A-Z]|ip link set|ip route change|tc qdisc (?!show)", text) is not None
    assert change.is_host_wide is writes
    assert ("changes the whole host" in command_label(change)) is writes
    if "sysctl -w" in text:
        present = hosts[change.command_host]["sysctls"]
        for name, quoted, single in re.findall(r'(net[\w.]+)=(?:"([^"]+)"|(\d+))', text):
            then, now = [list(map(int, value.split())) for value in (quoted or single, present[name])]
            assert all(new >= old for new, old in zip(then, now, strict=True)), text
            assert then != now
    assert not re.search(r"ethtool -G|tc qdisc (change|add|replace)", text)


LATE = {"out_of_order_ratio": 0.2, "losses.ratio": 0.0, "spurious_ratio": 1.0, "retransmitted_ratio": 0.01}
WAITS = {"shares": {"congestion_window": 0.9}}
OVER_PATH: Factors = {"path_rtt_ms": 10.0, "path_rate_bps": 200_000_000, "path_loss": "none"}
PACKETS = {"sent_segments_per_packet": 1.0, "taken_segments_per_packet": 1.0}
PACED = {"pacing.bps": 50e6, "pacing.constant_ratio": 1.0}
SPLIT = facts(ON_CPU | {"sockets.mss_bytes": 1448, "calls.bytes_mean": 131_072.0}, segments=PACKETS)
SMALL = facts({"shares": {"receive_window_buffer": 0.9}}, windows={"announced_bytes_max": 16_384})


@pytest.mark.parametrize(
    ("cause", "found", "has", "lacks", "change"),
    [
        (Cause.REORDERING, facts(WAITS, segments=LATE), {}, {"path_reorder": 0.1}, {"path_reorder": 0.0}),
        (
            Cause.SMALL_QUEUE,
            facts(WAITS, segments=LOST | OF_QUEUE),
            {"path_queue": "2bdp"},
            {"path_queue": "0.1bdp"},
            {"path_queue": "bdp"},
        ),
        (
            Cause.RANDOM_LOSS,
            facts(WAITS, segments=LOST | RANDOM_LOSSES | SINGLE),
            {"path_loss": "bursts:0/0.5"},
            {"path_loss": 0.01},
            {"path_loss": 0.0},
        ),
        (Cause.OFFLOADS_OFF, SPLIT, {}, {"gro": False}, {"gro": True}),
        (
            Cause.PACING_RATE,
            facts({"shares": {"pacing": 0.95}}, segments=PACED, rate_bps=49e6),
            {},
            {"pacing_rate_bps": 50_000_000},
            {"pacing_rate_bps": "default"},
        ),
    ],
    ids=lambda value: value.value if isinstance(value, Cause) else "",
)
def test_a_change_is_named_only_where_the_cell_lacks_it(
    cause: Cause, found: Facts, has: Factors, lacks: Factors, change: Factors
) -> None:
    none, named = (changed(limit_of(cause, found), found, Setup(OVER_PATH | extra)) for extra in (has, lacks))
    assert none.factors == {}
    assert none.by_hand
    assert named.factors == change


def larger_window(setup: Setup, found: Facts = SMALL) -> Change:
    """What undoes a small receive buffer."""
    return changed(limit_of(Cause.RECEIVE_BUFFER, found), found, setup)


def test_a_sysctl_keeps_what_the_host_has_and_is_left_out_where_nothing_would_be_raised() -> None:
    def command(rmem: str, rmem_max: str) -> str:
        hosts = {"far": {"sysctls": {"net.ipv4.tcp_rmem": rmem, "net.core.rmem_max": rmem_max}}}
        change = larger_window(Setup({"window_bytes": 16_384}, hosts=hosts))
        assert change.command_host == "far"
        return change.command

    wanted = 'sysctl -w net.ipv4.tcp_rmem="8192 262144 524288" net.core.rmem_max=262144'
    assert command("8192 262144 300000", "212992") == wanted
    assert command("8192 262144 300000", "4194304") == 'sysctl -w net.ipv4.tcp_rmem="8192 262144 524288"'
    # No number of the kernel's: int() refuses so many digits.
    assert command("8192 262144 300000", "9" * 5000) == "sysctl net.ipv4.tcp_rmem net.core.rmem_max"
    assert command("4096 131072 33554432", "4194304") == ""
    # What the record does not have is looked up, not written.
    missing = larger_window(Setup())
    assert missing.command == "sysctl net.ipv4.tcp_rmem"
    assert not missing.is_host_wide


def test_hosts_of_the_model_without_linux_get_a_larger_window_and_no_command() -> None:
    """Their default can be smaller than the window that is set, and they have no sysctl."""
    name = "sparc2+sba-100@2.2.6"

    def change(system: str) -> Change:
        hosts = {end: {"parameters": {name: {"system": system}}} for end in ("near", "far")}
        return larger_window(Setup({"hosts": name, "window_bytes": 16_384}, "model", hosts))

    assert change("sunos-4.1").factors == {"window_bytes": 65_535}
    assert change("sunos-4.1").command == ""
    assert change("sunos-4.1").by_hand == "Raise the receive buffer."
    assert "net.ipv4.tcp_rmem" in change("linux").by_hand
    assert change("linux").factors == {"window_bytes": "default"}
    assert change("linux").command
    of_quick_ack = {"quick_ack": True}
    assert (
        Setup({"hosts": name}, "model", {"near": {"parameters": {name: {"system": "sunos-4.1"}}}}).possible(
            of_quick_ack
        )
        == {}
    )
    assert Setup({"hosts": name}, "model").possible(of_quick_ack) == of_quick_ack


def verdict_of(cause: Cause, found: Facts, setup: Setup) -> Verdict:
    """The verdict on the limit of a cause, however probable it is."""
    limit = limit_of(cause, found)
    return _verdict(limit, found, _Predicting([limit], found, setup))


def test_a_full_cpu_without_linux_is_not_to_be_checked_with_a_command_of_linux() -> None:
    name = "sparc2+sba-100@2.2.6"

    def refuted_by(system: str) -> str:
        hosts = {end: {"parameters": {name: {"system": system}}} for end in ("near", "far")}
        return verdict_of(Cause.CAPACITY, facts(ON_CPU), Setup({"hosts": name}, "model", hosts)).refuted_by

    assert "ethtool -k" in refuted_by("linux")
    assert "ethtool" not in refuted_by("sunos-4.1")


def test_no_remedy_for_other_systems_names_what_only_linux_has() -> None:
    texts = {code: text for code, text in templates()["remedy"].items() if code.endswith(".not_linux")}
    of_linux = re.compile(r"SO_|TCP_|net\.|ip route|initcwnd|strace|perf |ethtool|whyperf")
    assert [code for code, text in texts.items() if of_linux.search(text)] == []
    assert all(code.removesuffix(".not_linux") in templates()["remedy"] for code in texts)


def test_no_buffer_is_named_that_the_hosts_limit_cuts_to_what_there_is() -> None:
    found = at_receiver({"sockets.buffer_bytes": 425_984})(SMALL)
    limited = Setup(hosts={"far": {"sysctls": {"net.core.rmem_max": "212992"}}})
    assert larger_window(limited, found).factors == {}
    roomy = Setup(hosts={"far": {"sysctls": {"net.core.rmem_max": "4194304"}}})
    assert larger_window(roomy, found).factors == {"receive_buffer_bytes": 262_144}
    # A buffer that is larger than the kernel would choose is not left to it.
    own = Setup({"receive_buffer_bytes": 425_984}, hosts={"far": {"sysctls": {"net.ipv4.tcp_rmem": "4096 8192 8192"}}})
    assert larger_window(own, found).factors == {}


def test_small_segments_that_the_cell_asks_for_are_no_matter_of_the_mtu() -> None:
    found = facts(ON_CPU | {"sockets.mss_bytes": 524}, segments={"segment_bytes_mean": 520.0})
    change = changed(limit_of(Cause.SMALL_MTU, found), found, Setup({"mss_bytes": 536}))
    assert change.factors == {"mss_bytes": "default"}
    assert "MTU" not in change.command


SMALL_SEGMENTS = Limit(Cause.SMALL_MTU, 0.9)


def test_a_larger_mtu_is_no_change_where_something_on_the_path_keeps_segments_small() -> None:
    small = facts({"sockets.mss_bytes": 1160, **ON_CPU})
    devices = {host: {"mtu_bytes": 1500} for host in ("near", "far")}
    clamped = changed(SMALL_SEGMENTS, small, Setup(testbed="network", devices=devices))
    assert (clamped.code, clamped.factors) == ("small_mtu.clamped", {})
    assert clamped.command == "tracepath HOST"
    assert not clamped.is_host_wide
    # The devices' own MTU bounds it, or nothing is known of one of them.
    for mtu in (1212, None):
        setup = Setup(testbed="network", devices=devices | {"far": {"mtu_bytes": mtu}})
        assert changed(SMALL_SEGMENTS, small, setup).code == "small_mtu"


def test_a_device_with_a_large_mtu_gets_no_command() -> None:
    found = facts(ON_CPU | {"sockets.mss_bytes": 1448})
    large, usual = {"mtu_bytes": 9216}, {"mtu_bytes": 1500}

    def command(near: dict[str, int], far: dict[str, int]) -> tuple[str, str, bool]:
        change = changed(SMALL_SEGMENTS, found, Setup(testbed="network", devices={"near": near, "far": far}))
        return change.command, change.command_host, change.is_host_wide

    assert command(usual, large) == ("ip link set dev DEV mtu 9000", "near", True)
    assert command(usual, usual) == ("ip link set dev DEV mtu 9000", "", True)
    assert command({}, {}) == ("ip link show dev DEV", "", False)


def test_a_change_that_gains_nothing_is_not_printed_and_its_advice_stays() -> None:
    change = Change(factors={"window_bytes": "default"}, by_hand="Leave it.", command="sysctl -w a=1")
    verdict = verdict_with(change, predicted_gain=1.049, predicted_low=1.0, predicted_high=1.1)
    assert as_printed(verdict).change == Change(by_hand="Leave it.")
    assert gain_line(as_printed(verdict)) == "Predicted gain: less than 5.0 %, too little to matter"
    worth = verdict.model_copy(update={"predicted_gain": 1.05})
    assert as_printed(worth) == worth


@pytest.mark.parametrize(("high", "is_open"), [(10.0, False), (10.1, True)])
def test_an_interval_of_more_than_five_times_predicts_nothing(high: float, *, is_open: bool) -> None:
    verdict = verdict_with(
        Change(), predicted_gain=4.0, predicted_low=2.0, predicted_high=high, predicted_from="the ends"
    )
    found = as_printed(verdict)
    assert (found.predicted_gain is None) is is_open
    assert ("cannot be predicted from this evidence" in gain_line(found)) is is_open
    assert bool(found.unpredicted_because) is is_open
    assert (found.predicted_low, found.predicted_high) == (2.0, high)


def test_the_plans_line_bounds_what_is_printed_and_not_what_is_found() -> None:
    far = {"rtt_ns_min": 10_000_000, "rtt_ns_median": 11_000_000}
    found = facts(WAITS, windows=far, segments=LATE | {"segment_bytes_mean": 1448.0}, goodput_bps=187e6)
    knows, does_not = (
        verdict_of(Cause.REORDERING, found, Setup(OVER_PATH | {"path_reorder": 0.1}, knows_path_rate=is_known))
        for is_known in (True, False)
    )
    assert (knows.lost_ratio, knows.claim) == (does_not.lost_ratio, does_not.claim)
    assert does_not.predicted_gain is not None
    assert does_not.predicted_gain > 4
    assert knows.model_gain == pytest.approx(200 * 1448 / 1514 / 187, abs=1e-3)
    assert knows.predicted_high == knows.predicted_gain
    assert knows.predicted_basis == statement("emulated_path", path_bps=200e6)
    # Payload that goes the other way has the other rate.
    back = Setup(OVER_PATH | {"path_rate_back_bps": 374_000_000})
    turned = verdict_of(Cause.REORDERING, replace(found, is_turned=True), back)
    assert turned.predicted_gain == pytest.approx(2 * 1448 / 1514, abs=1e-3)


@pytest.mark.parametrize(
    ("segments", "cause", "factors"),
    [
        (LOST | RANDOM_LOSSES | SINGLE, Cause.RANDOM_LOSS, {"path_loss_back": 0.0}),
        (LATE, Cause.REORDERING, {}),  # only what goes forward is reordered
    ],
)
def test_what_goes_back_over_a_path_is_changed_on_its_way_back(
    segments: dict[str, Any], cause: Cause, factors: Factors
) -> None:
    both_ways: Factors = {"path_loss": 0.01, "path_loss_back": 0.01, "path_reorder": 0.1}
    turned = facts(WAITS, segments=segments, is_turned=True)
    assert changed(limit_of(cause, turned), turned, Setup(OVER_PATH | both_ways)).factors == factors


@pytest.mark.parametrize(("cpus", "is_named"), [([0], False), ([0, 1], True)])
def test_no_cpu_of_its_own_is_promised_where_there_is_one(cpus: list[int], *, is_named: bool) -> None:
    found = facts(ON_ONE_CPU, ON_ONE_CPU, one_machine=True)
    hosts = {host: {"cpus": cpus} for host in ("near", "far")}
    change = changed(limit_of(Cause.SHARED_CPU, found), found, Setup({"near_cpus": "0", "far_cpus": "0"}, hosts=hosts))
    assert bool(change.factors) is bool(change.command) is is_named


def test_the_headline_names_the_change_of_a_gain_that_is_left_open() -> None:
    change = Change(factors={"pacing_rate_bps": "default"})
    verdict = verdict_with(change, predicted_gain=20.0, predicted_low=10.0, predicted_high=100.0)
    assert cell_headline([as_printed(verdict)], "segments") == (
        "It is paced. The gain of pacing_rate_bps=default cannot be predicted from this evidence."
    )
