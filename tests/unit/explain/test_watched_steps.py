"""What to change for a program that is not ours: commands, and what each of them affects."""

from dataclasses import replace
from typing import Any, cast

import pytest

from tests.unit.explain.limit_cases import at_receiver, facts, limit_of, of_windows, shares
from tests.unit.explain.watched_cases import (
    BEHIND,
    BUSY_WRITER,
    CASES,
    FILLED,
    LOSSY,
    PACKETS,
    STEADY,
    WatchedCase,
    seen_at_receiver,
    seen_at_sender,
    sockets,
)
from whyperf.cli.output.explanation import _change
from whyperf.explain.causes import Cause
from whyperf.explain.changes.own_load import change_for
from whyperf.explain.experiment import started_command
from whyperf.explain.explanation import Change, ChangeStep
from whyperf.explain.headline import step_label
from whyperf.explain.limits.every import found_in
from whyperf.explain.limits.judge import _Predicting, _verdict
from whyperf.explain.limits.limit import Limit
from whyperf.explain.setup import Setup
from whyperf.explain.trial_facts import Facts
from whyperf.record import Experiment
from whyperf.report.explanation.cards import cards_of

HOST: dict[str, Any] = {
    "sysctls": {
        "net.ipv4.tcp_wmem": "4096 16384 4194304", "net.core.wmem_max": "8192", "net.ipv4.tcp_rmem": "4096 87380 8192",
    },
    "congestion_controls": ["cubic", "reno"],
}  # fmt: skip
SETUP = Setup(testbed="network", hosts={"near": HOST}, devices={"near": {"name": "eth7"}})


def change_of(limit: Limit, found: Facts, setup: Setup = SETUP) -> Change:
    change = change_for(limit, found, setup)
    assert change is not None
    return change


def steps(cause: Cause, found: Facts, setup: Setup = SETUP) -> list[ChangeStep]:
    change = change_of(limit_of(cause, found), found, setup)
    assert change.factors == {}
    return change.steps or []


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_each_cause_has_steps_and_no_factor(case: WatchedCase) -> None:
    for limit in found_in(case.speaks):
        if limit.cause is not Cause.CAPACITY:
            change = change_of(limit, case.speaks)
            assert change.steps
            assert not change.factors


@pytest.mark.parametrize(("one_machine", "label"), [(False, "This program, on the far host"), (True, "This program")])
def test_a_step_on_one_machine_names_no_far_host(*, one_machine: bool, label: str) -> None:
    assert step_label(steps(Cause.SLOW_READER, replace(BEHIND, one_machine=one_machine))[0]) == label


def test_the_own_load_has_factors_and_no_steps() -> None:
    own = facts(shares(nagle=0.9))
    change = change_of(limit_of(Cause.NAGLE_DELAYED_ACK, own), own)
    assert (change.factors, change.steps) == ({"no_delay": True}, None)


def test_a_buffer_that_the_program_set_is_for_the_program_to_leave_alone() -> None:
    found = steps(Cause.SEND_BUFFER, FILLED)
    assert [(step.code, step.scope) for step in found] == [
        ("buffer.fixed", "program"), ("buffer.socket", "socket"), ("buffer.allowed", "host")
    ]  # fmt: skip
    assert "SO_SNDBUF" in found[0].words
    assert found[-1].command == "sysctl -w net.core.wmem_max=524288"


def test_a_buffer_that_the_kernel_sizes_is_bounded_by_the_host() -> None:
    large = seen_at_sender(send_buffer_fixed=False, send_buffer_bytes=4 << 20)(FILLED)
    found = steps(Cause.SEND_BUFFER, large)
    assert [(step.code, step.scope) for step in found] == [("buffer.bound", "host"), ("buffer.socket", "socket")]
    assert found[0].command.startswith("sysctl -w net.ipv4.tcp_wmem=")
    # Nobody knows the far host's settings: the command shows them.
    far = steps(Cause.RECEIVE_BUFFER, STEADY)
    codes = [step.code for step in far]
    assert codes == ["buffer.perhaps_fixed", "buffer.bound", "buffer.socket", "buffer.allowed"]
    assert {step.host for step in far} == {"far"}
    assert far[1].command == "sysctl net.ipv4.tcp_rmem"


def test_commands_name_the_watched_process_and_the_device() -> None:
    reader = steps(Cause.SLOW_READER, seen_at_receiver(process=4711, program="slurp")(BEHIND))
    assert [(step.scope, step.command) for step in reader] == [
        ("program", "strace -f -T -e trace=network,desc,read,write -p 4711")
    ]
    assert "ethtool -S eth7" in steps(Cause.PATH_LOSS, LOSSY)[0].command


