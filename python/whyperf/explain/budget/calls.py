"""System calls of a side as spans of time, and the gaps between them."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
import polars as pl

from whyperf.analyze.flow import FlowTrial
from whyperf.analyze.flow.trial import reported_unreadable
from whyperf.explain.segment_log import PROCESS, Bools, Codes, Ints, LoggedConnection, Places, slices_of

_OPTIONAL = (
    *("blocked_ns", "preempted_ns", "softirq_ns", "waited_before_ns", "runnable_before_ns"),
    *("softirq_before_ns", "moved_bytes"),
)


@dataclass(frozen=True)
class Calls:
    """Calls of one kind on one connection, by time, shape (n,) each; no two overlap.

    Of a call: `blocked` of it asleep, `preempted` runnable, `softirq` under softirqs (ns). Before it: from `slept_to`
    back to the call before, the thread slept; from there to `served_to` it served other connections; from `woken` to
    the start it was runnable. `rested` is whether it slept at all between the two calls.
    """

    start: Ints
    end: Ints
    moved: Ints
    would_block: Bools
    blocked: Ints
    preempted: Ints
    softirq: Ints
    slept_to: Ints
    served_to: Ints
    woken: Ints
    rested: Bools


def read_calls_of(trial: FlowTrial, host: str, call: str) -> dict[int, Calls] | None:
    """The calls of kind `call` (write or read) of each connection at `host`; None when they were not logged.

    Raises:
        RecordError: the file cannot be read.
    """
    source = trial.table("calls", host)
    if source is None:
        return None
    shift = trial.zero_mono_ns + trial.ends[host].offset_ns
    with reported_unreadable(source.path):
        found = source.rows
        there = found.collect_schema().names()
        end = pl.col("end_mono_ns").cast(pl.Int64) - shift
        start = (pl.col("start_mono_ns").cast(pl.Int64) - shift).fill_null(end)
        counts = [
            (pl.col(name).cast(pl.Int64).fill_null(0) if name in there else pl.lit(0, pl.Int64)).alias(name)
            for name in _OPTIONAL
        ]
        thread = pl.col("thread").cast(pl.Int64) if "thread" in there else pl.col("connection").cast(pl.Int64)
        table = found.select(
            "connection",
            thread.alias("thread"),
            (pl.col("call").cast(pl.String) == call).alias("is_wanted"),
            pl.min_horizontal(start, end).alias("start"),
            end.alias("end"),
            (pl.col("outcome").cast(pl.String) == "would_block").alias("would_block"),
            *counts,
        ).collect()
    wanted = with_thread(table).filter("is_wanted").sort("connection", "end", maintain_order=True)
    return {connection: calls_from(wanted[rows]) for connection, rows in slices_of(wanted["connection"].to_numpy())}


def with_thread(table: pl.DataFrame) -> pl.DataFrame:
    """Adds what the thread did: `thread_end` of its call before, and `asleep`, its sleep so far, this call's too."""
    slept = pl.col("blocked_ns") + pl.col("waited_before_ns")
    return table.sort("thread", "end").with_columns(
        pl.col("end").shift(1).over("thread").alias("thread_end"), slept.cum_sum().over("thread").alias("asleep")
    )


def calls_from(table: pl.DataFrame) -> Calls:
    """The calls of one connection, `table` being of `with_thread` and in the order of their ends."""
    column = {name: table[name].to_numpy() for name in table.columns if name not in {"is_wanted", "thread_end"}}
    end = column["end"]
    before = _shifted(end, column["start"])
    # Two threads may call at once on one connection; the later call then begins where the earlier one ended.
    start = np.clip(column["start"], before, end)
    length = end - start
    blocked = np.minimum(column["blocked_ns"], length)
    preempted = np.minimum(column["preempted_ns"], length - blocked)
    softirq = np.minimum(column["softirq_ns"], length - blocked - preempted)
    served_to = np.clip(table["thread_end"].fill_null(0).to_numpy(), before, start)
    slept = column["asleep"] - column["blocked_ns"] - column["waited_before_ns"] - _shifted(column["asleep"], None)
    same_thread = _shifted(column["thread"], column["thread"]) == column["thread"]
    slept_to = np.where(same_thread, np.clip(before + slept, before, served_to), served_to)
    return Calls(
        start=start,
        end=end,
        moved=column["moved_bytes"],
        would_block=column["would_block"],
        blocked=blocked,
        preempted=preempted,
        softirq=softirq,
        slept_to=slept_to,
        served_to=served_to,
        woken=np.clip(start - column["runnable_before_ns"], served_to, start),
        rested=(slept_to > before) | (column["waited_before_ns"] > 0) | ~same_thread,
    )


