"""What limits a host from outside its sockets: from the record's tables to facts, and what the rules make of them."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.unit.explain.test_exchanges import trial
from tests.unit.explain.test_rules import DROPPING, HOGGED, MS, PATH, QUOTA, SHAPER, SOCKETS_FULL, STOPPED, facts
from whyperf.analyze.flow import FlowTrial
from whyperf.explain.causes import Cause
from whyperf.explain.gather.host_limits import host_limits
from whyperf.explain.gather.interruptions import interruptions
from whyperf.explain.host_limits import HostLimits, Interruption, MemoryLimit, Queue, Quota
from whyperf.explain.rules import judge
from whyperf.explain.setup import Setup

SECOND = 1_000 * MS


def counters(folder: Path, rows: dict[tuple[str, str, str], tuple[int | None, int | None]]) -> FlowTrial:
    """A trial of two seconds with these counters at the near host: by counter, subject and kind, before and after."""
    pl.DataFrame(
        [
            {"host": "near", "start_mono_ns": 0, "end_mono_ns": 2 * SECOND, "counter": counter, "subject": subject}
            | {"kind": kind, "unit": "", "value_at_start": before, "value_at_end": after}
            for (counter, subject, kind), (before, after) in rows.items()
        ],
        infer_schema_length=None,
    ).write_parquet(folder / "host_counters.near.parquet")
    return trial(folder)


def found(recorded: FlowTrial) -> HostLimits:
    return host_limits(recorded, recorded.ends["near"])


def test_the_group_that_was_stopped_for_longest_is_the_quota(tmp_path: Path) -> None:
    loose = ("/pod", "cgroup v2")
    tight = ("/pod/app", "cgroup v2")
    recorded = counters(
        tmp_path,
        {
            ("cpu_quota", *loose): (200 * MS, 200 * MS),
            ("cpu_period", *loose): (100 * MS, 100 * MS),
            ("cpu_periods", *loose): (0, 20),
            ("cpu_throttled_periods", *loose): (0, 0),
            ("cpu_throttled", *loose): (0, 0),
            ("cpu_quota", *tight): (30 * MS, 30 * MS),
            ("cpu_period", *tight): (100 * MS, 100 * MS),
            ("cpu_periods", *tight): (100, 120),
            ("cpu_throttled_periods", *tight): (50, 68),
            ("cpu_throttled", *tight): (SECOND, SECOND + 1_200 * MS),
        },
    )
    assert found(recorded).quota == Quota("/pod/app", "cgroup v2", cpus=0.3, throttled_ratio=0.9, stopped_ratio=0.6)


def test_a_group_without_a_quota_has_none(tmp_path: Path) -> None:
    group = ("/", "cgroup v1")
    recorded = counters(tmp_path, {("cpu_quota", *group): (None, None), ("cpu_period", *group): (100 * MS, 100 * MS)})
    assert found(recorded).quota is None


def test_memory_limits_and_counts_are_those_of_the_load(tmp_path: Path) -> None:
    group = ("/app", "cgroup v1")
    recorded = counters(
        tmp_path,
        {
            ("memory_limit", *group): (1 << 30, 1 << 30),
            ("memory_limit_hits", *group): (5, 12),
            ("tcp_memory_limit", *group): (1 << 20, 1 << 20),
            ("TcpExtTCPRcvQDrop", "", "netstat"): (3, 11),
            ("TcpExtPruneCalled", "", "netstat"): (4, 4),
            ("memory_stalled", "", ""): (None, None),
        },
    )
    limits = found(recorded)
    assert limits.memory == MemoryLimit("/app", "cgroup v1", 1 << 30, hits=7, tcp_limit_bytes=1 << 20)
    assert limits.counts == {"TcpExtTCPRcvQDrop": 8, "TcpExtPruneCalled": 0}


def test_queues_that_sent_or_dropped_are_kept(tmp_path: Path) -> None:
    recorded = counters(
        tmp_path,
        {
            ("qdisc_sent", "eth0", "tbf"): (4, 52_869),
            ("qdisc_dropped", "eth0", "tbf"): (0, 323),
            ("qdisc_rate", "eth0", "tbf"): (200_000_000, 200_000_000),
            ("qdisc_sent", "eth1", "pfifo_fast"): (90, 90),
            ("qdisc_dropped", "eth1", "pfifo_fast"): (7, 7),
        },
    )
    assert found(recorded).queues == (Queue("eth0", "tbf", 52_865, dropped_packets=323, rate_bps=200e6),)


def test_a_record_without_the_table_has_none_of_it(tmp_path: Path) -> None:
    assert found(trial(tmp_path)) == HostLimits()


USUAL = 100 * MS


def looks(
    folder: Path, lengths: list[int], *, ran: list[float], waited: list[float], moved: list[int], taken: float = 0.0
) -> FlowTrial:
    """A side that its sampler looked at after these lengths of time: what its one thread did, and what it moved."""
    starts = [sum(lengths[:number]) for number in range(len(lengths))]
    spans = [
        {"host": "near", "phase": "measure", "interval": number, "start_mono_ns": start, "end_mono_ns": start + length}
        for number, (start, length) in enumerate(zip(starts, lengths, strict=True))
    ]
    unsigned = {"interval": pl.UInt32, "start_mono_ns": pl.UInt64, "end_mono_ns": pl.UInt64}

    def write(table: str, rows: list[dict[str, Any]]) -> None:
        pl.DataFrame(rows, schema_overrides=unsigned).write_parquet(folder / f"{table}.near.parquet")

    each = list(zip(spans, lengths, ran, waited, moved, strict=True))
    write(
        "threads",
        [
            span | {"thread": 7, "cpu": 0, "cpu_ns": round(run * length), "run_queue_ns": round(wait * length)}
            for span, length, run, wait, _ in each
        ],
    )
    write("intervals", [span | {"connection": 0, "payload_bytes": payload} for span, _, _, _, payload in each])
    write(
        "cpu",
        [
            span | {"cpu": 0, "user_ns": round(taken * length * (wait > 0)), "system_ns": round(run * length)}
            for span, length, run, wait, _ in each
        ],
    )
    return trial(folder)


def kept(recorded: FlowTrial) -> tuple[Interruption, ...]:
    return interruptions(recorded, recorded.ends["near"])


def test_a_process_that_does_not_run_is_a_pause(tmp_path: Path) -> None:
    lengths = [USUAL] * 9 + [8 * USUAL]
    recorded = looks(tmp_path, lengths, ran=[0.9] * 9 + [0.1], waited=[0.0] * 10, moved=[1000] * 9 + [800])
    [pause] = kept(recorded)
    assert (pause.kind, pause.at_ns, pause.longest_ns) == ("paused", 9 * USUAL, 7 * USUAL)
    assert pause.rate_ratio == pytest.approx(0.1)
    assert pause.lost_ratio == pytest.approx(0.9 * 8 / 17)


def test_pauses_that_leave_few_looks_at_the_threads_are_seen(tmp_path: Path) -> None:
    lengths = [USUAL] * 5 + [7 * USUAL] * 4
    recorded = looks(tmp_path, lengths, ran=[0.9] * 5 + [0.1] * 4, waited=[0.0] * 9, moved=[1000] * 5 + [1000] * 4)
    file = tmp_path / "threads.near.parquet"
    pl.read_parquet(file).filter(~pl.col("interval").is_in([2, 3, 4])).write_parquet(file)
    [pause] = kept(recorded)
    assert (pause.kind, pause.longest_ns, pause.length_ns) == ("paused", 6 * USUAL, 24 * USUAL)
    assert pause.rate_ratio == pytest.approx(1 / 7)


def test_a_sampler_that_comes_late_while_its_threads_run_is_no_pause(tmp_path: Path) -> None:
    lengths = [USUAL] * 9 + [8 * USUAL]
    recorded = looks(tmp_path, lengths, ran=[0.9] * 10, waited=[0.0] * 10, moved=[1000] * 9 + [8000])
    assert kept(recorded) == ()


def test_what_a_thread_did_after_the_last_interval_is_no_pause(tmp_path: Path) -> None:
    recorded = looks(tmp_path, [USUAL] * 10, ran=[0.3] * 10, waited=[0.0] * 10, moved=[1000] * 10)
    file = tmp_path / "threads.near.parquet"
    threads = pl.read_parquet(file)
    ended = threads.tail(1).with_columns(
        start_mono_ns=pl.lit(10 * USUAL, pl.UInt64), end_mono_ns=pl.lit(27 * USUAL, pl.UInt64)
    )
    pl.concat([threads, ended]).write_parquet(file)
    assert kept(recorded) == ()


def test_a_short_lack_of_a_cpu_is_compared_with_the_rest(tmp_path: Path) -> None:
    waited = [0.0] * 6 + [0.5] * 4
    recorded = looks(
        tmp_path, [USUAL] * 10, ran=[0.9] * 6 + [0.5] * 4, waited=waited, moved=[1000] * 6 + [500] * 4, taken=0.5
    )
    [span] = kept(recorded)
    assert (span.kind, span.length_ns) == ("withheld", 4 * USUAL)
    assert span.waited_ratio == pytest.approx(0.5)
    assert span.other_ratio == pytest.approx(0.5)
    assert span.rate_ratio == pytest.approx(0.5)


def test_a_lack_that_lasts_all_the_time_is_no_part_of_it(tmp_path: Path) -> None:
    recorded = looks(tmp_path, [USUAL] * 10, ran=[0.5] * 10, waited=[0.5] * 10, moved=[500] * 10)
    assert kept(recorded) == ()


WRITES_LITTLE: dict[str, Any] = {"shares": {"not_writing": 0.7}, "processors.thread_ratio": 0.3}


def test_what_a_quota_stops_is_not_the_applications_idleness() -> None:
    assert judge(facts(WRITES_LITTLE, level="counters"))[0].cause is Cause.SLOW_WRITER
    stopped = judge(facts(WRITES_LITTLE | {"limits": HostLimits(quota=QUOTA)}, level="counters"))
    assert [verdict.cause for verdict in stopped] == [Cause.CPU_QUOTA]
    assert stopped[0].model_gain == pytest.approx(1 / (1 - 0.68), rel=0.1)


def test_a_quota_that_costs_nothing_on_a_full_path_is_not_named() -> None:
    path = {"bottleneck.bps": 50e6, "bottleneck.steadiness": 0.95, "bottleneck.use_ratio": 0.99}
    full = facts(
        {"limits": HostLimits(quota=replace(QUOTA, stopped_ratio=0.3))},
        windows={**PATH, "rtt_ns_median": 19 * MS},
        segments={**path, "segment_bytes_mean": 1448.0},
        rate_bps=47e6,
    )
    assert Cause.CPU_QUOTA not in {verdict.cause for verdict in judge(full)}


@pytest.mark.parametrize(
    ("kind", "group", "files"),
    [
        ("cgroup v2", "/pod/app", "cat /sys/fs/cgroup/pod/app/cpu.max /sys/fs/cgroup/pod/app/cpu.stat"),
        ("cgroup v1", "/app", "cat /sys/fs/cgroup/cpu/app/cpu.cfs_quota_us /sys/fs/cgroup/cpu/app/cpu.stat"),
    ],
)
def test_the_command_reads_the_groups_own_files(kind: str, group: str, files: str) -> None:
    quota = replace(QUOTA, group=group, kind=kind)
    change = judge(facts(WRITES_LITTLE | {"limits": HostLimits(quota=quota)}, level="counters"))[0].change
    assert change is not None
    assert (change.command, change.command_host, change.is_host_wide) == (files, "near", False)


@pytest.mark.parametrize(
    ("memory", "counts", "buffer", "is_named"),
    [
        (replace(SOCKETS_FULL, tcp_hits=0, hits=50), {"TcpExtRcvPruned": 9}, 6 << 20, True),
        # A container whose page cache is reclaimed meets its limit all the time.
        (replace(SOCKETS_FULL, tcp_hits=0, hits=50), {}, 6 << 20, False),
        # A small receive buffer drops data without any lack of memory.
        (replace(SOCKETS_FULL, tcp_hits=0, hits=50), {"TcpExtRcvPruned": 9}, 16_384, False),
        (replace(SOCKETS_FULL, tcp_hits=0, tcp_limit_bytes=1 << 20), {"TcpExtTCPRcvQDrop": 9}, 6 << 20, True),
        (replace(SOCKETS_FULL, tcp_hits=0, tcp_limit_bytes=1 << 20), {"TcpExtPruneCalled": 900}, 6 << 20, True),
        # Here the buffer is what is full.
        (replace(SOCKETS_FULL, tcp_hits=0, tcp_limit_bytes=8 << 20), {"TcpExtPruneCalled": 900}, 6 << 20, False),
        (replace(SOCKETS_FULL, tcp_hits=0, tcp_limit_bytes=1 << 20), {"TcpExtPruneCalled": 3}, 6 << 20, False),
        (None, {"TcpExtTCPMemoryPressures": 1}, 6 << 20, True),
        (None, {"TcpExtTCPRcvQDrop": 9}, 6 << 20, False),
    ],
)
def test_memory_is_named_where_sockets_lack_it(
    memory: MemoryLimit | None, counts: dict[str, int], buffer: int, *, is_named: bool
) -> None:
    held = facts(
        {"shares": {"receive_window_buffer": 0.8}},
        {"limits": HostLimits(memory=memory, counts=counts), "sockets.buffer_bytes": buffer},
        windows={**PATH, "announced_bytes_max": 26_624},
    )
    assert (judge(held)[0].cause is Cause.MEMORY_LIMIT) is is_named


@pytest.mark.parametrize(("timeouts", "is_named"), [(8, True), (40, False)])
@pytest.mark.parametrize(("level", "state"), [("counters", "unknown"), ("segments", "congestion_window")])
def test_timeouts_after_drops_for_lack_of_memory_are_its_cost(
    level: str, state: str, timeouts: int, *, is_named: bool
) -> None:
    limits = HostLimits(
        memory=replace(SOCKETS_FULL, tcp_hits=0, tcp_limit_bytes=1 << 20), counts={"TcpExtTCPRcvQDrop": 8}
    )
    lossy = facts(
        {"shares": {state: 0.9}, "limits": HostLimits(counts={"TcpExtTCPTimeouts": timeouts})},
        {"limits": limits, "sockets.buffer_bytes": 6 << 20},
        windows=PATH,
        segments={"retransmitted_ratio": 0.15, "data_segments": 35_930},
        level=level,
    )
    assert (judge(lossy)[0].cause is Cause.MEMORY_LIMIT) is is_named


@pytest.mark.parametrize(
    ("retransmitted", "has_halved", "is_named"), [(0.0, True, True), (0.01, True, False), (0.0, False, False)]
)
def test_a_single_drop_counts_where_it_alone_can_have_halved_the_window(
    retransmitted: float, *, has_halved: bool, is_named: bool
) -> None:
    once = facts(
        {
            "limits": HostLimits(queues=(replace(DROPPING, sent_packets=5_000, dropped_packets=1),)),
            "shares": {"congestion_window": 0.9},
        },
        windows={**PATH, "leaves_slow_start": has_halved},
        segments={"retransmitted_ratio": retransmitted},
    )
    assert (Cause.LOCAL_QUEUE in {verdict.cause for verdict in judge(once)}) is is_named


def test_a_shaper_that_drops_before_it_is_full_gains_its_rate() -> None:
    dropping = replace(SHAPER, dropped_packets=323)
    shaped = facts(
        {"limits": HostLimits(queues=(dropping,)), "sockets.mss_bytes": 1448}, level="counters", rate_bps=100e6
    )
    verdict = judge(shaped)[0]
    assert verdict.code == "local_queue"
    assert verdict.predicted_gain == pytest.approx(200 / (100 * (1 + 66 / 1448)), rel=0.01)
    assert verdict.change is not None
    assert verdict.change.command == "tc -s qdisc show dev eth0"


def test_a_shaper_that_holds_nothing_back_is_not_the_limit() -> None:
    idle = replace(SHAPER, overlimits=20)
    near_its_rate = facts({"limits": HostLimits(queues=(idle,)), "sockets.mss_bytes": 1448}, rate_bps=190e6)
    assert Cause.LOCAL_QUEUE not in {verdict.cause for verdict in judge(near_its_rate)}


def test_few_drops_of_an_own_queue_limit_nothing() -> None:
    few = replace(DROPPING, sent_packets=1_000_000, dropped_packets=20)
    lossy = facts({"limits": HostLimits(queues=(few,)), "shares": {"loss_recovery": 0.5}}, windows=PATH)
    assert Cause.LOCAL_QUEUE not in {verdict.cause for verdict in judge(lossy)}


UNSCALED = facts(
    {"shares": {"receive_window_buffer": 0.9}},
    {"sockets.buffer_bytes": 6 << 20},
    windows={**PATH, "announced_bytes_max": 65_535, "window_scaling": False},
)


def test_without_window_scaling_no_larger_buffer_is_proposed() -> None:
    verdicts = judge(UNSCALED, Setup(hosts={"near": {}, "far": {}}))
    assert [verdict.cause for verdict in verdicts] == [Cause.WINDOW_SCALING]
    assert verdicts[0].change is not None
    assert verdicts[0].change.factors == {}
    assert verdicts[0].change.command == "sysctl net.ipv4.tcp_window_scaling"


def test_window_scaling_is_switched_on_where_it_is_off() -> None:
    on, off = ({"sysctls": {"net.ipv4.tcp_window_scaling": value}} for value in ("1", "0"))
    change = judge(UNSCALED, Setup(hosts={"near": on, "far": off}))[0].change
    assert change is not None
    assert (change.command, change.command_host) == ("sysctl -w net.ipv4.tcp_window_scaling=1", "far")
    assert change.is_host_wide
    between = judge(UNSCALED, Setup(hosts={"near": on, "far": on}))[0].change
    assert between is not None
    assert (between.command, between.is_host_wide) == ("sysctl net.ipv4.tcp_window_scaling", False)


def test_a_buffer_below_the_largest_unscaled_window_is_the_limit_itself() -> None:
    small = replace(
        UNSCALED, receiver=replace(UNSCALED.receiver, sockets=replace(UNSCALED.receiver.sockets, buffer_bytes=32_768))
    )
    assert judge(small)[0].cause is Cause.RECEIVE_BUFFER


def test_a_busy_host_is_named_once_and_never_as_capacity() -> None:
    hogged: dict[str, Any] = {"limits": HostLimits(interruptions=(HOGGED,)), "processors.thread_ratio": 0.85}
    verdicts = judge(facts(hogged, level="counters"))
    assert [verdict.code for verdict in verdicts] == ["other_load.part.programs"]
    throughout = {"processors.run_queue_ratio": 0.3, "processors.other_ratio": 0.4, "shares": {"waits_for_cpu": 0.3}}
    both = judge(facts(hogged | throughout, level="counters"))
    assert [verdict.cause for verdict in both].count(Cause.OTHER_LOAD) == 1


def test_a_pause_gains_what_the_other_intervals_have() -> None:
    verdict = judge(facts({"limits": HostLimits(interruptions=(STOPPED,))}, level="counters"))[0]
    assert verdict.cause is Cause.PAUSE
    assert verdict.lost_ratio == pytest.approx(0.225)
