"""Patterns in traces that a person can read."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.unit.analyze.flow.traces import OPENING, trace, write
from whyperf.explain.explanation import Pattern, Phase, Statement
from whyperf.explain.pattern import patterns_of
from whyperf.explain.segment_log import read_logs
from whyperf.explain.wording.catalog import statement
from whyperf.explain.wording.patterns import with_text

CYCLES = 20


class Wire:
    """Both logs of a connection, written by one who sees both: 0.1 ms between the hosts."""

    def __init__(self) -> None:
        self.at_ms, self.sent, self.acked = 1.0, 41, 41
        self.near: list[str] = [OPENING.strip()]
        self.far = [OPENING.strip().translate(str.maketrans("<>", "><"))]

    def data(self, size: int, more: str = "", after_ms: float = 1.0) -> None:
        """The sender sends `size` bytes."""
        self.at_ms += after_ms
        octets = f"{self.sent}:{self.sent + size}"
        self.near.append(f"{self.at_ms:.1f} > P. {octets} ack 41 {more}")
        self.far.append(f"{self.at_ms + 0.1:.1f} < P. {octets} ack 41")
        self.sent += size

    def ack(self, octet: int | None = None, why: str = "read_call", win: int = 8192, after_ms: float = 2.0) -> None:
        """The receiver acknowledges all that was sent, or what comes before `octet`."""
        self.at_ms += after_ms
        octet = octet or self.sent
        self.far.append(f"{self.at_ms - 0.1:.1f} > . 41:41 ack {octet} why={why} win={win}")
        self.near.append(f"{self.at_ms:.1f} < . 41:41 ack {octet} win={win}")

    def again(self, first: int, size: int, kind: str, after_ms: float) -> None:
        """The sender sends something again, which arrives."""
        self.at_ms += after_ms
        self.near.append(f"{self.at_ms:.1f} > P. {first}:{first + size} ack 41 ctx=timer again={kind}")
        self.far.append(f"{self.at_ms + 0.1:.1f} < P. {first}:{first + size} ack 41")

    def pattern(self, folder: Path, logs: Sequence[str] = ("near", "far")) -> Pattern:
        """The pattern found with these logs."""
        near = trace("\n".join(self.near)) if "near" in logs else None
        far = trace("\n".join(self.far), "far", "receiver") if "far" in logs else None
        trial = write(folder / "log01-c0001", near, far)
        return patterns_of(trial, read_logs(trial), [0])[0]


def test_a_small_rest_that_waits_for_the_ack_is_stop_and_go(tmp_path: Path) -> None:
    wire = Wire()
    for _ in range(CYCLES):
        wire.data(1024, "ctx=net_rx", after_ms=0.3)
        wire.data(6144)
        wire.ack()
    found = wire.pattern(tmp_path)
    (phase,) = found.phases
    assert phase.payloads == [(1024, 1), (6144, 1)]
    assert (phase.turn[0].released_by, phase.turn[0].held_by, phase.turn[0].ack_reason) == ("ack", "small", "read_call")
    assert (phase.turn[1].released_by, phase.turn[1].held_by) == ("write", "")
    assert phase.stop_and_go_ratio == 1.0
    assert phase.ack_reasons == {"read_call": 1.0}
    assert (phase.outstanding_bytes, phase.window_bytes) == (7168, 8192)
    assert found.words.startswith("Repeats: send 1,024 B, send 6,144 B, wait for the ACK (stop-and-go); ")


def test_a_delayed_ack_that_announces_less_changes_the_flow(tmp_path: Path) -> None:
    wire = Wire()
    for _ in range(CYCLES):
        wire.data(4096)
        wire.ack(win=4096)
    wire.data(4096)
    wire.ack(why="delayed_timer", win=3080)
    for _ in range(CYCLES):
        wire.data(3080)
        wire.data(1016)
        wire.ack(win=4096)
    found = wire.pattern(tmp_path)
    assert [phase.payloads for phase in found.phases] == [[(4096, 1)], [(3080, 1), (1016, 1)]]
    assert found.phases[1].change == statement("delayed_ack", time_ns=64_000_000, window_bytes=3080)
    assert found.phases[1].changed_by == "at 64.0 ms a delayed ACK advertised a window of 3,080 bytes"
    assert found.phases[0].turn[0].held_by == "window"


def test_two_segments_and_two_acks_a_cycle_are_work_at_the_same_time(tmp_path: Path) -> None:
    wire = Wire()
    for _ in range(CYCLES):
        wire.data(2048)
        wire.data(2048)
        wire.ack(wire.sent - 2048, win=4096, after_ms=0.5)
        wire.ack(win=4096, after_ms=0.5)
    (phase,) = wire.pattern(tmp_path).phases
    assert phase.payloads == [(2048, 2)]
    assert phase.ack_reasons == {"read_call": 2.0}
    assert phase.overlap_ratio == 0.5
    assert "with 2 ACKs per cycle, while the receiver reads" in phase.words


def test_the_acknowledgment_within_a_cycle_is_described(tmp_path: Path) -> None:
    wire = Wire()
    for _ in range(CYCLES):
        wire.data(4096)
        wire.ack()
        wire.data(512, "ctx=net_rx", after_ms=0.3)
        wire.data(4096)
        wire.ack()
    (phase,) = wire.pattern(tmp_path).phases
    assert sorted(phase.payloads) == [(512, 1), (4096, 1), (4096, 1)]
    parts = ("send 4,096 B", "send 512 B, send 4,096 B")
    assert any(", wait for an ACK, ".join(order) in phase.words for order in (parts, parts[::-1]))


def test_a_loss_changes_the_flow_and_its_place_is_found(tmp_path: Path) -> None:
    wire = Wire()
    for _ in range(CYCLES):
        wire.data(1000)
        wire.ack()
    lost = wire.sent
    wire.data(1000)
    wire.ack(lost, why="out_of_order")
    wire.again(lost, 1000, "timeout", after_ms=200.0)
    wire.ack()
    for _ in range(CYCLES):
        wire.data(600)
        wire.ack()
    found = wire.pattern(tmp_path)
    assert found.losses is not None
    assert found.losses.kinds == {"timeout": 1}
    assert found.losses.timeout_wait_ns == 200_000_000
    # It had arrived at the receiving host before that host asked for it again.
    assert (found.losses.lost_in_receiver, found.losses.lost_on_path) == (1, 0)
    assert found.phases[1].change is not None
    assert found.phases[1].change.code == "timeout"


@pytest.mark.parametrize("before", [0, CYCLES])
def test_what_never_arrived_was_lost_on_the_path(tmp_path: Path, before: int) -> None:
    wire = Wire()
    for _ in range(before):
        wire.data(1000)
        wire.ack()
    lost = wire.sent
    wire.data(1000)
    wire.far.pop()
    wire.data(1000)
    wire.ack(lost, why="out_of_order")
    wire.again(lost, 1000, "fast", after_ms=0.5)
    wire.ack()
    for _ in range(CYCLES - before):
        wire.data(1000)
        wire.ack()
    found = wire.pattern(tmp_path)
    assert found.losses is not None
    assert (found.losses.lost_in_receiver, found.losses.lost_on_path) == (0, 1)


def test_without_the_senders_log_sizes_and_reasons_are_known(tmp_path: Path) -> None:
    wire = Wire()
    for _ in range(CYCLES):
        wire.data(1024, "ctx=net_rx")
        wire.data(6144)
        wire.ack()
    found = wire.pattern(tmp_path, logs=["far"])
    assert [missing.partition(":")[0] for missing in found.missing] == ["No segment log of the sender"]
    assert sorted(found.phases[0].payloads) == [(1024, 1), (6144, 1)]
    assert found.phases[0].stop_and_go_ratio is None
    assert found.phases[0].ack_reasons == {"read_call": 1.0}


def test_without_a_log_the_pattern_is_not_known(tmp_path: Path) -> None:
    found = Wire().pattern(tmp_path, logs=[])
    assert found.phases == []
    assert found.words == "No segment log: the pattern is not known."
    assert len(found.missing) == 2


def test_a_random_mixture_has_no_cycle(tmp_path: Path) -> None:
    wire = Wire()
    for number in range(120):
        wire.data(100 + (number * number * 7919) % 1300)
        if number % 3 == 0:
            wire.ack()
    found = wire.pattern(tmp_path)
    assert found.phases == []
    assert "No repeating cycle" in found.words


def phase_of(begin_ns: int, payloads: list[tuple[int, int]], ratio: float, change: Statement | None = None) -> Phase:
    """A phase without anything but its cycle."""
    return Phase(
        begin_ns=begin_ns,
        end_ns=begin_ns + 10**9,
        payloads=payloads,
        acks_per_turn=None,
        waits="",
        ratio=ratio,
        change=change,
        words="",
    )


def test_the_same_cycle_again_is_no_change() -> None:
    """Wherever a cycle starts, and whatever came in between: a person would describe it once."""
    grew = statement("larger_cwnd", time_ns=10**9, before_segments=218, cwnd_segments=2997)
    phases = [
        phase_of(0, [(376, 1), (65160, 1)], 0.2),
        phase_of(10**9, [(65160, 1), (376, 1)], 0.3, grew),
        phase_of(2 * 10**9, [(2896, 1)], 0.5, statement("smaller_window", time_ns=2 * 10**9, window_bytes=2896)),
    ]
    pattern = Pattern(trial="log01-c0001", connection=0, phases=phases, words="")
    assert with_text(pattern, "", 3 * 10**9).words == (
        "Repeats: send 65,160 B, send 376 B; 50 % of the connection in 2 stretches. "
        "At 2.00 s an ACK advertised a window of only 2,896 bytes. From then on: send 2,896 B; 50 % of the connection."
    )