def _shifted(values: Ints, first: Ints | None) -> Ints:
    """Each row's value of the row before; of the first that of `first`, or its own."""
    if values.size == 0:
        return values
    return np.concatenate(((values if first is None else first)[:1], values[:-1]))


class Activity(IntEnum):
    """Activity of the application's thread in a gap, as far as this connection goes."""

    NOT_LOGGED = 0
    """There is no table of calls."""
    AWAY = 1
    """Not in a call on this connection."""
    AFTER_WOULD_BLOCK = 2
    """Its last call on this connection would have had to wait."""
    SERVING = 3
    """Awake since its last call, and serving other connections."""
    BETWEEN_CALLS = 4
    """Between two calls that follow each other at once: out of the kernel and in again."""
    RUNNABLE = 5
    BLOCKED = 6
    SOFTIRQ = 7
    ON_CPU = 8
    """In the call and at work."""


MAX_BETWEEN_CALLS_NS = 10_000
"""Two calls with no sleep between them and no more than this follow each other at once: a system call's exit and
entry and the loop around it take 10 % of it, a cold one on a slow CPU no more."""


@dataclass(frozen=True)
class Gaps:
    """Gaps by time, shape (n,) each: `segment` is the last row before, -1 if none; `call` the last call begun."""

    start: Ints
    end: Ints
    segment: Places
    call: Places
    activity: Codes

    @property
    def length(self) -> Ints:
        """In ns."""
        return self.end - self.start


def cut(segments: LoggedConnection, calls: Calls | None, life: tuple[int, int], more: Ints | None = None) -> Gaps:
    """The life, from its start to its end (ns), cut at each segment, wherever the thread did something else, and at
    the instants `more`.
    """
    begin_ns, end_ns = life
    marks = [segments.time_ns] if more is None else [segments.time_ns, more]
    if calls is not None:
        marks += [calls.start, calls.end]
        # Mostly nothing lies between: what is an instant of the call anyway need not be put in order.
        others = ((calls.slept_to, calls.served_to), (calls.served_to, calls.start), (calls.woken, calls.start))
        marks += [instants[instants != same] for instants, same in others]
    times = np.concatenate([[begin_ns], *(mark[(mark > begin_ns) & (mark < end_ns)] for mark in marks), [end_ns]])
    times = np.sort(times, kind="stable")
    times = times[np.concatenate(([True], times[1:] != times[:-1]))]
    start, end = times[:-1], times[1:]
    segment = last_at(segments.time_ns, start)
    if calls is None:
        nothing = np.full(start.size, -1, dtype=np.int32)
        return Gaps(start, end, segment, nothing, np.full(start.size, int(Activity.NOT_LOGGED), dtype=np.int8))
    call = last_at(calls.start, start)
    return Gaps(start, end, segment, call, _outside(calls, start, call))


def last_at(instants: Ints, times: Ints) -> Places:
    """The place of the last of `instants` at or before each of `times`, -1 before the first; both ascending."""
    first = np.searchsorted(times, instants)
    counts = np.diff(first, prepend=0, append=times.size)
    found: Places = np.repeat(np.arange(-1, instants.size, dtype=np.int32), counts)
    return found


def is_doing(activity: Codes, *wanted: Activity) -> Bools:
    """True for each of `activity` that is one of those wanted."""
    found: Bools = activity == wanted[0]
    for other in wanted[1:]:
        found |= activity == other
    return found


def first_that_holds(questions: Sequence[tuple[Bools, int]], otherwise: int) -> Codes:
    """The code of each gap's first question that holds."""
    found = np.full(questions[0][0].size, otherwise, dtype=np.int8)
    for holds, code in reversed(questions):
        np.copyto(found, code, where=holds)
    return found


def _outside(calls: Calls, start: Ints, call: Places) -> Codes:
    """The activity of each gap, all of a call being ON_CPU."""
    size = calls.start.size
    activity = np.full(start.size, int(Activity.AWAY), dtype=np.int8)
    if size == 0:
        return activity
    following = call + np.int32(1)
    has_last, has_next = call >= 0, following < size
    last, following = np.maximum(call, 0), np.minimum(following, size - 1, out=following)
    waits = has_last & calls.would_block[last]
    activity[waits] = Activity.AFTER_WOULD_BLOCK
    between = has_last & has_next
    serves = between & (start >= calls.slept_to[following]) & (start < calls.served_to[following])
    activity[serves & (waits | ~calls.rested[following])] = Activity.SERVING
    pause = calls.start[following] - calls.end[last]
    activity[between & ~calls.rested[following] & (pause <= MAX_BETWEEN_CALLS_NS)] = Activity.BETWEEN_CALLS
    activity[has_next & (start >= calls.woken[following])] = Activity.RUNNABLE
    activity[has_last & (start < calls.end[last])] = Activity.ON_CPU
    return activity


