"""What limits a host from outside its sockets: from the record's tables to facts, and what these limits take."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.unit.explain.limit_cases import (
    BEHIND_QUEUE,
    DROPPING,
    HOGGED,
    MS,
    PATH,
    QUOTA,
    SHAPER,
    SOCKETS_FULL,
    STOPPED,
    at_receiver,
    counted,
    cpu,
    facts,
    limit_of,
    limits,
    link,
    of_windows,
    share_of,
    shares,
)
from tests.unit.explain.test_exchanges import trial
from whyperf.analyze.flow import FlowTrial
from whyperf.explain.causes import Cause
from whyperf.explain.changes.own_load import change_for
from whyperf.explain.explanation import Change
from whyperf.explain.gather.host_limits import host_limits, interruptions
from whyperf.explain.host_facts import HostLimits, Interruption, MemoryLimit, Queue, Quota
from whyperf.explain.limits import windows
from whyperf.explain.limits.limit import LIMIT_FROM
from whyperf.explain.setup import Setup
from whyperf.explain.trial_facts import Facts

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


def change(cause: Cause, of: Facts, setup: Setup | None = None) -> Change:
    made = change_for(limit_of(cause, of), of, setup or Setup())
    assert made is not None
    return made


WRITES_LITTLE = shares(not_writing=0.7) | cpu(thread=0.3)


def test_a_quota_takes_the_time_in_which_it_stops_the_threads() -> None:
    stopped = counted(limits(quota=QUOTA) | WRITES_LITTLE)
    limit = limit_of(Cause.CPU_QUOTA, stopped)
    assert limit.code == "cpu_quota"
    assert limit.share == pytest.approx(0.68)
    assert limit.gain is not None
    assert limit.gain.ratio == pytest.approx(1 / (1 - 0.68))
    assert [row.code for row in limit.evidence] == ["throttled", "quota_thread"]
    # A thread is stopped for no longer than it does not run.
    busy = counted(limits(quota=QUOTA) | cpu(thread=0.9))
    assert share_of(Cause.CPU_QUOTA, busy) == pytest.approx(0.1)


def test_what_a_quota_stops_is_not_the_applications_idleness() -> None:
    waiting = counted(limits(quota=QUOTA) | WRITES_LITTLE | cpu(thread=0.3, run_queue=0.68))
    assert share_of(Cause.SLOW_WRITER, waiting) < LIMIT_FROM < share_of(Cause.CPU_QUOTA, waiting)
    assert share_of(Cause.SLOW_WRITER, counted(WRITES_LITTLE)) == pytest.approx(0.7)


def test_a_quota_costs_next_to_nothing_on_a_full_path() -> None:
    full = facts(
        limits(quota=replace(QUOTA, stopped_ratio=0.3)),
        windows=BEHIND_QUEUE,
        segments=link(50e6, steadiness=0.95, use=0.99) | {"segment_bytes_mean": 1448.0},
        rate_bps=47e6,
    )
    assert share_of(Cause.CPU_QUOTA, full) < LIMIT_FROM


@pytest.mark.parametrize(
    ("kind", "group", "files"),
    [
        ("cgroup v2", "/pod/app", "cat /sys/fs/cgroup/pod/app/cpu.max /sys/fs/cgroup/pod/app/cpu.stat"),
        ("cgroup v1", "/app", "cat /sys/fs/cgroup/cpu/app/cpu.cfs_quota_us /sys/fs/cgroup/cpu/app/cpu.stat"),
    ],
)
def test_the_command_reads_the_groups_own_files(kind: str, group: str, files: str) -> None:
    made = change(Cause.CPU_QUOTA, counted(limits(quota=replace(QUOTA, group=group, kind=kind))))
    assert (made.command, made.command_host, made.is_host_wide) == (files, "near", False)


HITS, DROPS = replace(SOCKETS_FULL, tcp_hits=0, hits=50), replace(SOCKETS_FULL, tcp_hits=0, tcp_limit_bytes=1 << 20)


@pytest.mark.parametrize(
    ("memory", "counts", "buffer", "code"),
    [
        (SOCKETS_FULL, {}, 6 << 20, "memory_limit.group"),
        (HITS, {"TcpExtRcvPruned": 9}, 6 << 20, "memory_limit.group"),
        # A container whose page cache is reclaimed meets its limit all the time.
        (HITS, {}, 6 << 20, None),
        # A small receive buffer drops data without any lack of memory.
        (HITS, {"TcpExtRcvPruned": 9}, 16_384, None),
        (DROPS, {"TcpExtTCPRcvQDrop": 9}, 6 << 20, "memory_limit.group"),
        (DROPS, {"TcpExtPruneCalled": 900}, 6 << 20, "memory_limit.group"),
        (None, {"TcpExtTCPMemoryPressures": 1}, 6 << 20, "memory_limit"),
        (None, {"TcpExtTCPRcvQDrop": 9}, 6 << 20, None),
    ],
)
def test_memory_is_a_limit_where_sockets_lack_it(
    memory: MemoryLimit | None, counts: dict[str, int], buffer: int, code: str | None
) -> None:
    receiver = limits(memory=memory, counts=counts) | {"sockets.buffer_bytes": buffer}
    found = windows.memory_limit(facts(shares(receive_window_buffer=0.5, rto_wait=0.3), receiver, windows=PATH))
    assert (found and found.code, found and found.share) == (code, code and pytest.approx(0.8))


def test_a_single_drop_costs_what_its_window_takes_to_grow_back() -> None:
    def dropping(queue: Queue) -> Facts:
        sender = limits(queues=(queue,)) | shares(congestion_window=0.9)
        return facts(sender, windows=PATH, segments={"data_segments": 5_000})

    once = dropping(replace(DROPPING, sent_packets=5_000, dropped_packets=1))
    assert LIMIT_FROM < share_of(Cause.LOCAL_QUEUE, once) < 0.5
    assert share_of(Cause.LOCAL_QUEUE, replace(once, life_ns=100 * once.life_ns)) == 0
    assert share_of(Cause.LOCAL_QUEUE, dropping(DROPPING)) == pytest.approx(0.9)
    # Of a million packets 20 are next to nothing.
    few = dropping(replace(DROPPING, sent_packets=1_000_000, dropped_packets=20))
    assert share_of(Cause.LOCAL_QUEUE, few) == 0


def behind(shaper: Queue, rate_bps: float) -> Facts:
    return counted(limits(queues=(shaper,)) | {"sockets.mss_bytes": 1448}, rate_bps=rate_bps)


def test_a_shaper_that_drops_before_it_is_full_gains_its_rate() -> None:
    shaped = behind(replace(SHAPER, dropped_packets=323), 100e6)
    limit = limit_of(Cause.LOCAL_QUEUE, shaped)
    assert limit.code == "local_queue"
    assert limit.gain is not None
    assert limit.gain.ratio == pytest.approx(200 / (100 * (1 + 66 / 1448)), rel=0.01)
    assert change(Cause.LOCAL_QUEUE, shaped).command == "tc -s qdisc show dev eth0"


def test_a_shaper_is_the_limit_where_its_rate_is_reached_and_packets_wait_for_it() -> None:
    full = limit_of(Cause.LOCAL_QUEUE, behind(SHAPER, 190e6))
    assert (full.code, full.share) == ("local_queue.shaper", 1.0)
    for other in (behind(replace(SHAPER, overlimits=20), 190e6), behind(SHAPER, 90e6)):
        assert share_of(Cause.LOCAL_QUEUE, other) == 0


UNSCALED = facts(
    shares(receive_window_buffer=0.9),
    {"sockets.buffer_bytes": 6 << 20},
    windows=PATH | {"announced_bytes_max": 65_535, "window_scaling": False},
)


def test_without_window_scaling_a_full_window_is_the_buffers_only_where_that_is_smaller() -> None:
    small = at_receiver({"sockets.buffer_bytes": 32_768})
    for of, unscaled, buffer in (
        (UNSCALED, 0.9, 0.0),
        (small(UNSCALED), 0.0, 0.9),
        (of_windows(window_scaling=True)(UNSCALED), 0.0, 0.9),
    ):
        found = (share_of(Cause.WINDOW_SCALING, of), share_of(Cause.RECEIVE_BUFFER, of))
        assert found == pytest.approx((unscaled, buffer))


def test_window_scaling_is_switched_on_where_it_is_off() -> None:
    on, off = ({"sysctls": {"net.ipv4.tcp_window_scaling": value}} for value in ("1", "0"))

    def scaling(near: dict[str, Any], far: dict[str, Any]) -> tuple[str, str, bool]:
        made = change(Cause.WINDOW_SCALING, UNSCALED, Setup(hosts={"near": near, "far": far}))
        # No larger buffer is proposed.
        assert made.factors == {}
        return made.command, made.command_host, made.is_host_wide

    assert scaling(on, off) == ("sysctl -w net.ipv4.tcp_window_scaling=1", "far", True)
    # Something between the hosts removes the option, or nothing is known of them.
    assert scaling(on, on) == scaling({}, {}) == ("sysctl net.ipv4.tcp_window_scaling", "", False)


def test_of_other_programs_counts_what_costs_more_a_part_of_the_time_or_all_of_it() -> None:
    hogged = limits(interruptions=(HOGGED,))
    part = limit_of(Cause.OTHER_LOAD, counted(hogged | cpu(thread=0.85)))
    whole = limit_of(Cause.OTHER_LOAD, counted(hogged | cpu(withheld=0.4, other=0.5)))
    assert [part.code, whole.code] == ["other_load.part.programs", "other_load.withheld.programs"]
    assert [part.share, whole.share] == pytest.approx([0.3 * 0.55, 0.4])


def test_a_pause_gains_what_the_other_intervals_have() -> None:
    limit = limit_of(Cause.PAUSE, counted(limits(interruptions=(STOPPED,))))
    assert limit.share == pytest.approx(0.225)
    assert limit.gain is not None
    assert limit.gain.ratio == pytest.approx(1 / (1 - 0.225))