def test_the_name_of_a_device_is_one_word() -> None:
    """A result of somebody else, and a far host, may name any."""
    named = replace(SETUP, devices={"near": {"name": "eth7; touch hacked"}})
    assert steps(Cause.PATH_LOSS, LOSSY, named)[0].command.startswith("ethtool -S 'eth7; touch hacked'; ")


def test_a_command_that_has_ended_is_named_to_be_started_again() -> None:
    writer = seen_at_sender(process=4711, program="curl")(BUSY_WRITER)
    attached = [step.command for step in steps(Cause.SENDER_CPU, writer)]
    restarting = replace(SETUP, command="curl -T file http://host/")
    started = [step.command for step in steps(Cause.SENDER_CPU, writer, restarting)]
    assert "perf top -p 4711" in attached
    assert "perf record -g curl -T file http://host/" in started
    assert "taskset -c CPUS curl -T file http://host/" in started
    assert not any("4711" in command or "PID" in command for command in started)


@pytest.mark.parametrize(
    ("line", "command"),
    [
        ("whyperf watch --out 'a b' -- sh -c 'curl x & wait'", "sh -c 'curl x & wait'"),
        ("whyperf watch :80", ""),
        ("whyperf watch -- printf 'a\nb'", ""),
        ("whyperf watch -- 'open", ""),
    ],
)
def test_the_command_of_a_watch(line: str, command: str) -> None:
    assert started_command(line) == command


def test_another_congestion_control_is_proposed_for_the_socket_and_for_the_route() -> None:
    found = steps(Cause.PATH_LOSS, LOSSY)
    assert [step.code for step in found] == ["losses", "congestion.socket", "congestion.route"]
    # The host lacks it: its module comes first.
    assert found[2].command == "modprobe tcp_bbr; ip route change ROUTE congctl bbr"
    assert (found[1].scope, found[2].scope) == ("socket", "host")


def test_cpu_placement_is_of_the_program_and_steering_of_the_host() -> None:
    busy = at_receiver({"processors.withheld_ratio": 0.5, "processors.other_ratio": 0.5})(BEHIND)
    found = steps(Cause.OTHER_LOAD, busy)
    assert [(step.code, step.scope) for step in found] == [
        ("placement", "program"), ("others", "host"), ("steering", "host")
    ]  # fmt: skip
    assert "rps_cpus" in found[2].command


def test_small_segments_and_small_calls_are_the_programs() -> None:
    assert [step.code for step in steps(Cause.SMALL_MTU, PACKETS)] == ["max_segment", "max_segment.route"]
    assert [step.code for step in steps(Cause.SENDER_CPU, BUSY_WRITER)] == ["computing", "larger_writes", "placement"]


def test_advice_for_the_own_load_is_a_step_where_it_fits() -> None:
    largest = of_windows(window_scaling=False, announced_bytes_max=65_535, announced_bytes_median=65_535)
    (step,) = steps(Cause.WINDOW_SCALING, largest(STEADY))
    assert (step.scope, step.command) == ("host", "sysctl net.ipv4.tcp_window_scaling")
    assert step_label(step) == "All programs of the host"


def test_nagle_and_small_writes_are_options_of_the_socket_and_of_the_program() -> None:
    held = facts(shares(nagle=0.9) | {"watched": sockets(process=5)}, watched_sides="sender")
    found = steps(Cause.NAGLE_DELAYED_ACK, held)
    assert [step.scope for step in found] == ["program", "socket"]
    assert step_label(found[1]) == "This socket, on the near host"


def test_steps_are_printed_and_shown_in_place_of_the_advice_for_the_own_load() -> None:
    limit = limit_of(Cause.PATH_LOSS, LOSSY)
    verdict = _verdict(limit, LOSSY, _Predicting([limit], LOSSY, SETUP))
    printed = [str(line) for line in _change(verdict, "c0001", cast("Experiment", None))]
    assert printed[0].startswith("All programs of the host, near: Find where packets are lost")
    assert "modprobe tcp_bbr; ip route change ROUTE congctl bbr" in " ".join(printed)
    assert not any(line.startswith(("By hand", "Command")) for line in printed)
    (card, *_) = cards_of([verdict], lambda *_: "", "")
    assert [step.label.partition(",")[0] for step in card.steps] == [
        "All programs of the host", "This socket", "All programs of the host"
    ]  # fmt: skip
    assert (card.by_hand, card.command) == ("", "")