def split_calls(gaps: Gaps, segments: LoggedConnection, calls: Calls | None, may_sleep: Bools) -> Gaps:
    """Cuts the gaps within calls at what the thread did there.

    Args:
        gaps: of `cut`.
        segments: of the host's log.
        calls: those of `cut`.
        may_sleep: whether a call would have to wait in a gap: there is no room, or nothing to read.
    """
    if calls is None:
        return gaps
    inside = np.flatnonzero(gaps.activity == Activity.ON_CPU)
    partly = (calls.blocked + calls.preempted + calls.softirq) > 0
    inside = inside[partly[gaps.call[inside]]]
    if inside.size == 0:
        return gaps
    call, length = gaps.call[inside], gaps.length[inside]
    worked = _ended_by_thread(gaps, segments, calls, inside)
    awake = 2 * worked.astype(np.int64) + ~may_sleep[inside]
    sleeps, wakes = np.lexsort((-length, awake, call)), np.lexsort((-length, -awake, call))
    parts = {}
    left = length
    for activity, amount, order in (
        (Activity.BLOCKED, calls.blocked, sleeps),
        (Activity.RUNNABLE, calls.preempted, wakes),
        (Activity.SOFTIRQ, calls.softirq, sleeps),
    ):
        parts[activity] = _filled(left, amount, call, order)
        left = left - parts[activity]
    parts[Activity.ON_CPU] = left
    return _with_parts(gaps, inside, worked, parts)


def _ended_by_thread(gaps: Gaps, segments: LoggedConnection, calls: Calls, inside: Ints) -> Bools:
    """True where a gap of a call ended by what the thread itself did: it sent a segment, or the call was done."""
    end = gaps.end[inside]
    by_thread = segments.is_out & (segments.context == PROCESS)
    own = np.concatenate((segments.time_ns[by_thread], calls.end))
    own.sort(kind="stable")
    place = np.minimum(np.searchsorted(own, end), own.size - 1)
    ended: Bools = own[place] == end
    return ended


def _filled(room: Ints, amount: Ints, call: Places, order: Ints) -> Ints:
    """Of each gap, what of its call's `amount` it takes, the gaps of a call being filled in `order`."""
    sorted_room, sorted_call = room[order], call[order]
    total = np.cumsum(sorted_room)
    first = np.concatenate(([True], sorted_call[1:] != sorted_call[:-1]))
    base = np.maximum.accumulate(np.where(first, total - sorted_room, 0))
    filled = np.empty_like(room)
    filled[order] = np.clip(amount[sorted_call] - (total - sorted_room - base), 0, sorted_room)
    return filled


_WAKES = (Activity.BLOCKED, Activity.RUNNABLE, Activity.SOFTIRQ, Activity.ON_CPU)
"""The order of the parts of a gap that the thread's work ended: it was woken, got a CPU and worked."""
_SLEEPS = (Activity.RUNNABLE, Activity.ON_CPU, Activity.SOFTIRQ, Activity.BLOCKED)
"""Of one that a segment ended: the thread worked, and went to sleep."""


def _with_parts(gaps: Gaps, inside: Ints, worked: Bools, parts: dict[Activity, Ints]) -> Gaps:
    """The gaps at `inside` replaced by their parts that are longer than nothing."""
    orders = np.array((_SLEEPS, _WAKES), dtype=np.int8)[worked.astype(np.intp)]
    lengths = np.empty(orders.shape, dtype=np.int64)
    for place, (slept, woken) in enumerate(zip(_SLEEPS, _WAKES, strict=True)):
        lengths[:, place] = np.where(worked, parts[woken], parts[slept])
    is_part = lengths > 0
    repeats, is_inside = np.ones(gaps.start.size, dtype=np.intp), np.zeros(gaps.start.size, dtype=np.bool_)
    repeats[inside], is_inside[inside] = is_part.sum(axis=1), True
    length, activity = np.repeat(gaps.length, repeats), np.repeat(gaps.activity, repeats)
    at = np.repeat(is_inside, repeats)
    length[at], activity[at] = lengths[is_part], orders[is_part]
    end = gaps.start[0] + np.cumsum(length)
    return Gaps(end - length, end, np.repeat(gaps.segment, repeats), np.repeat(gaps.call, repeats), activity)
