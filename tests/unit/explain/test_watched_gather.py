"""What samples of another program's sockets show: queues, windows, buffers, and requests and answers."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import polars as pl
import pytest

from tests.unit.analyze.flow import traces
from whyperf.analyze.flow import FlowTrial, as_watched, flow_facts
from whyperf.analyze.flow.trial import EndEvidence
from whyperf.explain.budget import budgets_of
from whyperf.explain.gather import by_payload, gather_facts, with_program
from whyperf.explain.gather.watched import conversation, moved_bytes, watched_sockets
from whyperf.explain.host_facts import HostFacts
from whyperf.explain.segment_log import read_logs
from whyperf.explain.trial_facts import Facts
from whyperf.explain.watched_facts import WatchedSockets
from whyperf.record import Experiment

MS = traces.MS
FAR_NS = traces.START_NS + traces.FAR_OFFSET_NS
STEP_MS = 100


def table(host: str, **columns: Sequence[Any]) -> pl.DataFrame:
    """Samples of connection 0, 100 ms apart."""
    number = len(next(iter(columns.values())))
    start = FAR_NS if host == "far" else traces.START_NS
    at = [start + place * STEP_MS * MS for place in range(number)]
    known = {"connection": pl.Series([0] * number, dtype=pl.UInt32), "sample_mono_ns": at}
    return pl.DataFrame({**known, **columns}, strict=False)


def info(host: str, **changed: Sequence[Any]) -> pl.DataFrame:
    """Ten samples of TCP_INFO of a connection that was open before, of which nothing changes but what is said."""
    still: dict[str, int] = {
        "bytes_acked": 10**9, "bytes_received": 10**9, "data_segments_out": 10**6, "data_segments_in": 10**6,
        "segments_out": 10**6, "segments_in": 10**6, "retransmitted_segments": 500, "not_sent_bytes": 0,
        "unacked_segments": 0, "send_mss_bytes": 1448, "rtt_ns": 10 * MS, "rtt_ns_min": 9 * MS, "cwnd_segments": 10,
        "ssthresh_segments": 2**31 - 1, "receive_rtt_ns": 10 * MS, "own_window_bytes": 60_000,
        "peer_window_bytes": 60_000, "out_of_order_segments": 1000, "state": 1,
        "busy_ns": 0, "rwnd_limited_ns": 0, "send_buffer_limited_ns": 0,
    }  # fmt: skip
    columns = {name: [value] * 10 for name, value in still.items()}
    return table(host, phase=["measure"] * 10, **{**columns, **changed})


def trial(folder: Path, role: str | None, **tables: pl.DataFrame) -> FlowTrial:
    """A trial of a foreign program, `tables` being named like `tcp_info_far`."""
    named = {
        "_".join(parts[:-1]) + f".{parts[-1]}": rows for name, rows in tables.items() if (parts := name.split("_"))
    }
    return as_watched(traces.write(folder / "001-c0001", tables=named), role)


def facts_of(found: FlowTrial) -> Facts:
    logs = read_logs(found)
    return gather_facts(found, logs, budgets_of(found, logs))


def test_unread_payload_that_takes_up_the_window_is_no_queue_that_is_read(tmp_path: Path) -> None:
    queue = table(
        "far", receive_queue_bytes=[0, 100, 50_000, 50_000], send_queue_bytes=[0] * 4,
        receive_buffer_bytes=[200_000] * 4, send_buffer_bytes=[90_000] * 4,
    )  # fmt: skip
    windows = table(
        "far", own_window_bytes=[60_000, 60_000, 10_000, 60_000], peer_window_bytes=[1] * 4, not_sent_bytes=[0] * 4,
        bytes_received=[0] * 4,
    )  # fmt: skip
    found = trial(tmp_path, "receiver", sockets_far=queue, tcp_info_far=windows)
    end = found.end("receiver")
    assert end is not None
    seen = watched_sockets(found, end)
    assert (seen.unread_ratio, seen.pressed_ratio, seen.unread_bytes) == (0.75, 0.25, 50_000)
    assert (seen.own_window.low_bytes or 0) < (seen.own_window.high_bytes or 0) == 60_000
    # The memory of packets may fill a buffer though few bytes wait in it.
    full = queue.with_columns(pl.Series("receive_memory_bytes", [0, 160_000, 0, 0]))
    found = trial(tmp_path / "full", "receiver", sockets_far=full, tcp_info_far=windows)
    assert watched_sockets(found, end).pressed_ratio == 0.5


def test_a_send_buffer_is_full_from_two_thirds_on(tmp_path: Path) -> None:
    held = table("near", receive_queue_bytes=[0] * 4, send_queue_bytes=[10, 70, 70, 60], send_buffer_bytes=[90] * 4)
    found = trial(tmp_path, "sender", sockets_near=held)
    end = found.end("sender")
    assert end is not None
    assert watched_sockets(found, end).filled_ratio == 0.5
    memory = held.with_columns(pl.Series("queued_memory_bytes", [80, 80, 80, 10]))
    assert watched_sockets(trial(tmp_path / "memory", "sender", sockets_near=memory), end).filled_ratio == 0.75


def test_the_windows_that_count_are_those_at_which_data_waits(tmp_path: Path) -> None:
    waits = [0, 0, 0, 0, 0, 1, 1, 1, 1, 1]
    found = trial(
        tmp_path,
        "sender",
        tcp_info_near=info("near", not_sent_bytes=waits, peer_window_bytes=[9_000] * 5 + [3_000] * 5),
    )
    end = found.end("sender")
    assert end is not None
    assert watched_sockets(found, end).peer_window.high_bytes == 3_000
    assert watched_sockets(found, end).waiting_ratio == 0.5


def test_counts_begin_with_attaching(tmp_path: Path) -> None:
    sent = [10**9 + place * 100_000 for place in range(10)]
    again = [500 + place for place in range(10)]
    rows = info("near", bytes_acked=sent, data_segments_out=[10**6 + place * 70 for place in range(10)],
                retransmitted_segments=again)  # fmt: skip
    found = trial(tmp_path, "sender", tcp_info_near=rows)
    end = found.end("sender")
    assert end is not None
    assert moved_bytes(found, end, "bytes_acked") == 900_000
    facts = facts_of(found)
    assert facts.rate_bps == pytest.approx(8e6)
    assert facts.segments.retransmitted_ratio == pytest.approx(9 / 630)
    assert flow_facts(found, whole_life=True).get("sender", "data_segments").value == 630
    assert (facts.watched_sides, facts.level, facts.asked.is_greedy) == ("sender", "user", False)
    assert any("before whyperf was attached" in sentence for sentence in facts.missing)


def test_a_receiver_alone_has_facts_of_its_own_windows(tmp_path: Path) -> None:
    came = [10**9 + place * 100_000 for place in range(10)]
    late = [1000 + place for place in range(10)]
    segments = [10**6 + place * 100 for place in range(10)]
    rows = info("far", bytes_received=came, out_of_order_segments=late, data_segments_in=segments)
    queue = table("far", receive_queue_bytes=[0] * 10)
    facts = facts_of(trial(tmp_path, "receiver", tcp_info_far=rows, sockets_far=queue))
    assert facts.watched_sides == "receiver"
    assert facts.rate_bps == pytest.approx(8e6)
    assert (facts.windows.announced_bytes_max, facts.windows.rtt_ns_min) == (60_000, 9 * MS)
    assert facts.receiver.shares == {"waiting": 1.0}
    assert facts.receiver.watched is not None
    assert facts.receiver.watched.late_ratio == pytest.approx(0.01)
    assert facts.receiver.watched.rate_spread == pytest.approx(0.0)


def test_roles_follow_what_moved_while_it_was_watched(tmp_path: Path) -> None:
    came = [10**9 + place * 100_000 for place in range(10)]
    found = by_payload(trial(tmp_path, "sender", tcp_info_near=info("near", bytes_received=came)))
    assert found.end("receiver") is not None
    assert found.end("sender") is None
    assert not found.is_turned


ASKING = {"data_segments_out": 3, "data_segments_in": 3, "bytes_acked": 300, "bytes_received": 900}


def growing(**steps: int) -> dict[str, list[int]]:
    return {name: [10**6 + place * step for place in range(10)] for name, step in steps.items()}


@pytest.mark.parametrize(
    ("changed", "is_found"),
    [
        ({}, True),
        ({"bytes_acked": 3_000_000}, False),
        ({"data_segments_in": 0}, False),
        ({"not_sent_bytes": [5] * 10}, False),
    ],
    ids=["alternating", "a stream with reports", "one way", "data waits"],
)
def test_exchanges_show_in_samples_of_both_directions(tmp_path: Path, changed: dict[str, Any], is_found: bool) -> None:
    steps = {**ASKING, **{name: value for name, value in changed.items() if isinstance(value, int)}}
    lists = {name: value for name, value in changed.items() if isinstance(value, list)}
    found = trial(tmp_path, "sender", tcp_info_near=info("near", **growing(**steps), **lists))
    end = found.end("sender")
    assert end is not None
    talk = conversation(found, end, None)
    assert (talk is not None) is is_found
    if talk is not None:
        assert (talk.exchanges_most, talk.own_ratio) == (27, None)


def test_whose_message_is_next_shows_in_what_came_last(tmp_path: Path) -> None:
    sent_ago, received_ago = [40] * 8 + [4, 4], [4] * 8 + [40, 4]
    last = table(
        "near",
        last_data_sent_ns=[ago * MS for ago in sent_ago],
        last_data_received_ns=[ago * MS for ago in received_ago],
    )
    found = trial(tmp_path, "sender", tcp_info_near=info("near", **growing(**ASKING)), sockets_near=last)
    end = found.end("sender")
    assert end is not None
    talk = conversation(found, end, None)
    assert talk is not None
    assert talk.own_ratio == pytest.approx(8 / 9)
    assert talk.peer_ratio == pytest.approx(1 / 9)


def exchange(at: int, *, acked: bool = True) -> str:
    """A request at `at` ms, its answer 3 ms later, and the next request 7 ms after that."""
    octet, back = 1 + at * 10, 1 + at * 50
    answered = octet + 100 if acked else octet
    return f"{at}.0 > . {octet}:{octet + 100} ack {back}\n{at + 3}.0 < . {back}:{back + 500} ack {answered}\n"


def test_exchanges_show_in_the_log_of_one_side(tmp_path: Path) -> None:
    text = "".join(exchange(10 * number) for number in range(20))
    found = as_watched(traces.write(tmp_path / "log01-c0001", near=traces.trace(text)), "sender")
    logs, end = read_logs(found), found.end("sender")
    assert end is not None
    talk = conversation(found, end, logs.sender)
    assert talk is not None
    assert (talk.exchanges_most, talk.is_logged) == (20, True)
    assert (talk.own_ns, talk.peer_ns) == (7 * MS, 3 * MS)
    assert talk.own_ratio == pytest.approx(0.7, abs=0.03)


def test_two_streams_at_once_are_no_conversation(tmp_path: Path) -> None:
    text = "".join(exchange(10 * number, acked=False) for number in range(20))
    found = as_watched(traces.write(tmp_path / "log01-c0001", near=traces.trace(text)), "sender")
    end = found.end("sender")
    assert end is not None
    assert conversation(found, end, read_logs(found).sender) is None


@pytest.mark.parametrize(
    ("last_bytes", "ack_ms", "window", "share"),
    [(700, 0.1, 65_536, 0.99), (1448, 0.1, 65_536, 0.0), (700, 48.0, 65_536, 0.0), (700, 0.1, 1448, 0.0)],
    ids=["all was sent", "a full segment", "an ACK that comes late", "a closed window"],
)
def test_gaps_after_a_segment_that_is_not_full_are_the_senders_own(
    tmp_path: Path, last_bytes: int, ack_ms: float, window: int, share: float
) -> None:
    lines, octet = [], 1
    for burst in range(10):
        for place, size in enumerate((1448, 1448, last_bytes)):
            lines.append(f"{burst * 50 + place * 0.1:.1f} < . {octet}:{octet + size} ack 1")
            octet += size
        at = burst * 50 + 0.2 + ack_ms
        lines.append(f"{at:.1f} > . 1:1 ack {octet} win={window} why=second_segment")
    far = traces.trace("\n".join(lines), "far", "receiver")
    found = as_watched(traces.write(tmp_path / "log01-c0001", far=far), "receiver")
    assert facts_of(found).segments.short_gap_ratio == pytest.approx(share, abs=0.02)


def test_less_than_a_segment_that_waits_with_room_in_the_windows_is_nagles(tmp_path: Path) -> None:
    rows = info(
        "near",
        not_sent_bytes=[500, 500, 500, 500, 500, 0, 1448, 500, 500, 500],
        unacked_segments=[1, 1, 1, 1, 0, 1, 1, 10, 1, 1],
        peer_window_bytes=[60_000] * 8 + [2_000, 60_000],
    )
    found = trial(tmp_path, "sender", tcp_info_near=rows)
    end = found.end("sender")
    assert end is not None
    # Not those in which nothing is in flight, or waits; nor a full segment, a full congestion window, a full window.
    assert watched_sockets(found, end).partial_ratio == pytest.approx(0.5)


def test_the_sizes_of_what_comes_are_of_what_was_watched(tmp_path: Path) -> None:
    rows = info("far", **growing(bytes_received=100_000, data_segments_in=100), receive_mss_bytes=[1448] * 10,
                send_mss_bytes=[536] * 10, pmtu_bytes=[1500] * 10)  # fmt: skip
    found = trial(tmp_path, "receiver", tcp_info_far=rows)
    end = found.end("receiver")
    assert end is not None
    seen = watched_sockets(found, end)
    assert (seen.full_bytes, seen.came_segments, seen.moved_segments) == (1448, 900, 900)
    assert (seen.mss_bytes, seen.pmtu_bytes) == (1448, 1500)


def test_nobody_sees_the_options_of_a_program_without_privilege(tmp_path: Path) -> None:
    own = pl.DataFrame(
        {"connection": [0], "whole": [True], "receive_buffer_fixed": [True], "send_buffer_fixed": [True]}
    )
    found = trial(tmp_path, "sender", tcp_info_near=info("near"), watched_near=own)
    end = found.end("sender")
    assert end is not None
    assert watched_sockets(found, end).send_buffer_fixed is None
    privileged = replace(end, evidence=EndEvidence("counters", "counters"))
    assert watched_sockets(found, privileged).send_buffer_fixed is True


def test_acks_are_counted_by_the_kernels_and_not_by_what_is_left_of_them(tmp_path: Path) -> None:
    found = trial(
        tmp_path,
        None,
        tcp_info_near=info("near", **growing(bytes_acked=100_000, segments_in=90)),
        tcp_info_far=info("far", **growing(bytes_received=100_000, segments_out=100)),
    )
    assert facts_of(found).segments.acks_arrived_ratio == pytest.approx(0.9)
    # One side alone counts one of both.
    assert facts_of(as_watched(found, "sender")).segments.acks_arrived_ratio is None


def test_connections_of_one_process_are_those_that_moved_payload(tmp_path: Path) -> None:
    for number, (process, payload) in enumerate([(7, 10), (7, 20), (7, 0), (8, 30)]):
        folder = tmp_path / "trials" / f"001-c{number}"
        folder.mkdir(parents=True)
        pl.DataFrame({"payload_bytes": [payload]}).write_parquet(folder / "flows.near.parquet")
        pl.DataFrame({"process": [process]}).write_parquet(folder / "watched.near.parquet")
    planned = [SimpleNamespace(id=f"001-c{number}") for number in range(5)]
    experiment = cast("Experiment", SimpleNamespace(folder=tmp_path, plan=SimpleNamespace(trials=lambda: planned)))
    own = FlowTrial(tmp_path / "trials/001-c1", "", "", "", ends={}, zero_mono_ns=0, window_ns=None)
    known = Facts(trial="001-c1", sender=HostFacts(host="near", watched=WatchedSockets()))
    counted = with_program(known, experiment, own)
    assert counted.sender.watched is not None
    assert counted.sender.watched.program_connections == 2
    assert counted.receiver.watched is None
