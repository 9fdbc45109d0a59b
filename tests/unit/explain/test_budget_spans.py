"""Spans of any log: they follow each other through the life without gap or overlap, and the shares are their sums."""

from itertools import pairwise

import numpy as np
import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.explain import scenes
from whyperf.explain.budget import host, sender
from whyperf.explain.budget.calls import Activity
from whyperf.explain.budget.sender import Options, Peer
from whyperf.explain.budget.shares import spans_of, sums_of

MSS = 1448


@st.composite
def scene(draw: st.DrawFn) -> str:
    """A scene of anything: segments both ways, holes, calls that last, sleep and wait as they like."""
    lines, octet, acked, now, call_end = [], 1, 1, 0, 0
    for _ in range(draw(st.integers(2, 30))):
        now += draw(st.integers(0, 3000))
        kind = draw(st.sampled_from(("out", "in", "call")))
        if kind == "out":
            size = draw(st.integers(0, 3 * MSS))
            again = draw(st.sampled_from(("", "", "", " again=fast", " again=timeout by=timer")))
            start = max(1, octet - size) if again else octet
            octet = max(octet, start + size)
            unsent = draw(st.integers(0, 4 * MSS))
            lines.append(f"{now} > {start}:{start + size} ack=1 queue={unsent} unsent={unsent} cwnd=4{again}")
        elif kind == "in":
            acked = draw(st.integers(acked, octet))
            first = draw(st.integers(1, 5 * MSS))
            window = draw(st.integers(0, 4 * MSS))
            lines.append(f"{now} < {first}:{first + window} ack={acked} win={window} queue=0 unsent=0 cwnd=4")
        elif now >= call_end:
            length = draw(st.integers(1, 2000))
            call_end = now + length
            blocked = draw(st.integers(0, 2 * length))
            outcome = draw(st.sampled_from(("", "would_block")))
            lines.append(f"call {now} {call_end} moved={length} blocked={blocked} preempted={length // 3} {outcome}")
    lines.append(f"{max(now, call_end) + 1} > {octet}:{octet + 1} ack=1")
    return "\n".join(lines)


def _check(spans: pl.DataFrame, life: tuple[int, int]) -> None:
    starts, ends = spans["begin_ns"].to_numpy(), spans["end_ns"].to_numpy()
    assert (starts[0], ends[-1]) == life
    assert (starts[1:] == ends[:-1]).all()
    assert (ends > starts).all()
    states = spans["state"].to_list()
    assert all(state != other for state, other in pairwise(states))
    assert sum(ns for ns, _ in sums_of(spans).values()) == life[1] - life[0]


@settings(max_examples=40)
@given(scene(), st.booleans())
def test_the_spans_of_a_sender_fill_its_life(text: str, held: bool) -> None:
    log, calls = scenes.segments(text), scenes.calls(text)
    life = scenes.life(log, calls)
    peer = Peer(None, np.array([life[0] + 1, life[1] - 1]), np.array([held, not held])) if held else Peer()
    found = sender.explain_gaps(log, calls, life, peer, Options(mss_bytes=MSS))
    _check(spans_of(found.gaps, found.state, sender.SENDER_STATES), life)


@settings(max_examples=40)
@given(scene())
def test_the_spans_of_a_receiver_fill_its_life(text: str) -> None:
    log, calls = scenes.segments(text), scenes.calls(text)
    life = scenes.life(log, calls)
    found = host.explain_gaps(log, calls, life)
    _check(spans_of(found.gaps, found.state, host.RECEIVER_STATES), life)


@settings(max_examples=40)
@given(scene())
def test_a_call_keeps_what_it_slept(text: str) -> None:
    log, calls = scenes.segments(text), scenes.calls(text)
    if calls is None:
        return
    found = host.explain_gaps(log, calls, scenes.life(log, calls))
    inside = found.gaps.activity == Activity.BLOCKED
    assert found.gaps.length[inside].sum() == calls.blocked.sum()
