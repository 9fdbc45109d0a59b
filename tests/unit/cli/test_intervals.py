"""Interval lines of a single measurement."""

from typing import Any

from whyperf.cli.live.intervals import IntervalLines, dropped_lines
from whyperf.cli.output.formats import OutputFormat, RateUnit

MS = 1_000_000


def sample(interval: int, phase: str = "measure", **more: Any) -> Any:
    start = 5_000 * MS + interval * 500 * MS
    return {
        "interval": interval,
        "phase": phase,
        "start_mono_ns": start,
        "end_mono_ns": start + 500 * MS,
        "payload_bytes": 62_500_000,
        "load_cpu_ns": 250 * MS,
        "retransmitted_segments": 0,
        "cwnd_segments": 10,
        "srtt_ns": 0,
        "announced_window_bytes": 65536,
    } | more


def lines_of(*reports: tuple[str, Any], direction: str = "send") -> list[str]:
    lines: list[str] = []
    shown = IntervalLines({"interval_ms": 500, "direction": direction}, lines.append)
    for host, progress in reports:
        shown.on_progress(host, progress)
    shown.on_end()
    return lines[1:]


def both(*intervals: dict[str, Any]) -> list[tuple[str, Any]]:
    return [(host, progress) for progress in intervals for host in ("near", "far")]


def test_two_half_seconds_make_a_line() -> None:
    (line,) = lines_of(*both(sample(0), sample(1)))
    fields = line.split()
    assert fields == ["0.00-1.00", "125", "MB", "1.00", "Gbit/s", "0", "10", "65,536", "50/50", "%"]


def test_the_length_of_a_line_and_the_unit_of_its_rate_are_asked_for() -> None:
    for interval_s, starts in (
        (0.5, ["0.00-0.50", "0.50-1.00"]),
        (2.0, ["0.00-1.00"]),
        (0.1, ["0.00-0.50", "0.50-1.00"]),
        (0.01, ["0.000-0.500", "0.500-1.000"]),
    ):
        lines: list[str] = []
        output = OutputFormat(interval_s=interval_s, rate_unit=RateUnit.MBIT)
        shown = IntervalLines({"interval_ms": 500, "direction": "send"}, lines.append, output=output)
        for host, progress in both(sample(0), sample(1)):
            shown.on_progress(host, progress)
        shown.on_end()
        assert [line.split()[0] for line in lines[1:]] == starts
        assert "Mbit/s" in lines[0]
        assert all(line.split()[3] == "1,000" for line in lines[1:])


def test_an_end_that_is_late_changes_nothing() -> None:
    on_time = lines_of(*both(sample(0), sample(1), sample(2), sample(3)))
    late = lines_of(*[("near", sample(n)) for n in range(4)], *[("far", sample(n)) for n in range(4)])
    assert late == on_time
    assert len(late) == 2


def test_a_phase_begins_a_line_and_is_named() -> None:
    lines = lines_of(*both(sample(0, "warm-up"), sample(1), sample(2), sample(3, "cool-down")))
    assert [line.partition("%")[2] for line in lines] == [" warm-up", "", " cool-down"]


def test_retransmissions_are_those_of_the_line_and_the_sender() -> None:
    lines = lines_of(
        ("far", sample(0, retransmitted_segments=7)),
        ("far", sample(1, retransmitted_segments=9)),
        ("near", sample(0, retransmitted_segments=3)),
        ("near", sample(1, retransmitted_segments=3)),
        ("near", sample(2, retransmitted_segments=3)),
        ("near", sample(3, retransmitted_segments=4)),
        ("far", sample(2)),
        ("far", sample(3)),
    )
    assert [line.split()[5] for line in lines] == ["3", "1"]


def test_the_other_direction_has_the_other_sender() -> None:
    (line,) = lines_of(
        ("near", sample(0, payload_bytes=1_000)),
        ("far", sample(0, payload_bytes=2_000, retransmitted_segments=5)),
        direction="receive",
    )
    assert line.split()[1:3] == ["1.00", "kB"]
    assert line.split()[5] == "5"


def test_lines_before_the_steady_state_are_marked() -> None:
    shown = IntervalLines({"interval_ms": 500, "direction": "send"}, lambda _: None)
    for host, progress in both(sample(0, "warm-up"), *(sample(n) for n in range(1, 9)), sample(9, "cool-down")):
        shown.on_progress(host, progress)
    shown.on_end()

    def marks(cut_s: float) -> list[str]:
        return [f"{line.split()[0]} {line.partition(' % ')[2]}" for line in dropped_lines(shown.measured, cut_s)]

    assert marks(0.5) == []
    assert marks(2.5) == ["0.50-1.50 cut", "1.50-2.50 cut"]
    # Samples are a little late.
    assert marks(2.52) == marks(2.48) == marks(2.5)
    assert marks(2.0) == ["0.50-1.50 cut", "1.50-2.50 part cut"]


def test_lines_of_datagrams_have_what_arrived() -> None:
    lines: list[str] = []
    shown = IntervalLines({"interval_ms": 500, "direction": "send", "transport": "udp"}, lines.append)
    for number in range(2):
        shown.on_progress("near", sample(number))
        shown.on_progress("far", sample(number, payload_bytes=50_000_000))
    heading, line = lines
    assert heading.split() == ["Interval", "(s)", "Transfer", "Bitrate", "Arrived", "CPU", "snd/rcv"]
    assert line.split() == ["0.00-1.00", "100", "MB", "800", "Mbit/s", "80", "%", "50/50", "%"]
