"""It costs little: goodput of iperf3 with a watch against goodput without one, in interleaved pairs, on busy CPUs.

The transfers go on all the time, so both halves of a pair have the same connections. Two transfers keep both CPUs busy:
with one, the receiver's CPU has time left. Both sockets of each are watched, and the sockets of iperf3's control
connections, by one agent. The controller prints its lines as `whyperf watch --plain` does. Starting and ending the
watch are outside of the measured windows.

The CPU time of the agent is printed, too: where nothing runs in the kernel for the watch (level user), the goodput for
which no CPU has time is all that it can cost.
"""

import os
import random
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from threading import Event

from lab.bench.ratio import ratio_of_pairs, text_of
from lab.bench.row import Row
from lab.bench.watch.place import CpuTimes, Iperf3, Namespace, PlaceError, cpu_s, iperf3, own_namespace
from lab.bench.watch.setting import Setting
from whyperf.cli.live.watched_lines import PlainLines
from whyperf.plan import Level
from whyperf.watch.session import WatchedPlace, WatchOrder, WatchSession
from whyperf.watch.tracker import Side, Tracker
from whyperf.wire import ReplyWatched

PORTS = (5201, 5202)
SETTLE_S = 0.3
WINDOW_S = 2.0
QUICK_WINDOW_S = 0.5
MIN_BUSY = 0.98
#: Of goodput; of the segment log it is that of a run (docs/background/performance.md).
MAX_LOSS: dict[Level, float] = {"user": 0.005, "counters": 0.05, "segments": 0.08}


@dataclass(frozen=True)
class Half:
    """The measurements with or without a watch."""

    bps: float
    busy: float
    #: The part of all CPUs that the agent took.
    agent: float = 0.0


@dataclass(frozen=True)
class Pair:
    """Both, next to each other."""

    without: Half
    watched: Half


def run(setting: Setting) -> list[Row]:
    """Measures each level on transfers of its own."""
    return [row for level in setting.levels for row in _level(setting, level)]


def _level(setting: Setting, level: Level) -> list[Row]:
    rng = random.Random(f"{setting.seed} {level}")
    folder = setting.folder / f"overhead-{level}"
    with own_namespace() as place, iperf3(place, PORTS, folder) as transfers:
        time.sleep(1.0)
        first = place.loopback_bytes()
        pairs = [_pair(setting, place, level, watched_first=rng.random() < 0.5) for _ in range(setting.pairs)]
        counted = place.loopback_bytes() - first
        printed = [transfer.sent_bytes() for transfer in transfers]
    return rows_of(level, pairs, setting.seed, _compared(counted, printed, transfers))


def rows_of(level: Level, pairs: Sequence[Pair], seed: int, compared: str) -> list[Row]:
    """The bar of a level, and on how busy a host it was measured."""
    ratio = ratio_of_pairs([pair.watched.bps for pair in pairs], [pair.without.bps for pair in pairs], seed)
    busy = min(median(pair.without.busy for pair in pairs), median(pair.watched.busy for pair in pairs))
    agent = median(pair.watched.agent for pair in pairs)
    least = 1 - MAX_LOSS[level]
    values = {
        "median": ratio.median,
        "low": ratio.low,
        "high": ratio.high,
        "without_bps": [pair.without.bps for pair in pairs],
        "watched_bps": [pair.watched.bps for pair in pairs],
        "busy": busy,
        "agent": agent,
        "iperf3": compared,
    }
    name = f"goodput, --evidence {level}, {len(pairs)} pairs of {median(p.without.bps for p in pairs) / 1e9:.1f} Gbit/s"
    return [
        Row("overhead", name, f"≥ -{1 - least:.1%} (median)", text_of(ratio), ratio.median >= least, values=values),
        Row("overhead", f"CPUs busy, {level}", f"≥ {MIN_BUSY:.0%}", f"{busy:.1%}", busy >= MIN_BUSY, is_bar=False),
        Row("overhead", f"CPU time of the agent, {level}", "", f"{agent:.2%} of all CPUs", is_ok=True, is_bar=False),
    ]


def _pair(setting: Setting, place: Namespace, level: Level, *, watched_first: bool) -> Pair:
    window_s = QUICK_WINDOW_S if setting.is_quick else WINDOW_S
    found: dict[bool, Half] = {}
    for is_watched in (watched_first, not watched_first):
        found[is_watched] = _watched(setting.folder, place, level, window_s) if is_watched else _half(place, window_s)
    return Pair(found[False], found[True])


def _half(place: Namespace, window_s: float, agent: int | None = None) -> Half:
    """A window; `agent` is the process that watches meanwhile."""
    time.sleep(SETTLE_S)
    used_s = 0.0 if agent is None else cpu_s(agent)
    before, cpus, start_s = place.loopback_bytes(), CpuTimes.now(), time.monotonic()
    time.sleep(window_s)
    moved, passed_s = place.loopback_bytes() - before, time.monotonic() - start_s
    busy = CpuTimes.now().busy_since(cpus)
    used_s = 0.0 if agent is None else cpu_s(agent) - used_s
    return Half(moved * 8 / passed_s, busy, used_s / passed_s / (os.cpu_count() or 1))


def _watched(folder: Path, place: Namespace, level: Level, window_s: float) -> Half:
    """The same while it is watched.

    Raises:
        PlaceError: the level cannot be taken, or the transfers are not found.
    """
    tracker, found, seen = Tracker(), list[Half](), set[int]()
    with ExitStack() as closing:
        lines = PlainLines(closing.enter_context(Path("/dev/null").open("w", encoding="utf-8")).write)

        def show(side: Side, watched: ReplyWatched) -> None:
            seen.update(each["connection"] for each in watched["connections"])
            lines.on_report(tracker.take(side, watched))

        def measure(_over: Event) -> None:
            found.append(_half(place, window_s, session.process))

        session = closing.enter_context(WatchSession(WatchedPlace(netns=place.path), None, folder))
        session.watch(WatchOrder({"ports": list(PORTS)}, level), show, measure)
    last = tracker.last["near"]
    if last["level"] != level:
        raise PlaceError(f"level {level} is not possible here: {last['reason']}")
    if len(seen) < 2 * len(PORTS) or not found:
        raise PlaceError(f"only {len(seen)} connections were watched")
    return found[0]


def _compared(counted: int, printed: Sequence[float | None], transfers: Sequence[Iperf3]) -> str:
    """The device's bytes next to those of iperf3, which were counted a second longer."""
    sent = [value for value in printed if value is not None]
    if len(sent) < len(transfers):
        return f"the device counted {counted / 1e9:.1f} GB; iperf3 printed no total"
    return f"the device counted {counted / 1e9:.1f} GB; iperf3 {sum(sent) / 1e9:.1f} GB with the second before"
